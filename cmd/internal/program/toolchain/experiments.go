package toolchain

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Experiments returns the names that GOEXPERIMENT may have in a toolchain, sorted: those of
// internal/goexperiment, which its compiler reads them from.
func Experiments(root string) ([]string, error) {
	file := filepath.Join(root, "src", "internal", "goexperiment", "flags.go")
	src, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the experiments of the toolchain: %w", err)
	}
	var out []string
	ast.Inspect(src, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if spec.Name.Name != "Flags" || !ok {
			return false
		}
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				out = append(out, strings.ToLower(name.Name))
			}
		}
		return false
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("read the experiments of the toolchain: %s has no struct Flags", file)
	}
	slices.Sort(out)
	return out, nil
}

// Enabled returns the experiments that are on when a toolchain builds in dir, by default
// or by GOEXPERIMENT, and the level of GOAMD64, "" on other processors.
func Enabled(ctx context.Context, root, dir string) (experiments []string, amd64 string, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "go"), "list", "-f", "{{range context.ToolTags}}{{.}}\n{{end}}", "unsafe")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOROOT="+root, "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(FirstLine(string(exit.Stderr)))
	}
	if err != nil {
		return nil, "", fmt.Errorf("go list: %w", err)
	}
	for _, tag := range strings.Fields(string(out)) {
		if name, ok := strings.CutPrefix(tag, "goexperiment."); ok {
			experiments = append(experiments, name)
		} else if level, ok := strings.CutPrefix(tag, "amd64."); ok {
			amd64 = max(amd64, level) // v1 is tagged for all above it
		}
	}
	slices.Sort(experiments)
	return experiments, amd64, nil
}

// FirstLine returns the first line that says something of what a go command said: not the
// name of a package, and not what it downloads.
func FirstLine(said string) string {
	first := ""
	for line := range strings.SplitSeq(said, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "go: downloading ") {
			continue
		}
		if !strings.HasPrefix(line, "# ") {
			return strings.TrimPrefix(line, "go: ")
		}
		if first == "" {
			first = line
		}
	}
	return first
}
