//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/test/testenv"
)

// What a command may take of memory, in MiB, whatever it is made to look at: a process
// or a program, and a result or profile. The same figures are in internal/base/input.
const (
	mostOfProcess = 256
	mostOfResult  = 512
)

// maxrss runs a command from a process that is small: the kernel starts the count of a
// process at the memory of the one that forked it. It writes what the command took, in
// KiB, into a file.
func maxrss() {
	file := os.Args[1]
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		check(err)
	}
	check(os.WriteFile(file, []byte(fmt.Sprint(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)), 0o600))
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		os.Exit(128 + int(s.Signal()))
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// peak runs folio, which must end by itself, and fails if it took more memory than
// that. It returns what folio printed.
func peak(t *testing.T, mib int, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "maxrss")
	cmd := exec.Command("maxrss", append([]string{file, "folio"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, raceEnv, "GOGC=100", "GOMEMLIMIT=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(testenv.Patience, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	err := cmd.Wait()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	text := out.String()
	own := args[0] != "run" && args[0] != "exec" // else it is the program's
	if code := cmd.ProcessState.ExitCode(); code < 0 || own && code > 2 || strings.Contains(text, "goroutine ") {
		t.Errorf("folio %q: %v\n%s", args, cmd.ProcessState, text[:min(len(text), 2000)])
	}
	data, _ := os.ReadFile(file)
	if kib, err := strconv.Atoi(string(data)); err != nil || kib>>10 > mib {
		t.Errorf("folio %q took %d MiB (%v), want at most %d", args, kib>>10, err, mib)
	} else if testing.Verbose() {
		t.Logf("folio %q: %d MiB; %s", args, kib>>10, strings.TrimSpace(text[strings.LastIndexByte(strings.TrimSpace(text), '\n')+1:]))
	}
	return text
}

// holes is how long a file is made of which nearly all is a hole.
const holes = 1 << 40

// elfBombs are programs that run, and whose files claim what they do not have.
var elfBombs = []struct {
	name  string
	hole  bool // the file gets longer, by a hole
	lines bool // only looked at as a file: it does not run
	make  func(e *elfFile)
}{
	{".debug_info", false, false, func(e *elfFile) { e.pack(".debug_info", 6000<<20, zeros(6000)) }},
	{".debug_info of the size that is read", false, false, func(e *elfFile) { e.pack(".debug_info", 128<<20, zeros(128)) }},
	{".debug_info that lies", false, false, func(e *elfFile) { e.pack(".debug_info", 128<<20, zeros(1)) }},
	{".debug_abbrev", false, false, func(e *elfFile) { e.pack(".debug_abbrev", 3000<<20, zeros(3000)) }},
	{".zdebug_info", false, false, func(e *elfFile) { e.packOld(".debug_info", 6000<<20, zeros(6000)) }},
	{".zdebug_info that lies", false, false, func(e *elfFile) { e.packOld(".debug_info", 128<<20, zeros(1)) }},
	{".zdebug_abbrev", false, false, func(e *elfFile) { e.packOld(".debug_abbrev", 3000<<20, zeros(3000)) }},
	{".debug_line and .debug_str", false, false, func(e *elfFile) {
		z := zeros(3000)
		for _, name := range e.names {
			if strings.HasPrefix(name, ".debug_line") || strings.HasPrefix(name, ".debug_str") {
				e.pack(name, 3000<<20, z)
			}
		}
	}},
	{"a packed note", false, false, func(e *elfFile) { e.pack(".note.go.buildid", 3000<<20, zeros(3000)) }},
	{"a note as long as the file", true, false, func(e *elfFile) { e.claim(".note.go.buildid", holes) }},
	{"all sections", false, false, func(e *elfFile) {
		z := zeros(1000)
		for _, name := range e.names {
			if name != "" && name != ".shstrtab" && name != ".bss" && name != ".noptrbss" {
				e.pack(name, 1000<<20, z)
			}
		}
	}},
	{".symtab", false, false, func(e *elfFile) { e.pack(".symtab", 3000<<20, zeros(3000)) }},
	{".strtab", false, false, func(e *elfFile) { e.pack(".strtab", 3000<<20, zeros(3000)) }},
	{".shstrtab", false, false, func(e *elfFile) { e.pack(".shstrtab", 3000<<20, zeros(3000)) }},
	{".gopclntab", false, false, func(e *elfFile) { e.pack(".gopclntab", 3000<<20, zeros(3000)) }},
	{".go.buildinfo", false, false, func(e *elfFile) { e.pack(".go.buildinfo", 3000<<20, zeros(3000)) }},
	{"holes for sections", true, false, func(e *elfFile) {
		for _, name := range []string{".debug_info", ".debug_abbrev", ".symtab", ".strtab", ".gopclntab", ".go.buildinfo"} {
			e.claim(name, holes)
		}
	}},
	{"a hole for the names", true, false, func(e *elfFile) { e.claim(".shstrtab", holes) }},
	{"names that share their letters", false, false, func(e *elfFile) {
		// 65000 sections whose names are the rest of 4 MiB of letters.
		at := len(e.b)
		e.b = append(e.b, bytes.Repeat([]byte{'x'}, 4<<20)...)
		e.b = append(e.b, 0)
		table := len(e.b)
		for range 65000 {
			h := make([]byte, 64)
			binary.LittleEndian.PutUint32(h[0:], 1)
			binary.LittleEndian.PutUint32(h[4:], uint32(elf.SHT_STRTAB))
			binary.LittleEndian.PutUint64(h[24:], uint64(at))
			binary.LittleEndian.PutUint64(h[32:], 4<<20+1)
			e.b = append(e.b, h...)
		}
		binary.LittleEndian.PutUint64(e.b[40:], uint64(table))
		binary.LittleEndian.PutUint16(e.b[60:], 65000)
		binary.LittleEndian.PutUint16(e.b[62:], 1)
	}},
	{"a number of sections beyond its field", true, false, func(e *elfFile) {
		at := len(e.b)
		h := make([]byte, 64)
		binary.LittleEndian.PutUint64(h[32:], 1<<33)
		e.b = append(e.b, h...)
		binary.LittleEndian.PutUint64(e.b[40:], uint64(at))
		binary.LittleEndian.PutUint16(e.b[60:], 0)
		binary.LittleEndian.PutUint16(e.b[62:], 1)
	}},
	{"sections as long as the file", true, false, func(e *elfFile) { binary.LittleEndian.PutUint16(e.b[58:], 0xffff) }},
	{"segments as long as the file", true, true, func(e *elfFile) {
		binary.LittleEndian.PutUint16(e.b[54:], 0xffff)
		binary.LittleEndian.PutUint16(e.b[56:], 0xffff)
	}},
	{"notes and data as long as the file", true, true, func(e *elfFile) {
		at, n := binary.LittleEndian.Uint64(e.b[32:]), binary.LittleEndian.Uint16(e.b[56:])
		for i := range uint64(n) {
			p := e.b[at+56*i:]
			binary.LittleEndian.PutUint64(p[32:], holes)
			binary.LittleEndian.PutUint64(p[40:], holes)
		}
		binary.LittleEndian.PutUint64(e.b[40:], 0) // no sections: it must search
		binary.LittleEndian.PutUint32(e.b[60:], 0)
	}},
	{"build information as long as the file", true, false, func(e *elfFile) {
		i := bytes.Index(e.b, []byte("\xff Go buildinf:"))
		e.b = append(e.b, e.b[i:i+32]...)
		at := len(e.b) - 32
		e.b = binary.AppendUvarint(e.b, holes-1<<20)
		h := e.header(".go.buildinfo")
		binary.LittleEndian.PutUint64(h[24:], uint64(at))
		binary.LittleEndian.PutUint64(h[32:], holes)
	}},
	{"symbols", false, false, func(e *elfFile) {
		// Ten million functions, for each of which something is kept.
		s := make([]byte, 24)
		s[4] = byte(elf.STT_FUNC)
		binary.LittleEndian.PutUint16(s[6:], 1)
		at := len(e.b)
		e.b = append(e.b, bytes.Repeat(s, 10<<20)...)
		for i := range 10 << 20 {
			binary.LittleEndian.PutUint64(e.b[at+24*i+8:], uint64(i))
		}
		h := e.header(".symtab")
		binary.LittleEndian.PutUint64(h[24:], uint64(at))
		binary.LittleEndian.PutUint64(h[32:], 24*10<<20)
		e.header(".gopclntab")[4] = byte(elf.SHT_NOBITS)
	}},
}

// waiter builds a Go program that works until the end of its input, so that it is seen
// where CPU time is sampled.
func waiter(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const source = `package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	fmt.Println("ready")
	done := make(chan bool)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	for {
		spin(3_000_000)
		select {
		case <-done:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var sink float64

//go:noinline
func spin(n int) {
	for range n {
		sink += 1 / (1 + sink)
	}
}
`
	for name, text := range map[string]string{"main.go": source, "go.mod": "module sleeper\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "sleeper")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		testenv.Missing(t, "go build: %v\n%s", err, out)
	}
	return path
}

// started runs a program that says when it is ready, until the test ends.
func started(t *testing.T, name string, args ...string) (pid string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), raceEnv)
	cmd.Stderr = os.Stderr
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s: %q, %v", name, line, err)
	}
	return strconv.Itoa(cmd.Process.Pid)
}

// TestProgramsMadeToHarm looks at programs whose files claim sizes and counts that they
// do not have, or that are made of a few bytes. Any user can run such a program, and
// wait for root to look at it.
func TestProgramsMadeToHarm(t *testing.T) {
	testenv.Long(t)
	if testenv.Race {
		t.Skip("its memory is not that of folio with the race detector")
	}
	t.Parallel()
	path := waiter(t)
	if perf.Check() == nil { // else no file is read for its functions
		file := filepath.Join(t.TempDir(), "cpu.pprof")
		peak(t, mostOfProcess, "run", "--attach", started(t, path), "--duration", "500ms", "--pprof", file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(data)
		if err != nil || !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.Name == "main.spin" }) {
			t.Errorf("the function of a program that was not changed is not seen: %v, %v", p, err)
		}
	}
	for i, bomb := range elfBombs {
		t.Run(bomb.name, func(t *testing.T) {
			if i > 0 {
				testenv.Sampled(t, i+1)
			}
			t.Parallel()
			e := readELF(t, path)
			bomb.make(e)
			file := filepath.Join(t.TempDir(), "program")
			testenv.WriteProgram(t, file, e.b)
			e.b = nil
			if bomb.hole {
				if err := os.Truncate(file, holes); err != nil {
					testenv.Missing(t, "a file with a hole: %v", err)
				}
			}
			peak(t, mostOfProcess, "patches", "--of", file)
			peak(t, mostOfProcess, "run", "--pprof", "cpu.pprof", "--", file)
			peak(t, mostOfProcess, "exec", "--strict", "--", file)
			peak(t, mostOfProcess, "patch", file, "-o", "copy")
			if bomb.lines {
				return
			}
			pid := started(t, file)
			peak(t, mostOfProcess, "doctor", "--duration", "100ms", pid)
			peak(t, mostOfProcess, "inspect", pid)
			peak(t, mostOfProcess, "leaks", "--duration", "200ms", pid)
			peak(t, mostOfProcess, "run", "--attach", pid, "--duration", "200ms", "--pprof", "cpu.pprof")
		})
	}
}

// TestProcessesMadeToHarm looks at processes of which the kernel says as much as they
// like.
func TestProcessesMadeToHarm(t *testing.T) {
	testenv.Long(t)
	if testenv.Race {
		t.Skip("its memory is not that of folio with the race detector")
	}
	t.Parallel()
	for i, args := range [][]string{{"-args", "64"}, {"-maps", "15000"}, {"-space", "64"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			testenv.Sampled(t, i)
			t.Parallel()
			pid := started(t, "hostile", args...)
			peak(t, mostOfProcess, "doctor", "--duration", "100ms", pid)
			peak(t, mostOfProcess, "inspect", pid)
			peak(t, mostOfProcess, "inspect")
			peak(t, mostOfProcess, "leaks", "--duration", "200ms", pid)
			peak(t, mostOfProcess, "run", "--attach", pid, "--duration", "100ms")
			peak(t, mostOfProcess, "collapse", "--dry-run", pid)
		})
	}
}

// protobuf returns n fields of this number that hold data.
func protobuf(n, field int, data []byte) []byte {
	one := append([]byte{byte(field<<3 | 2), byte(len(data))}, data...)
	return bytes.Repeat(one, n)
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

// TestResultsMadeToHarm reads results, benchmark text and profiles.
func TestResultsMadeToHarm(t *testing.T) {
	testenv.Long(t)
	if testenv.Race {
		t.Skip("its memory is not that of folio with the race detector")
	}
	t.Parallel()
	const head = `{"schema":"folio/1","kind":"run",`
	big := 60 << 20
	list := func(before, item, after string) func() []byte {
		return func() []byte {
			return []byte(before + strings.Repeat(item+",", (big-len(before))/(len(item)+1)) + item + after)
		}
	}
	few := func(before, item, after string, n int) func() []byte {
		return func() []byte { return []byte(before + strings.Repeat(item+",", n-1) + item + after) }
	}
	lines := func(format string) func() []byte {
		return func() []byte {
			var b bytes.Buffer
			for i := 0; b.Len() < big; i++ {
				fmt.Fprintf(&b, format, i)
			}
			return b.Bytes()
		}
	}
	values := []byte{2<<3 | 2, 4, 1, 1, 1, 1}
	label := slices.Concat([]byte{3<<3 | 2, 4, 1 << 3, 1, 2 << 3, 2, 3<<3 | 2, 4, 1 << 3, 2, 2 << 3, 1}, values)
	// of is an allocation profile that goes on with this.
	of := func(rest []byte) func() []byte {
		var b []byte
		for _, s := range []string{"", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "count"} {
			b = append(b, protobuf(1, 6, []byte(s))...)
		}
		for i := range 4 {
			b = append(b, protobuf(1, 1, []byte{1 << 3, byte(i + 1), 2 << 3, 5})...)
		}
		return func() []byte { return zipped(append(b, rest...)) }
	}
	for i, c := range []struct {
		name, kind string
		make       func() []byte
		hole       bool
	}{
		{"objects", "result", list(head+`"arms":[`, `{}`, `]}`), false},
		{"samples", "result", list(head+`"arms":[{"samples":[`, `{}`, `]}]}`), false},
		{"lists", "result", list(head+`"arms":[{"samples":[{"metrics":{},"output":[`, `[]`, `]}]}]}`), false},
		{"numbers", "result", list(head+`"notes":[`, `""`, `]}`), false},
		{"keys", "result", lines(`{"x%d":1},`), false},
		{"processes", "result", list(`{"schema":"folio-inspect/1","processes":[`, `{}`, `]}`), false},
		{"deep", "result", func() []byte { return []byte(strings.Repeat("[", big)) }, false},
		{"a hole", "result", func() []byte { return []byte(head) }, true},
		{"as many samples as are read", "result", few(head+
			`"program":{"command":["x"]},"arms":[{"name":"default","samples":[`, `{}`, `]}]}`, input.MaxObjects-100), false},
		{"as many arms as are read", "result", few(head+`"program":{"command":["x"]},"arms":[`, `{}`, `]}`, input.MaxObjects-100), false},
		{"as many values as are read", "result", few(head+
			`"program":{"command":["x"]},"arms":[{"name":"default","samples":[{"output":[`, `""`, `]}]}]}`, input.MaxValues-100), false},
		{"as many notes as are read", "result", few(head+`"program":{"command":["x"]},"notes":[`, `"a"`, `]}`, input.MaxValues-100), false},
		{"as many processes as are read", "result", few(`{"schema":"folio-inspect/1","processes":[`, `{}`, `]}`, input.MaxObjects-100), false},
		{"benchmarks", "bench", lines("BenchmarkX%d 1 1 ns/op\n"), false},
		{"units", "bench", lines("BenchmarkX 1 1 x%d\n"), false},
		{"configuration", "bench", lines("x%d: 1\nBenchmarkX 1 1 ns/op\n"), false},
		{"values of the configuration", "bench", lines("x: %d\nBenchmarkX 1 1 ns/op\n"), false},
		{"a long line", "bench", func() []byte { return bytes.Repeat([]byte("Benchmark"), big/9) }, false},
		{"zeros", "profile", func() []byte { // the same stream in another envelope
			return slices.Concat([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, zeros(3000)[2:])
		}, false},
		{"samples", "profile", func() []byte { return zipped(protobuf(big/2, 2, nil)) }, false},
		{"labels", "profile", func() []byte { return zipped(protobuf(big/10, 2, label)) }, false},
		{"locations", "profile", func() []byte { return zipped(protobuf(big/2, 4, nil)) }, false},
		{"lines", "profile", func() []byte { return zipped(protobuf(big/66, 4, bytes.Repeat([]byte{4<<3 | 2, 0}, 32))) }, false},
		{"numbers", "profile", func() []byte {
			packed := append([]byte{1<<3 | 2, 60}, make([]byte, 60)...)
			return zipped(protobuf(big/64, 2, packed))
		}, false},
		{"as many samples as are read", "profile", of(protobuf(input.MaxProfileMemory/490, 2, values)), false},
		{"as many labels as are read", "profile", of(protobuf(input.MaxProfileMemory/2160, 2, label)), false},
		{"as many lines as are read", "profile", of(protobuf(input.MaxProfileMemory/(400+32*120), 4,
			bytes.Repeat([]byte{4<<3 | 2, 0}, 32))), false},
		{"as many numbers as are read", "profile",
			of(protobuf(input.MaxProfileMemory/(560+60*40), 2, slices.Concat([]byte{1<<3 | 2, 60}, make([]byte, 60), values))), false},
		{"as many strings as are read", "profile", of(protobuf(input.MaxProfileMemory/350, 6, []byte("abc"))), false},
		{"strings", "profile", func() []byte { return zipped(protobuf(big/2, 6, nil)) }, false},
		{"a hole", "profile", func() []byte { return nil }, true},
	} {
		t.Run(c.kind+" "+c.name, func(t *testing.T) {
			testenv.Sampled(t, i+1)
			t.Parallel()
			file := filepath.Join(t.TempDir(), "file")
			err := os.WriteFile(file, c.make(), 0o600)
			if err == nil && c.hole {
				err = os.Truncate(file, holes)
			}
			if err != nil {
				testenv.Missing(t, "%v", err)
			}
			switch c.kind {
			case "profile":
				peak(t, mostOfResult, "suggest", "--profile", file)
				return
			case "result":
				peak(t, mostOfResult, "report", file, "-o", os.DevNull)
			}
			peak(t, mostOfResult, "compare", file, file)
		})
	}
}
