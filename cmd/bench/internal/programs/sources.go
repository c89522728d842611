package programs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Testdata is where the sources are that benchmarks build with modules of others, from the
// root of the module.
const Testdata = "cmd/bench/exec/programs/testdata"

// Source writes the source of a program of [Testdata] to a directory.
func Source(name, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{"main.go": "main.go", "go.mod.txt": "go.mod", "go.sum.txt": "go.sum"} {
		data, err := os.ReadFile(filepath.Join(Testdata, name, from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), data, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%w: run it in the root of the module", err)
		}
	}
	return nil
}

// Require writes a module to a directory that requires a command of another module, path
// with its version: so a user has it who builds it himself.
func Require(ctx context.Context, dir, path string) error {
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module folio.invalid/bench\n\ngo 1.25.0\n"), 0o644); err != nil {
		return err
	}
	_, err := Output(ctx, dir, nil, "go", "get", path)
	return err
}

// Scripts writes what esbuild bundles below a directory, and returns the file to begin
// with: copies of a library, since its own source would have to be downloaded by npm.
func Scripts(dir string, copies int) (main string, err error) {
	library, err := os.ReadFile("cmd/internal/view/html/lib/d3.min.js")
	if err != nil {
		return "", fmt.Errorf("%w: run it in the root of the module", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	var entry strings.Builder
	for i := range copies {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("m%d.js", i)),
			append(library, fmt.Sprintf("\nexport const number = %d;\n", i)...), 0o644); err != nil {
			return "", err
		}
		fmt.Fprintf(&entry, "export * as m%d from './m%d.js';\n", i, i)
	}
	main = filepath.Join(dir, "main.js")
	return main, os.WriteFile(main, []byte(entry.String()), 0o644)
}

// Bundle are the arguments of esbuild that bundle a script.
func Bundle(main, out string) []string {
	return []string{"--bundle", "--minify", "--sourcemap", "--format=esm", "--external:d3-*", "--log-level=error", "--outfile=" + out, main}
}
