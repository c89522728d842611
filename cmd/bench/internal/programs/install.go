package programs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Commands of other modules that several benchmarks measure, and the release of Go that
// gopls needs.
const (
	Esbuild     = "github.com/evanw/esbuild/cmd/esbuild@v0.28.2"
	Gopls       = "golang.org/x/tools/gopls@v0.24.0"
	GoplsNeeds  = "go1.27.4"
	Staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
)

// Install builds a command of another module into dir/bin, stripped, as programs are
// deployed, unless it is there, and returns its path. release is of Go, "" for the one that
// is here.
func Install(ctx context.Context, dir, path, release string) (string, error) {
	name, _, _ := strings.Cut(filepath.Base(path), "@")
	bin := filepath.Join(dir, "bin", name)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	env := []string{"GOBIN=" + filepath.Dir(bin)}
	if release != "" {
		env = append(env, "GOTOOLCHAIN="+release)
	}
	_, err := Output(ctx, dir, env, "go", "install", "-trimpath", "-ldflags=-s -w", path)
	return bin, err
}

// Output returns what a command prints; the error has its standard error. In a directory, which
// is that of another module, there is no workspace.
func Output(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=")
	if dir != "" {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
