package procmem

import (
	"slices"
	"strings"
)

// CPUModel returns the name of the first processor in /proc/cpuinfo. Kernels on
// arm64 give numbers only: then it is the core's design where known ("ARM
// Neoverse-N1"), or the numbers. "" means that the file does not say.
func (f FS) CPUModel() (string, error) {
	return load(f.path("proc/cpuinfo"), parseCPUModel)
}

func parseCPUModel(data []byte) (string, error) {
	first := make(map[string]string)
	err := eachField(data, func(key, value string) error {
		key = strings.TrimSpace(key)
		if _, ok := first[key]; !ok && value != "" {
			first[key] = value
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	// x86 and some others; POWER; RISC-V; s390x.
	for _, key := range []string{"model name", "cpu", "uarch", "vendor_id"} {
		if name := first[key]; name != "" {
			return name, nil
		}
	}
	implementer, part := first["CPU implementer"], first["CPU part"]
	if implementer == "" {
		return "", nil
	}
	if name, ok := armCores[implementer+" "+part]; ok {
		return name, nil
	}
	return strings.TrimSpace("ARM implementer " + implementer + " part " + part), nil
}

// CPUFlags returns the flags in /proc/cpuinfo that all processors have; nil where the file
// has none, as on arm64.
func (f FS) CPUFlags() ([]string, error) {
	return load(f.path("proc/cpuinfo"), func(data []byte) (all []string, err error) {
		err = eachField(data, func(key, value string) error {
			if strings.TrimSpace(key) != "flags" {
				return nil
			}
			flags := strings.Fields(value)
			if all == nil {
				all = flags
			}
			all = slices.DeleteFunc(all, func(f string) bool { return !slices.Contains(flags, f) })
			return nil
		})
		return all, err
	})
}

// armCores names the server and developer machines that Folio is likely to meet,
// by implementer and part (MIDR_EL1).
var armCores = map[string]string{
	"0x41 0xd03": "ARM Cortex-A53",
	"0x41 0xd07": "ARM Cortex-A57",
	"0x41 0xd08": "ARM Cortex-A72",
	"0x41 0xd0b": "ARM Cortex-A76",
	"0x41 0xd0c": "ARM Neoverse-N1",
	"0x41 0xd40": "ARM Neoverse-V1",
	"0x41 0xd49": "ARM Neoverse-N2",
	"0x41 0xd4f": "ARM Neoverse-V2",
	"0x41 0xd84": "ARM Neoverse-V3",
	"0x41 0xd8e": "ARM Neoverse-N3",
	"0xc0 0xac3": "Ampere-1",
	"0xc0 0xac4": "Ampere-1a",
}
