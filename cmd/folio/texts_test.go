package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// Errors are one line that says what failed, on what and why, in the words of the user: no
// path of folio's own, no escapes, nothing twice.
func TestErrorsSayWhatWasTyped(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"text": "hello\n", "long.txt": "BenchmarkA 1 5 ns/op\n" + strings.Repeat("x", 1<<17) + "\n", "short.txt": "BenchmarkA 1 5 ns/op\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"patches --of text", exitFailure, "--of text: not a Go program: no Go build information"},
		{"patches --of text --json", exitFailure, "--of text: not a Go program: no Go build information"},
		{"patches --of nosuch", exitFailure, "--of nosuch: no such file or directory"},
		{"patches --go foo", exitMisuse, `--go: "foo" is not a release of Go: use one such as go1.27.4`},
		{"patch " + self + " -o nosuch/x", exitFailure, "patch: write nosuch/x: no such file or directory"},
		{"compare long.txt short.txt", exitFailure, "long.txt:2: the line is longer than the 64KiB that the Go benchmark format is read by"},
		{"run --metric x=(\\d -- true", exitMisuse, "--metric 'x=(\\d': error parsing regexp: missing closing ): `(\\d`"},
		{"run --metric x=\\d -- true", exitMisuse, "--metric 'x=\\d': put a (group) around the number"},
		{"tune --gogc 100 -- true", exitMisuse, "unknown flag --gogc: tune searches GOGC itself; folio run takes --gogc"},
		{"tune --memlimit 1GiB -- true", exitMisuse, "unknown flag --memlimit: tune searches GOMEMLIMIT itself; folio run takes --memlimit"},
		{"tune --budgt 3s -- true", exitMisuse, "unknown flag --budgt: did you mean --budget?"},
		{"help foo", exitMisuse, "unknown command foo: see 'folio --help'"},
		{"patches --go go1.2", exitMisuse, "--go: go1.2 is too old: want go1.21.0 or later"},
		{"report nosuch", exitFailure, "nosuch: no such file or directory"},
		{"gofmt -l .", exitMisuse, "unknown command gofmt: see 'folio --help'; to measure a program: folio run -- gofmt"},
		{"run -count 3 -- true", exitMisuse, "unknown flag -count: did you mean --count?"},
		{"rnu -- gofmt", exitMisuse, "unknown command rnu: did you mean run?"},
		{"help tnue", exitMisuse, "unknown command tnue: did you mean tune?"},
		{"run --input nosuch -- true", exitFailure, "--input nosuch: no such file or directory"},
		{"load --rate 1 --body nosuch http://127.0.0.1:1/", exitFailure, "--body nosuch: no such file or directory"},
		{"load --rate 1 --body . http://127.0.0.1:1/", exitFailure, "--body .: not a regular file"},
		{"tune --ready http://127.0.0.1:1/ --rate 1 --load-body nosuch -- true", exitFailure, "--load-body nosuch: no such file or directory"},
	} {
		var stdout, stderr bytes.Buffer
		code := exit(&stderr, run(context.Background(), strings.Fields(tt.args), nil, &stdout, &stderr))
		if code != tt.code || stderr.String() != "folio: "+tt.want+"\n" || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d; %q, want %q; standard output %q", tt.args, code, tt.code, stderr.String(), tt.want, stdout.String())
		}
	}
}

// What other commands say in several lines becomes one, without their indentation.
func TestOneLine(t *testing.T) {
	if got, want := oneLine("go: download go1.2: 403 Forbidden\n\tserver response: not available.\n\n"),
		"go: download go1.2: 403 Forbidden; server response: not available."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The advice of go vet to run its tool for help becomes that of folio vet.
func TestVetWriter(t *testing.T) {
	var out bytes.Buffer
	v := &vetWriter{w: &out, self: "/bin/folio"}
	for _, part := range []string{"flag provided but not defined: -bogus\nRun 'go help vet' for de", "tails.\nRun '/bin/folio help' for a full",
		" list of flags and analyzers.\nRun '/bin/folio -help' for an overview.\nlast"} {
		if _, err := v.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.flush(); err != nil {
		t.Fatal(err)
	}
	want := "flag provided but not defined: -bogus\nRun 'go help vet' for details.\nRun 'folio vet --help' for the analyzers, and -NAME to run one.\nlast"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
