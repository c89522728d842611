package trial

import (
	"fmt"
	"strings"
	"testing"
)

const goStack = `
goroutine 1 [running]:
main.(*T[...]).deep(0xc000012345?, {0x4b0740, 0x1})
	/src/main.go:9 +0x65
main.main()
	/src/main.go:14 +0x13
created by main.main in goroutine 1
	/src/main.go:16 +0x179
`

func TestReason(t *testing.T) {
	long := strings.Repeat("ä", 300)
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"\n\n", ""}, {"one", "one"}, {"one\ntwo\n", "two"}, {"one\n  two \r\n\n \t", "two"},
		{long, strings.Repeat("ä", 200) + "..."},
		{"starting\npanic: assignment to entry in nil map\n" + goStack + "exit status 2\n", "panic: assignment to entry in nil map"},
		{"panic: first [recovered]\n\tpanic: second\n" + goStack, "panic: first [recovered]"},
		{"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]\n" + goStack,
			"panic: runtime error: invalid memory address or nil pointer dereference"},
		{"fatal error: malformed GOMEMLIMIT; see `go doc runtime/debug.SetMemoryLimit`\n\nruntime stack:\nruntime.rt0_go()\n\t/go/src/runtime/asm_amd64.s:373 +0x123 fp=0x7ffffe53ba98 sp=0x7ffffe53ba90 pc=0x47d943\n",
			"fatal error: malformed GOMEMLIMIT; see `go doc runtime/debug.SetMemoryLimit`"},
		{"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n" + goStack, "fatal error: stack overflow"},
		{"SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n" + goStack + "\nrax    0x4\nrflags 0x10246\ncs     0x33\n", "SIGQUIT: quit"},
		{"a wrapper\npanic: a\n" + goStack + "the program failed\n", "panic: a"},
		{"panic: of the first try\n" + goStack + "panic: of the second\n" + goStack, "panic: of the second"},
		// A stack alone: the program printed it and went on.
		{"cannot open x" + goStack, "cannot open x"},
		{goStack + "cannot open x\n", "cannot open x"},
		// Other languages, go test, and a command that prints its usage.
		{"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    f()\njson.decoder.JSONDecodeError: Expecting value\n", "json.decoder.JSONDecodeError: Expecting value"},
		{"/x.js:1\nthrow new Error('x')\n^\n\nError: x\n    at Object.<anonymous> (/x.js:1:7)\n    at node:internal/main:36:49\n\nNode.js v22.1.0\n", "Error: x"},
		{"Exception in thread \"main\" java.lang.RuntimeException: x\n\tat Main.main(Main.java:3)\n\t... 12 more\n", "Exception in thread \"main\" java.lang.RuntimeException: x"},
		{"thread 'main' (7) panicked at src/main.rs:2:5:\nx\nnote: run with `RUST_BACKTRACE=1`\n", "thread 'main' (7) panicked at src/main.rs:2:5:"},
		{"Error: unknown flag: --x\nUsage:\n  prog [flags]\n", "Error: unknown flag: --x"},
		{"BenchmarkA 1 2 ns/op\n--- FAIL: BenchmarkZ-2\n    z_test.go:48: at the end\nBenchmarkB 1 2 ns/op\nFAIL\nFAIL\tp\t0.1s\nFAIL\n", "--- FAIL: BenchmarkZ-2"},
		// Text in which the words stand, but not as the beginning of a report.
		{"http: panic serving 1.2.3.4: x\nerrors: 0\nError rates are fine\ndone\n", "done"},
	} {
		if got := (&Sample{Tail: c.in}).Reason(); got != c.want {
			t.Errorf("reason in %q is %q, want %q", c.in, got, c.want)
		}
	}
}

// The stacks of many goroutines are longer than what is kept of the output.
func TestReasonOfManyGoroutines(t *testing.T) {
	many := "starting\nruntime: out of memory: cannot allocate 1-byte block\nfatal error: out of memory\n" + strings.Repeat(goStack, 1000)
	for _, step := range []int{1, 7, 100, len(many)} {
		var tl tail
		for p := many; p != ""; p = p[min(step, len(p)):] {
			fmt.Fprint(&tl, p[:min(step, len(p))])
		}
		if got := (&Sample{Tail: tl.String()}).Reason(); got != "fatal error: out of memory" {
			t.Errorf("in steps of %d: %q", step, got)
		}
		if len(tl.String()) > tailBytes+crashBytes+10 {
			t.Errorf("%d bytes are kept", len(tl.String()))
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	var all []byte
	for i := range 300 {
		p := []byte(strings.Repeat(string(rune('a'+i%26)), i*7%6000))
		if n, err := tl.Write(p); n != len(p) || err != nil {
			t.Fatalf("Write is %d, %v", n, err)
		}
		all = append(all, p...)
		if want := all[max(0, len(all)-tailBytes):]; string(tl.buf) != string(want) {
			t.Fatalf("after %d bytes the tail has %d bytes, or others", len(all), len(tl.buf))
		}
	}
}

// An exit code may be a program's normal end; a crash is not.
func TestIgnoreExitHint(t *testing.T) {
	for _, c := range []struct {
		failure, tail string
		want          bool
	}{
		{"exit code 1", "", true},
		{"exit code 2", "x.go:1:1: expected 'package'\n", true},
		{"exit code 2", "panic: oops\n" + goStack, false},
		{"killed by SIGKILL", "", false},
	} {
		s := &Sample{Failure: c.failure, Tail: c.tail}
		if got := s.IgnoreExit(); (got == "; --ignore-exit counts such runs, too") != c.want || !c.want && got != "" {
			t.Errorf("%s, %q: %q", c.failure, c.tail, got)
		}
	}
}
