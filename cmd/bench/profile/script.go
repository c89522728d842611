package main

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// tally counts perf's samples.
type tally struct {
	file     *symbol.File // of the program, for inlined calls
	path     string
	named    map[profile.Class]int // by the names that perf gives
	resolved map[profile.Class]int // with inlined calls
	samples  int
	kernel   int // of them on the kernel's side
	blind    int // in a function without a frame, whose caller perf does not see
}

func (t *tally) part(n int) float64 { return float64(n) / float64(t.samples) }

func (t *tally) shares(classes map[profile.Class]int) shares {
	s := shares{inKernel: t.part(t.kernel)}
	for class, n := range classes {
		s[class] = t.part(n)
	}
	return s
}

// readScript reads the output of perf script: a line for each sample, its stack
// below that, innermost first, and an empty line. Only samples of the program
// count, not those of perf before it became the program.
func (t *tally) read(r io.Reader, comm string) error {
	t.named, t.resolved = make(map[profile.Class]int), make(map[profile.Class]int)
	var kernel, user, full []string
	inside, counts := false, false
	end := func() {
		if inside && counts {
			t.add(kernel, user, full)
		}
		kernel, user, full, inside = nil, nil, nil, false
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.TrimSpace(line) == "":
			end()
		case !inside:
			inside, counts = true, strings.HasPrefix(strings.TrimSpace(line), comm)
		default:
			address, name, file := parseFrame(line)
			// The upper half of the addresses is the kernel's.
			if len(address) == 16 && address[0] == 'f' {
				kernel = append(kernel, name)
				continue
			}
			inlined := t.inlined(address, file, len(user) > 0)
			user = append(user, name)
			if inlined == nil {
				inlined = []string{name}
			}
			full = append(full, inlined...)
		}
	}
	end()
	return lines.Err()
}

// inlined returns the functions at an address of the program, nil for others.
func (t *tally) inlined(address, file string, callsite bool) (names []string) {
	offset, err := strconv.ParseUint(address, 16, 64)
	if err != nil || file != t.path {
		return nil
	}
	// What perf shows is where in the file the code is.
	at, ok := t.file.Address(offset)
	if !ok {
		return nil
	}
	for _, f := range t.file.Lookup(at, callsite) {
		names = append(names, f.Func)
	}
	return names
}

// parseFrame takes a line of a stack apart: an address, a name, and the file in
// parentheses.
func parseFrame(line string) (address, name, file string) {
	address, name, _ = strings.Cut(strings.TrimSpace(line), " ")
	if i := strings.LastIndex(name, " ("); i >= 0 {
		name, file = name[:i], strings.TrimSuffix(name[i+2:], ")")
	}
	switch {
	case file == "[vdso]":
		return address, file, file
	case name == "[unknown]":
		return address, "", file
	}
	// The linker's table says which way a function is called.
	return address, strings.TrimSuffix(strings.TrimSuffix(name, ".abi0"), ".abiinternal"), file
}

func (t *tally) add(kernel, user, full []string) {
	t.named[profile.ClassOf(kernel, user)]++
	class := profile.ClassOf(kernel, full)
	t.resolved[class]++
	t.samples++
	if kernel != nil {
		t.kernel++
	}
	if class == profile.Program && kernel == nil && len(user) > 0 && (user[0] == "runtime.memmove" ||
		user[0] == "runtime.memclrNoHeapPointers") {
		t.blind++
	}
}
