package project

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/input"
)

// nodeModules finds what the commands of a project's scripts are.
type nodeModules struct {
	dir string // of package.json
}

// starts says which Go program a command is or starts, by the files that are installed. If it is
// none for sure, say is what the user may want to know.
func (n nodeModules) starts(command string) (program, say string) {
	file := n.bin(command)
	if file == "" {
		return "", n.elsewhere(command)
	}
	if v := goVersion(file); v != "" {
		return command + " is " + n.show(file) + ", built with " + v, ""
	}
	root := packageOf(file)
	if root == "" {
		return "", ""
	}
	var pkg struct{ OptionalDependencies, Dependencies map[string]any }
	if data, err := input.ReadFile(filepath.Join(root, packageFile), maxFile); err == nil {
		_ = json.Unmarshal(data, &pkg) // npm has read it
	}
	platforms := []string{root}
	for name := range pkg.OptionalDependencies {
		platforms = append(platforms, packageFrom(root, name))
	}
	slices.Sort(platforms)
	for _, dir := range platforms {
		if file, v := goProgramIn(dir); v != "" {
			return command + " starts " + n.show(file) + ", built with " + v, ""
		}
	}
	var names []string
	for name := range pkg.Dependencies {
		if _, v := goProgramIn(packageFrom(root, name)); v != "" {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		return "", command + " depends on " + strings.Join(names, ", ") + ", which has a Go program; if it starts that, put " + npmExec + " before it"
	}
	return "", ""
}

// elsewhere says what a command is that node_modules has not.
func (n nodeModules) elsewhere(command string) (say string) {
	path, err := exec.LookPath(command)
	if err != nil || strings.Contains(command, "/") || goVersion(path) == "" {
		return ""
	}
	return command + " is a Go program (" + path + "), but not from node_modules; to have its heap on huge pages, put " + npmExec + " before it"
}

// installed says whether there are packages, here or above.
func (n nodeModules) installed() bool {
	dir, err := filepath.Abs(n.dir)
	return err == nil && packageFrom(filepath.Join(dir, "node_modules"), ".bin") != ""
}

// shim is the program in a script that package managers write instead of a link.
var shim = regexp.MustCompile(`\$basedir/([^"]+)"`)

// bin returns the file of a command in node_modules/.bin, here or above; "" if there is none.
func (n nodeModules) bin(command string) string {
	dir, err := filepath.Abs(n.dir)
	if err != nil || strings.Contains(command, "/") {
		return ""
	}
	for {
		path := filepath.Join(dir, "node_modules", ".bin", command)
		if real, err := filepath.EvalSymlinks(path); err == nil {
			data, err := input.ReadFile(real, maxFile) // larger is not a script
			all := shim.FindAllSubmatch(data, -1)
			if info, lerr := os.Lstat(path); err == nil && lerr == nil && info.Mode().IsRegular() && len(all) > 0 {
				real = filepath.Join(filepath.Dir(path), string(all[len(all)-1][1]))
				if real, err = filepath.EvalSymlinks(real); err != nil {
					return ""
				}
			}
			return real
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// packageOf returns the directory of the package that a file belongs to; "" if there is none.
func packageOf(file string) string {
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		parent := filepath.Dir(dir)
		if strings.HasPrefix(filepath.Base(parent), "@") {
			parent = filepath.Dir(parent)
		}
		if filepath.Base(parent) == "node_modules" {
			return dir
		}
	}
	return ""
}

// packageFrom returns the directory of the package that Node.js finds by a name from a package's
// directory.
func packageFrom(dir, name string) string {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules", filepath.FromSlash(name))); err == nil {
			return real
		}
	}
	return ""
}

// goProgramIn returns a Go program in a package, and the version of Go that built it.
func goProgramIn(dir string) (program, version string) {
	if dir == "" {
		return "", ""
	}
	left := 10_000 // files to look at
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		left--
		switch {
		case err != nil || left < 0:
			return filepath.SkipAll
		case d.IsDir() && d.Name() == "node_modules" && path != dir:
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Mode()&0o111 == 0 && filepath.Ext(path) != ".exe" {
			return nil
		}
		if v := goVersion(path); v != "" {
			program, version = path, v
			return filepath.SkipAll
		}
		return nil
	})
	return program, version
}

// goVersion is the version of Go that built a program; "" for others.
func goVersion(file string) string {
	b, err := goruntime.ReadBuild(file)
	if err != nil {
		return ""
	}
	return b.GoVersion
}

// show is a path as it is shown: from the directory on.
func (n nodeModules) show(file string) string {
	dir, err := filepath.Abs(n.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	rel, rerr := filepath.Rel(dir, file)
	if err != nil || rerr != nil {
		return file
	}
	return filepath.ToSlash(rel)
}
