package toolchain

import (
	"archive/zip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"go1.27.4": "go1.27.4", "1.27.4": "go1.27.4", "go1.28rc1": "go1.28rc1", "go1.21.0": "go1.21.0",
		"go1.27":      `"go1.27" is a version of the language: want a release, such as go1.27.4`,
		"go9.9":       `"go9.9" is a version of the language: want a release, such as go1.27.4`,
		"1.27":        `"1.27" is a version of the language: want a release, such as go1.27.4`,
		"go1.20":      "go1.20 is too old: want go1.21.0 or later",
		"1.4":         "go1.4 is too old: want go1.21.0 or later",
		"go1.20rc1":   "go1.20rc1 is too old: want go1.21.0 or later",
		"go1.20.5":    "go1.20.5 is too old: want go1.21.0 or later",
		"latest":      `"latest" is not a release of Go: use one such as go1.27.4`,
		"":            `"" is not a release of Go: use one such as go1.27.4`,
		"go1.27.4 -x": `"go1.27.4 -x" is not a release of Go: use one such as go1.27.4`,
	} {
		got, err := Parse(in)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// aRelease is one that will never be, so that nothing of the machine is found for it.
const aRelease = "go1.999.1"

// proxy returns a directory that GOPROXY can name, with a release whose go command says
// where it is, and nothing else.
func proxy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	name := "v0.0.1-" + aRelease + "." + runtime.GOOS + "-" + runtime.GOARCH
	at := filepath.Join(dir, "golang.org", "toolchain", "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(at, name+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for file, text := range map[string]string{
		"bin/go": "#!/bin/sh\ncd \"$(dirname \"$0\")/..\" && pwd\n", "bin/gofmt": "", "pkg/tool/compile": "", "lib/wasm/go_js_wasm_exec": "", "VERSION": aRelease + "\n",
	} {
		w, err := z.Create("golang.org/toolchain@" + name + "/" + file)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// finder returns one with caches of its own.
func finder(t *testing.T, goproxy string) (f *Finder, modules string) {
	t.Helper()
	dir := t.TempDir()
	modules = filepath.Join(dir, "modules")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("GOMODCACHE", modules)
	t.Setenv("GOPROXY", goproxy)
	t.Setenv("GOSUMDB", "off") // which a proxy of files may have
	f, err := NewFinder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // modules are read-only
		if err := scratch.Clear(f.Dir); err != nil {
			t.Error(err)
		}
	})
	return f, modules
}

// TestDownload: a release goes into folio's own cache, and the user's module cache stays
// as it is.
func TestDownload(t *testing.T) {
	f, modules := finder(t, "file://"+proxy(t))
	if root := f.Have(aRelease); root != "" {
		t.Fatalf("it is at %s already", root)
	}
	root, err := f.Download(t.Context(), aRelease)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(root, f.Dir) || f.Have(aRelease) != root {
		t.Errorf("it is at %s, and %s is found; want one below %s", root, f.Have(aRelease), f.Dir)
	}
	if left, err := os.ReadDir(modules); len(left) > 0 {
		t.Errorf("the user's module cache has %v, %v", left, err)
	}
	// One that the go command had not done with is downloaded again.
	partial := filepath.Join(f.Dir, "cache", "download", "golang.org", "toolchain", "@v",
		"v0.0.1-"+aRelease+"."+runtime.GOOS+"-"+runtime.GOARCH+".partial")
	if err := os.WriteFile(partial, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.Have(aRelease); got != "" {
		t.Errorf("half a release is taken: %s", got)
	}
	if again, err := f.Download(t.Context(), aRelease); err != nil || again != root || f.Have(aRelease) != root {
		t.Errorf("%s, %v; %q is found", again, err, f.Have(aRelease))
	}
}

// TestHave: what is there already is not downloaded: the go command's own release, and what
// the user's module cache has.
func TestHave(t *testing.T) {
	f, modules := finder(t, "off")
	if got := f.Have(f.local); got != f.root || got == "" {
		t.Errorf("%s is at %q, want %q", f.local, got, f.root)
	}
	root := filepath.Join(modules, "golang.org", "toolchain@v0.0.1-"+aRelease+"."+runtime.GOOS+"-"+runtime.GOARCH)
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "bin", "go")
	if err := os.WriteFile(program, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := f.Have(aRelease); got != "" {
		t.Errorf("a go command that cannot be executed is taken: %s", got)
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := f.Have(aRelease); got != root {
		t.Errorf("%q, want %s", got, root)
	}
}

// TestCannotDownload: each reason is one line, and says what to do.
func TestCannotDownload(t *testing.T) {
	for name, tt := range map[string]struct{ proxy, want string }{
		"no network": {"https://127.0.0.1:1", aRelease + " is not on this machine, and the network does not answer (dial tcp 127.0.0.1:1: connect: connection refused): install it with the network on, or leave it out"},
		"GOPROXY":    {"off", aRelease + " is not on this machine, and GOPROXY=off forbids to download it: unset GOPROXY, or leave it out"},
		"no release": {"file://" + t.TempDir(), aRelease + " does not exist for " + runtime.GOOS + "/" + runtime.GOARCH + ", or GOPROXY does not have it: see https://go.dev/dl/"},
	} {
		t.Run(name, func(t *testing.T) {
			f, modules := finder(t, tt.proxy)
			_, err := f.Download(t.Context(), aRelease)
			if err == nil || err.Error() != tt.want {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
			if left, _ := os.ReadDir(modules); len(left) > 0 {
				t.Errorf("the user's module cache has %v", left)
			}
		})
	}
	f := &Finder{Dir: "/cache", os: "linux", arch: "amd64"}
	for said, want := range map[string]string{
		"go: downloading go1.28.0 (linux/amd64)\ngo: download go1.28.0: write /cache/x: no space left on device":                 "go1.28.0 cannot be downloaded: the disk of /cache is full: remove something ('folio cache clean'), or set XDG_CACHE_HOME to another disk",
		"go: downloading go1.28.0 (linux/amd64)\ngo: download go1.28.0: verifying module: checksum mismatch\n\tdownloaded: h1:x": "go1.28.0 cannot be downloaded: download go1.28.0: verifying module: checksum mismatch",
	} {
		if got := f.why("go1.28.0", said).Error(); got != want {
			t.Errorf("%q:\n%s\nwant %s", said, got, want)
		}
	}
}

func TestExperiments(t *testing.T) {
	f, err := NewFinder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := f.root
	if root == "" {
		t.Fatal("no GOROOT")
	}
	got, err := Experiments(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"arenas", "greenteagc", "jsonv2", "sizespecializedmalloc"} {
		if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+want+" ") {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
	on, _, err := Enabled(t.Context(), root, t.TempDir())
	if err != nil || !strings.Contains(strings.Join(on, " "), "regabiargs") {
		t.Errorf("%q are on, %v", on, err)
	}
	t.Setenv("GOEXPERIMENT", "nogreenteagc,arenas")
	t.Setenv("GOAMD64", "v2")
	on, level, err := Enabled(t.Context(), root, t.TempDir())
	list := " " + strings.Join(on, " ") + " "
	if err != nil || strings.Contains(list, " greenteagc ") || !strings.Contains(list, " arenas ") {
		t.Errorf("%q are on, %v", on, err)
	}
	if runtime.GOARCH == "amd64" && level != "v2" {
		t.Errorf("GOAMD64 is %q", level)
	}
	t.Setenv("GOEXPERIMENT", "nosuch")
	if _, _, err := Enabled(t.Context(), root, t.TempDir()); err == nil || !strings.Contains(err.Error(), "unknown GOEXPERIMENT") {
		t.Errorf("%v", err)
	}
	if _, err := Experiments(t.TempDir()); err == nil {
		t.Error("a toolchain without source has experiments")
	}
}

func TestAMD64Levels(t *testing.T) {
	v2 := "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
	v3 := v2 + " avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
	for flags, want := range map[string]string{
		"":                                 "v1",
		"fpu sse sse2":                     "v1",
		v2:                                 "v1 v2",
		v2 + " avx avx2":                   "v1 v2",
		v3:                                 "v1 v2 v3",
		strings.ReplaceAll(v3, " abm", ""): "v1 v2",
		v3 + " avx512f avx512bw avx512cd avx512dq avx512vl":                                    "v1 v2 v3 v4",
		strings.ReplaceAll(v3, " popcnt", "") + " avx512f avx512bw avx512cd avx512dq avx512vl": "v1",
	} {
		if got := strings.Join(AMD64Levels(strings.Fields(flags)), " "); got != want {
			t.Errorf("%s: %s, want %s", flags, got, want)
		}
	}
	if !IsAMD64Level("v3") || IsAMD64Level("v5") || IsAMD64Level("") {
		t.Error("levels are v1 to v4")
	}
}

func TestFirstLine(t *testing.T) {
	for said, want := range map[string]string{
		"# example.com/p\n./main.go:3:8: undefined: x\n./main.go:9: y\n":             "./main.go:3:8: undefined: x",
		"go: downloading x v1.0.0\ngo: go.mod requires go >= 1.99 (running go 1.26)": "go.mod requires go >= 1.99 (running go 1.26)",
		"# example.com/p\n": "# example.com/p",
		"":                  "",
	} {
		if got := FirstLine(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
