package codepatch

import (
	"debug/elf"
	"encoding/binary"
	"math"
	"strings"
)

var processors = map[elf.Machine]*processor{
	elf.EM_X86_64: {
		name:       "amd64",
		list:       listAMD64,
		uses:       usesAMD64,
		branch:     func(test string) string { return map[string]string{"cmp 4:[variable], 0x0": "je "}[test] },
		nop:        []byte{0x90, 0x90},
		branchCode: branchAMD64,
		call:       callAMD64,
		yield:      []byte{0xb8, 0x18, 0, 0, 0, 0x0f, 0x05, 0xc3}, // MOVL $SYS_sched_yield, AX; SYSCALL; RET
		syscall:    5,
	},
	elf.EM_AARCH64: {
		name: "arm64",
		list: listARM64,
		uses: usesARM64,
		branch: func(test string) string {
			register, ok := strings.CutPrefix(test, "ldrsw x")
			if register, found := strings.CutSuffix(register, ", [variable]"); ok && found {
				return "cbz w" + register + ", "
			}
			return ""
		},
		nop:        []byte{0x1f, 0x20, 0x03, 0xd5},
		branchCode: branchARM64,
		call:       callARM64,
		yield:      []byte{0xe8, 0x13, 0x7e, 0xb2, 0x01, 0, 0, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}, // MOVD $SYS_sched_yield, R8; SVC; RET
		syscall:    4,
	},
}

// branchAMD64 is JE with a distance of one byte.
func branchAMD64(_ []byte, skip int64) ([]byte, bool) {
	return []byte{0x74, byte(skip)}, skip >= 0 && skip <= math.MaxInt8
}

// callAMD64 is CALL with a distance from its end.
func callAMD64(from, to uint64) ([]byte, bool) {
	d := int64(to - (from + 5))
	return binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(d)), d == int64(int32(d))
}

// branchARM64 is CBZ of the register that the test has loaded.
func branchARM64(test []byte, skip int64) ([]byte, bool) {
	if len(test) != 4 || skip < 0 || skip%4 != 0 || skip >= 1<<19 {
		return nil, false
	}
	register := binary.LittleEndian.Uint32(test) & 31
	return binary.LittleEndian.AppendUint32(nil, 0x34000000|uint32(skip/4+1)<<5|register), true
}

// callARM64 is BL, which reaches 128 MiB.
func callARM64(from, to uint64) ([]byte, bool) {
	d := int64(to - from)
	const reach = 1 << 27
	return binary.LittleEndian.AppendUint32(nil, 0x94000000|uint32(d>>2)&0x03ffffff), d%4 == 0 && d >= -reach && d < reach
}
