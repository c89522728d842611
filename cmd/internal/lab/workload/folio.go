package workload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// module is Folio's own.
const module = "github.com/foliomem/folio"

// Folio is where the source of Folio is that this program was built from.
type Folio struct {
	Dir     string // of the module; "" if only the version is known
	Version string // for the module proxy
	Go      string // the least version of Go that it needs, "" if not known
}

// FindFolio looks for the source that this program was built from: where the
// compiler found it, or as the version that the program was installed as.
func FindFolio() (*Folio, error) {
	_, file, _, _ := runtime.Caller(0)
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = versionOf(info)
	}
	return findFolio(file, version)
}

// findFolio looks in the directories above a file of Folio's source.
func findFolio(file, version string) (*Folio, error) {
	if filepath.IsAbs(file) { // with -trimpath it is a path below no directory
		for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
			if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && moduleOf(string(text)) == module {
				return &Folio{Dir: dir, Go: goOf(string(text))}, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if version != "" {
		return &Folio{Version: version}, nil
	}
	return nil, errors.New("the source of folio is not where it was built from, nor was it built from a version that can be downloaded: install it with go install " + module + "/cmd/folio@latest, or build it in a checkout that stays")
}

// versionOf returns the version of Folio that a program was built from; "" if it
// was built from files that are not versions.
func versionOf(info *debug.BuildInfo) string {
	v := ""
	if info.Main.Path == module {
		v = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == module && m.Replace == nil {
			v = m.Version
		}
	}
	if v == "(devel)" || strings.HasSuffix(v, "+dirty") {
		return ""
	}
	return v
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module[ \t]+"?([^"\s]+)`)
	goLine     = regexp.MustCompile(`(?m)^go[ \t]+([0-9a-z.]+)$`)
)

func moduleOf(mod string) string { return group(moduleLine, mod) }

func goOf(mod string) string { return group(goLine, mod) }

func group(re *regexp.Regexp, text string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// require adds Folio to the text of a go.mod. A module needs no older Go than what
// it requires.
func (f *Folio) require(mod string) string {
	if f.Go != "" {
		mod = goLine.ReplaceAllString(mod, "go "+f.Go)
	}
	if f.Dir == "" {
		return mod + fmt.Sprintf("\nrequire %s %s\n", module, f.Version)
	}
	return mod + fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, quote(f.Dir))
}

// quote quotes a path for a go.mod, where a space would end it.
func quote(path string) string {
	if strings.ContainsAny(path, " \t'\"`()[]{},") {
		return "`" + path + "`"
	}
	return path
}
