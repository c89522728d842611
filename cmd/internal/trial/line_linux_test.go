package trial

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The line that folio shows is pasted into shells: the program must get exactly
// the arguments and variables of the setting. The printer shows what it got as
// the kernel has it.
func TestLineInShell(t *testing.T) {
	printer := filepath.Join(t.TempDir(), "print'er $x")
	script := "#!/bin/sh\ncat /proc/$$/cmdline /proc/$$/environ\n"
	if err := os.WriteFile(printer, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	text := rapid.Custom(func(t *rapid.T) string {
		return rapid.OneOf(
			rapid.SampledFrom([]string{"", "a b", "'", `"`, "$HOME", "`id`", "\\", "~", "a\nb", "*", "-n", "a=b", "!",
				"#", "é", "\xff\xfe", "$(id)", "a;b", "\\n"}),
			rapid.Map(rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 12), func(b []byte) string { return string(b) }),
		).Draw(t, "text")
	})
	// Names that a shell knows, and names that only the kernel knows. Shells
	// have their own idea of PWD and the like.
	name := rapid.OneOf(rapid.StringMatching(`K[A-Za-z0-9_]{0,6}`), rapid.SampledFrom([]string{"K.dot", "K-dash", "9K", "K sp", "K'q"}))
	pair := rapid.Custom(func(t *rapid.T) string { return name.Draw(t, "name") + "=" + text.Draw(t, "value") })
	rapid.Check(t, func(t *rapid.T) {
		s := Setting{
			GOGC:       rapid.SampledFrom([]string{"", "off", "50"}).Draw(t, "gogc"),
			MemLimit:   rapid.Uint64Range(0, 1<<40).Draw(t, "limit"),
			GOMAXPROCS: rapid.IntRange(0, 3).Draw(t, "procs"),
			Env:        rapid.SliceOfNDistinct(pair, 0, 4, envKey).Draw(t, "env"),
		}
		args := rapid.SliceOfN(text, 0, 5).Draw(t, "args")
		line := s.Line(append([]string{printer}, args...))
		// Some shells read a file as text: this one gets the line as it is.
		out, err := exec.Command("/bin/sh", "-c", line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(got) < len(args)+2 {
			t.Fatalf("%s: the program got %q", line, got)
		}
		got = got[1:] // the interpreter
		if want := append([]string{printer}, args...); !slices.Equal(got[:len(want)], want) {
			t.Fatalf("%s: the arguments are %q, want %q", line, got[:len(want)], want)
		}
		env := got[len(args)+1:]
		for _, v := range s.Vars() {
			if !slices.Contains(env, v) {
				t.Fatalf("%s: %q is not in the environment %q", line, v, env)
			}
		}
	})
}

// A command whose name has an = is not one more variable.
func TestLineCommandWithEqualsSign(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "A=b"), []byte("#!/bin/sh\necho ran $GOGC $1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", Setting{GOGC: "50"}.Line([]string{"A=b", "x"}))
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "ran 50 x\n" {
		t.Errorf("%q, %v", out, err)
	}
}
