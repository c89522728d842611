//go:build linux

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	measured "github.com/foliomem/folio/cmd/bench/internal/programs"
)

// trees are commands that start the Go programs which do the work: as people start them.
var trees = []program{
	{name: "npx tsc", prepare: tsc, tree: true},
	{name: "npm run build, esbuild", prepare: npmBuild, tree: true},
	{name: "go build -a cmd/gofmt", prepare: goCommand("build", "-a", "-o", "gofmt", "cmd/gofmt"), tree: true},
	{name: "go vet go/types", prepare: goCommand("vet", "go/types"), tree: true},
	{name: "go test -run ^$ go/printer", prepare: goCommand("test", "-run", "^$", "go/printer"), tree: true},
	{name: "make, fzf", prepare: makeFZF, tree: true},
	{name: "staticcheck go/printer", prepare: func(ctx context.Context, dir string) ([]string, error) {
		bin, err := measured.Install(ctx, dir, measured.Staticcheck, "")
		return []string{bin, "-fail", "none", "go/printer"}, err
	}, tree: true},
}

// makeFZF builds a program by its own Makefile.
func makeFZF(ctx context.Context, dir string) ([]string, error) {
	const release = "0.65.2"
	project := filepath.Join(dir, "fzf")
	command := []string{"make", "-B", "-C", project, "FZF_VERSION=" + release, "FZF_REVISION=v" + release, "target/fzf-linux_amd64"}
	if _, err := os.Stat(project); err == nil {
		return command, nil
	}
	out, err := measured.Output(ctx, dir, nil, "go", "mod", "download", "-json", "github.com/junegunn/fzf@v"+release)
	var module struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err == nil {
		err = os.CopyFS(project, os.DirFS(module.Dir))
	}
	if err == nil { // the copy is as read-only as the module's files
		_, err = measured.Output(ctx, project, nil, "chmod", "-R", "u+w", ".")
	}
	if err == nil {
		_, err = measured.Output(ctx, project, nil, "go", "mod", "download")
	}
	return command, err
}

// goCommand runs the go command with an empty cache of its own.
func goCommand(args ...string) func(context.Context, string) ([]string, error) {
	return func(_ context.Context, dir string) ([]string, error) {
		for i, a := range args {
			if a == "-o" {
				args[i+1] = filepath.Join(dir, "work", "out")
			}
		}
		return append([]string{"go"}, args...), nil
	}
}

// tsc checks the types of a program that uses a package with declarations of 3.8 million lines.
func tsc(ctx context.Context, dir string) ([]string, error) {
	project := filepath.Join(dir, "tsc")
	files := map[string]string{
		"package.json":  `{"private": true, "dependencies": {"typescript": "7.0.2", "googleapis": "188.0.0", "@types/node": "24.10.1"}}`,
		"tsconfig.json": `{"compilerOptions": {"noEmit": true, "strict": true, "module": "nodenext", "types": ["node"]}, "files": ["main.ts"]}`,
		"main.ts":       "import { google } from 'googleapis';\nexport const drive = google.drive('v3');\n",
	}
	if err := npm(ctx, project, files); err != nil {
		return nil, err
	}
	return []string{"npx", "--prefix", project, "tsc", "-p", project}, nil
}

// npmBuild bundles with the esbuild of npm.
func npmBuild(ctx context.Context, dir string) ([]string, error) {
	project := filepath.Join(dir, "npm")
	main, err := measured.Scripts(filepath.Join(dir, "js"), 200)
	if err != nil {
		return nil, err
	}
	build := exec.Command("esbuild", measured.Bundle(main, filepath.Join(dir, "work", "out.js"))...).String()
	files := map[string]string{
		"package.json": `{"private": true, "scripts": {"build": "` + build + `"}, "dependencies": {"esbuild": "0.28.2"}}`,
	}
	if err := npm(ctx, project, files); err != nil {
		return nil, err
	}
	return []string{"npm", "--prefix", project, "run", "build"}, nil
}

// npm installs what a project depends on, once.
func npm(ctx context.Context, project string, files map[string]string) error {
	if _, err := os.Stat(filepath.Join(project, "node_modules")); err == nil {
		return nil
	}
	if err := os.MkdirAll(project, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	_, err := measured.Output(ctx, project, nil, "npm", "install", "--no-audit", "--no-fund")
	return err
}
