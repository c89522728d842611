package toolchain

import "slices"

// levels are what each level of GOAMD64 needs beyond the level below, as /proc/cpuinfo
// names it: what a program checks when it starts (runtime·rt0_go in asm_amd64.s). Package
// golang.org/x/sys/cpu does not know LZCNT (abm), MOVBE, F16C and LAHF.
var levels = []struct {
	name  string
	flags []string
}{
	{"v1", nil},
	{"v2", []string{"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}},
	{"v3", []string{"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}},
	{"v4", []string{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
}

// AMD64Levels returns the levels of GOAMD64 that a CPU with these flags of /proc/cpuinfo
// can run.
func AMD64Levels(flags []string) []string {
	var out []string
	for _, l := range levels {
		if slices.ContainsFunc(l.flags, func(f string) bool { return !slices.Contains(flags, f) }) {
			break
		}
		out = append(out, l.name)
	}
	return out
}

// IsAMD64Level says whether there is such a level of GOAMD64.
func IsAMD64Level(s string) bool {
	for _, l := range levels {
		if l.name == s {
			return true
		}
	}
	return false
}
