package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	measured "github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/internal/lab/workload"
)

// A program does some real work, alone and offline, for half a second or so, and ends.
type program struct {
	name string
	pkg  string // in its module
	// source writes the module to a directory.
	source func(ctx context.Context, dir string) error
	// args writes the input below a directory, and returns the arguments. Work that the
	// program leaves goes to work, which is empty for each run.
	args func(dir, work string) ([]string, error)
}

var programs = []program{
	{
		name: "esbuild", pkg: "github.com/evanw/esbuild/cmd/esbuild", source: require(measured.Esbuild),
		args: func(dir, work string) ([]string, error) {
			main, err := measured.Scripts(filepath.Join(dir, "js"), 40)
			return measured.Bundle(main, filepath.Join(work, "out.js")), err
		},
	},
	{
		name: "gofumpt", pkg: "mvdan.cc/gofumpt", source: require("mvdan.cc/gofumpt@v0.9.2"),
		args: func(string, string) ([]string, error) {
			root, err := goroot()
			return []string{"-l", filepath.Join(root, "src", "net")}, err
		},
	},
	{
		name: "bleve", pkg: ".", source: func(_ context.Context, dir string) error {
			_, err := workload.Index(dir, nil)
			return err
		},
		args: func(dir, _ string) ([]string, error) {
			root, err := goroot()
			if err != nil {
				return nil, err
			}
			docs, err := workload.Documents(root, 100, 1<<20)
			if err != nil {
				return nil, err
			}
			list := filepath.Join(dir, "documents")
			return []string{"Index", "1MiB", list}, workload.WriteDocuments(list, docs)
		},
	},
	{
		name: "badger", pkg: ".", source: testdata("badger"),
		args: func(_, work string) ([]string, error) { return []string{work, "150000"}, nil },
	},
	{
		name: "gojq", pkg: "github.com/itchyny/gojq/cmd/gojq", source: require("github.com/itchyny/gojq/cmd/gojq@v0.12.17"),
		args: func(dir, _ string) ([]string, error) {
			file := filepath.Join(dir, "records.json")
			return []string{"-c", "group_by(.group) | map({group: .[0].group, n: length, sum: (map(.value) | add), tags: (map(.tags[]) | unique)})", file},
				records(file, 60_000)
		},
	},
	{
		name: "jsonnet", pkg: "github.com/google/go-jsonnet/cmd/jsonnet", source: require("github.com/google/go-jsonnet/cmd/jsonnet@v0.21.0"),
		args: func(string, string) ([]string, error) {
			return []string{"-e", `local item(i) = { id: i, name: "item-" + i, even: i % 2 == 0, next: item(i + 1) { next:: null } };
				local all = [item(i) for i in std.range(1, 18000)];
				{ n: std.length(all), names: std.length(std.join(",", [x.name for x in all if x.even])), next: std.foldl(function(s, x) s + x.next.id, all, 0) }`}, nil
		},
	},
}

func require(path string) func(ctx context.Context, dir string) error {
	return func(ctx context.Context, dir string) error { return measured.Require(ctx, dir, path) }
}

func testdata(name string) func(ctx context.Context, dir string) error {
	return func(_ context.Context, dir string) error { return measured.Source(name, dir) }
}

// records writes a JSON array of records.
func records(file string, n int) error {
	random := rand.New(rand.NewPCG(1, 2))
	type record struct {
		ID    int      `json:"id"`
		Group string   `json:"group"`
		Value float64  `json:"value"`
		Tags  []string `json:"tags"`
	}
	var all []record
	for i := range n {
		r := record{ID: i, Group: fmt.Sprintf("group-%d", random.IntN(100)), Value: random.Float64()}
		for range 4 {
			r.Tags = append(r.Tags, fmt.Sprintf("tag-%d", random.IntN(50)))
		}
		all = append(all, r)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
