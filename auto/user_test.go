package auto

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// userTest is a test of a user whose program has the import.
const userTest = `package x

import (
	"os"
	"testing"

	"github.com/foliomem/folio/auto"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStats(t *testing.T) {
	auto.Heap().Stats()
	auto.Tuner().Stats()
	auto.Tuner().SetBudget(1 << 30)
	if on := auto.Tuner() != nil; on != (os.Getenv("FOLIO") != "") {
		t.Error("started:", on)
	}
}
`

// goleak is the leak detector that most tests use, and its sums.
const (
	goleak     = "go.uber.org/goleak v1.3.0"
	goleakSums = goleak + " h1:2K3zAYmnTNqV73imy9J1T3WC+gmCePx2hEGkimedGto=\n" +
		goleak + "/go.mod h1:CoHD4mav9JJNrW/WLlf7HGZPjdw8EucARQHekz1X6bE=\n"
)

// TestLeakDetector: in a test binary of any name nothing is started, so a leak detector finds
// no goroutine of the import; with FOLIO it is started, and found.
func TestLeakDetector(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x_test.go": userTest,
		"go.mod": "module x\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/foliomem/folio v0.0.0\n\t" + goleak + "\n)\n\n" +
			"replace github.com/foliomem/folio => " + root + "\n",
		"go.sum": string(sums) + goleakSums,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "FOLIO=", "PWD="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := command("go", "mod", "download", strings.Replace(goleak, " ", "@", 1)); err != nil {
		testenv.Missing(t, "%s: %v: %s", goleak, err, out)
	}
	if out, err := command("go", "test", "-c", "-o", "some-name"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := command("./some-name"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := command("env", "FOLIO=heap=off", "./some-name"); err == nil || !strings.Contains(out, "gctune.(*Tuner).run") {
		t.Errorf("with FOLIO: %v\n%s", err, out)
	}
}
