package executable

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io"
	"runtime"
	"strings"

	"github.com/foliomem/folio/internal/base/input"
)

// ErrNotGo says that a program has no build information of Go.
var ErrNotGo = errors.New("no Go build information")

// Build is what a Go program says about how it was built.
type Build struct {
	GoVersion string // such as go1.26.8
	Module    string // path of the main module; "" outside of one
	Version   string // of the main module, with Go 1.24 the commit too; "" if unknown
	GODEBUG   string // that the program begins with (//go:debug, or the go line of go.mod); "" for none
	Commit    string // the commit, shortened, with "+dirty" if files were changed; "" if unknown
	Mode      string // -buildmode, such as c-shared or plugin; "" if unknown
}

// ReadBuild reads the build information of a program file.
func ReadBuild(path string) (Build, error) {
	f, info, err := input.Open(path)
	if err != nil {
		return Build{}, err
	}
	defer f.Close()
	return BuildOf(f, info.Size())
}

// BuildOf reads the build information of a program of this size. What is no Go
// program is an [ErrNotGo].
func BuildOf(r io.ReaderAt, size int64) (Build, error) {
	h, err := readHeader(r, size)
	switch {
	case err == nil:
		var f *elf.File
		if f, r, err = New(r, size); err != nil {
			return Build{}, ErrNotGo
		}
		if len(f.Sections) == 0 {
			return bareBuild(f)
		}
	case h == nil && runtime.GOOS == "linux":
		return Build{}, ErrNotGo // programs of other systems do not run here
	}
	info, err := buildinfo.Read(&meter{r: r, left: input.MaxBuildSearch})
	if err != nil || len(info.GoVersion) > input.MaxVersion {
		return Build{}, ErrNotGo
	}
	b := Build{GoVersion: strings.Clone(info.GoVersion), Module: strings.Clone(cut(info.Main.Path)), Commit: commit(info)}
	for _, s := range info.Settings {
		switch s.Key {
		case "DefaultGODEBUG":
			b.GODEBUG = strings.Clone(cut(s.Value))
		case "-buildmode":
			b.Mode = strings.Clone(cut(s.Value))
		}
	}
	if v := info.Main.Version; v != "(devel)" {
		b.Version = strings.Clone(cut(v))
	}
	return b, nil
}

func commit(info *buildinfo.BuildInfo) string {
	const long = 12
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = strings.Clone(s.Value[:min(len(s.Value), long)])
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

// cut keeps the beginning of a name that no module has.
func cut(s string) string {
	const most = 1 << 10
	return s[:min(len(s), most)]
}

// meter bounds how much is read in all and at a time: what is read at a time is kept.
type meter struct {
	r    io.ReaderAt
	left int64
}

var errMuch = errors.New("more than a program has of it")

func (m *meter) ReadAt(p []byte, off int64) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 || len(p) > input.MaxBuild {
		return 0, errMuch
	}
	return m.r.ReadAt(p, off)
}
