package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/act"
	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/cmd/fleet/internal/test/promtest"
	"github.com/foliomem/folio/cmd/internal/test/commandtest"
	"github.com/foliomem/folio/internal/test/testenv"
)

const argsEnv = "FOLIO_AGENT_TEST_ARGS"

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{
		"agent": func() error {
			args := os.Args[1:] // of what the agent starts
			if len(args) == 0 {
				args = strings.Split(os.Getenv(argsEnv), "\n")
			}
			os.Exit(command.Main(name, args, newRoot))
			return nil
		},
		"load": load,
		"pod":  steady,
	})
	os.Exit(m.Run())
}

var sink [][]byte

// load makes garbage until its standard input ends.
func load() error {
	fmt.Println("ready")
	end := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(end) }()
	for {
		select {
		case <-end:
			return nil
		default:
			sink = append(sink[:0], make([]byte, 64<<10))
		}
	}
}

// steady allocates at an even rate, beside a heap that the GC has to mark, until its standard
// input ends.
func steady() error {
	type node struct{ left, right *node }
	var tree func(depth int) *node
	tree = func(depth int) *node {
		if depth == 0 {
			return &node{}
		}
		return &node{tree(depth - 1), tree(depth - 1)}
	}
	live := tree(19)
	fmt.Println("ready")
	end := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(end) }()
	ticker := time.NewTicker(20 * time.Millisecond)
	for {
		select {
		case <-end:
			runtime.KeepAlive(live)
			return nil
		case <-ticker.C:
			tree(14)
		}
	}
}

// A running is an agent in a process of its own.
type running struct {
	cmd  *exec.Cmd
	addr []string // where it listens
	mu   sync.Mutex
	log  bytes.Buffer
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// start starts an agent, and waits until it listens at so many addresses.
func start(t *testing.T, addresses int, args ...string) *running {
	t.Helper()
	a := &running{cmd: testenv.Role(t, "agent", argsEnv+"="+strings.Join(args, "\n"), "KUBERNETES_SERVICE_HOST=")}
	pipe, err := a.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 16)
	go func() {
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			a.mu.Lock()
			fmt.Fprintln(&a.log, lines.Text())
			a.mu.Unlock()
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
		close(found)
	}()
	t.Cleanup(func() { _ = a.cmd.Process.Kill(); _ = a.cmd.Wait() })
	for range addresses {
		addr, ok := <-found
		if !ok {
			t.Fatalf("the agent ended:\n%s", a.text())
		}
		a.addr = append(a.addr, addr)
	}
	return a
}

func (a *running) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.String()
}

func get(t *testing.T, client *http.Client, address, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

// liveConfig scrapes an agent as in a cluster: what the host runs is called a pod, since
// the rules are about pods.
const liveConfig = `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
- job_name: folio-agent
  honor_labels: true
  static_configs: [{targets: [%q]}]
  metric_relabel_configs:
  - {source_labels: [container], regex: _host, target_label: pod, replacement: load-0}
  - {source_labels: [container], regex: _host, target_label: namespace, replacement: test}
  - {source_labels: [container], regex: _host, target_label: container, replacement: load}
`

// Prometheus scrapes an agent while a Go program runs, evaluates the rules of folio-fleet,
// and folio-fleet's ranking says what the program lost.
func TestPrometheus(t *testing.T) {
	testenv.Long(t)
	server := promtest.New(t)
	program := testenv.Role(t, "load")
	in, out := testenv.Start(t, program)
	defer func() { in.Close(); _ = program.Wait() }()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	a := start(t, 1, "serve", "--listen", "127.0.0.1:0", "--kubernetes", "off", "--node", "node-1", "--budget", "1")
	made, err := rules.New(rules.Options{Interval: rules.MinInterval, Sources: rules.Sources, Alerts: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range made.Groups {
		made.Groups[i].Interval = "1s" // the test does not wait for 15
	}
	text, err := made.YAML()
	if err != nil {
		t.Fatal(err)
	}
	file := server.File(t, "rules.yaml", text)
	server.Promtool(t, "check", "rules", file)
	server.Start(t, fmt.Sprintf(liveConfig, file, a.addr[0]))
	client, err := prom.New(prom.Options{URL: server.URL, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	true1 := func(query string) {
		t.Helper()
		testenv.Eventually(t, query+"\n"+server.Said()+a.text(), func() bool {
			samples, err := client.Instant(t.Context(), query, time.Time{})
			return err == nil && len(samples) == 1
		})
	}
	for _, q := range []string{
		`up{job="folio-agent"} == 1`,
		`sum by (container) (folio_cpu_seconds_total{node="node-1"}) > 0`,
		`folio_go_processes{container="load",pod="load-0",namespace="test"} >= 1`,
		`folio_live_heap_bytes > 0`,
		`folio_agent_resident_bytes > 0`,
		rules.LiveHeap + `{workload="load",workload_kind="StatefulSet",source="agent"} > 0`,
		rules.CPUCores + `{workload="load",source="agent"} > 0`,
	} {
		true1(q)
	}
	root := os.Geteuid() == 0
	if root {
		true1(`sum(folio_memory_tax_cpu_seconds_total) > 0 and sum(folio_memory_tax_cpu_seconds_total) <= sum(folio_sampled_cpu_seconds_total)`)
		true1(rules.TaxTotal + ` > 0`)
	}
	r, err := ranking.Ask(t.Context(), client, ranking.Options{Window: 10 * time.Minute, By: ranking.ByCores, Prices: ranking.Prices{CoreHour: 1}})
	if err != nil || len(r.Workloads) != 1 || r.Workloads[0].String() != "test/load:load" || *r.Workloads[0].CPU <= 0 || len(r.Partial) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if w := r.Workloads[0]; root && (w.Tax == nil || *w.Tax <= 0 || *w.Tax > *w.CPU || len(w.Classes) == 0) {
		t.Errorf("%+v", w)
	}
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, a.text())
	}
}

// Profiles are for those who have the token; metrics are for all, and are all that is there.
func TestServers(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef0123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := start(t, 2, "serve", "--listen", "127.0.0.1:0", "--secure-listen", "127.0.0.1:0", "--token-file", token, "--sampling=false")
	public, secure := "http://"+a.addr[0], "http://"+a.addr[1]
	for _, c := range []struct {
		address, token string
		code           int
		text           string
	}{
		{public + "/metrics", "", 200, "folio_agent_info"},
		{public + "/healthz", "", 200, "ok"},
		{public + "/readyz", "", 200, "ok"},
		{public + "/debug/profile?pod=a/b", "", 404, ""},
		{public + "/debug/pprof/", "", 404, ""},
		{secure + "/debug/profile?pod=a/b", "", 401, "bearer token"},
		{secure + "/debug/profile?pod=a/b", "0123456789abcdef0124", 401, "bearer token"},
		{secure + "/metrics", "", 401, "bearer token"},
		{secure + "/debug/profile?pod=a/b", "0123456789abcdef0123", 404, "no Go process of this pod"},
		{secure + "/debug/profile", "0123456789abcdef0123", 400, "which pod?"},
		{secure + "/debug/profile?pod=a/b&seconds=0", "0123456789abcdef0123", 400, "1 to 60"},
		{secure + "/debug/profile?pod=a/b&pid=1", "0123456789abcdef0123", 400, "not known"},
		{secure + "/other", "0123456789abcdef0123", 404, ""},
	} {
		if code, body := get(t, http.DefaultClient, c.address, c.token); code != c.code || !strings.Contains(body, c.text) {
			t.Errorf("%s: %d %s", c.address, code, body)
		}
	}
	// A token that is replaced counts at once.
	if err := os.WriteFile(token, []byte("another-token-of-length"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _ := get(t, http.DefaultClient, secure+"/debug/profile", "0123456789abcdef0123"); code != 401 {
		t.Errorf("the old token: %d", code)
	}
	if err := a.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, a.text())
	}
}

func TestMisuse(t *testing.T) {
	dir := t.TempDir()
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const listen = "--listen=127.0.0.1:0"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"x\x1b[2J"}, 2, `unknown command x\x1b[2J`},
		{[]string{"serv"}, 2, "unknown command serv: did you mean serve?"},
		{[]string{"serve", "x"}, 2, "folio-agent: serve takes no arguments: got x\n"},
		{[]string{"act", "x"}, 2, "folio-agent: act takes no arguments: got x\n"},
		{[]string{"serve", "--budget", "x"}, 2, `--budget "x": want a number, such as 0.9`},
		{[]string{"serve", "--budget", "0"}, 2, "--budget 0: want"},
		{[]string{"serve", "--log-format", "xml"}, 2, "want text or json"},
		{[]string{"serve", "--log-level", "loud"}, 2, "want debug"},
		{[]string{"serve", "--kubernetes", "maybe"}, 2, "want auto, on or off"},
		{[]string{"serve", "--kubeconfig", "/nonexistent"}, 1, "cannot read the kubeconfig"},
		{[]string{"serve", "--kubernetes", "on"}, 1, "not a pod of Kubernetes"},
		{[]string{"serve", "--listen", "nowhere"}, 1, "cannot listen at nowhere"},
		{[]string{"serve", "--listen", "nowhere", "--cgroup-root", dir}, 1, "no cgroups: memory limits"},
		{[]string{"serve", "--token-file", short}, 2, "--secure-listen, which is missing"},
		{[]string{"serve", "--secure-listen", ":0"}, 2, "needs --token-file"},
		{[]string{"serve", "--secure-listen", ":0", "--token-file", short}, 2, "needs --tls-cert"},
		{[]string{"serve", listen, "--secure-listen", "127.0.0.1:0", "--token-file", short}, 1, "it needs 16 at least"},
		{[]string{"serve", listen, "--secure-listen", "127.0.0.1:0", "--token-file", "/nonexistent"}, 1, "cannot read the token"},
		{[]string{"serve", listen, "--push", "ftp://x"}, 2, `--push: "ftp://x" is not an address of a server`},
		{[]string{"serve", "--push-every", "1s"}, 2, "less than --push-duration"},
		{[]string{"act"}, 2, "--policy is missing"},
		{[]string{"act", "--policy", "/nonexistent"}, 1, "cannot read the policy"},
		{[]string{"act", "--policy", short}, 1, "policy " + short},
		{[]string{"act", "--policy", os.DevNull}, 1, "needs the Kubernetes API"},
	} {
		if c.code == command.Misuse {
			program.Refused(t, c.args, c.want)
			continue
		}
		code, _, text := program.Run(c.args)
		if code != c.code || !strings.Contains(text, c.want) || strings.Contains(text, "\x1b") {
			t.Errorf("%q: %d\n%s", c.args, code, text)
		}
	}
	program.BadFlags(t)
}

// program is folio-agent, for tests of what it refuses.
var program = commandtest.Program{
	Name: name,
	Root: newRoot(io.Discard, io.Discard),
	Run: func(args []string) (int, string, string) {
		var out, errs bytes.Buffer
		code := command.Run(context.Background(), name, args, &out, &errs, newRoot)
		return code, out.String(), errs.String()
	},
}

func TestHelp(t *testing.T) {
	if n := program.Flags(t); n < 20 {
		t.Errorf("only %d flags", n)
	}
	for _, args := range [][]string{{}, {"--help"}, {"serve", "--help"}, {"act", "--help"}, {"--version"}} {
		var out, errs bytes.Buffer
		if code := command.Run(context.Background(), name, args, &out, &errs, newRoot); code != 0 || errs.Len() > 0 || out.Len() == 0 {
			t.Errorf("%q: %d\n%s%s", args, code, out.String(), errs.String())
		}
	}
}

// An address that is taken ends the agent with one line.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := testenv.Role(t, "agent", argsEnv+"=serve\n--kubernetes=off\n--listen="+l.Addr().String())
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "folio-agent: cannot listen at") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The manifests give no flag that the commands do not have.
func TestManifests(t *testing.T) {
	commands := map[string]*cobra.Command{}
	for _, c := range newRoot(io.Discard, io.Discard).Commands() {
		commands[c.Name()] = c
	}
	files, err := filepath.Glob("../../deploy/*/*/*.yaml")
	base, berr := filepath.Glob("../../deploy/base/*.yaml")
	if err != nil || berr != nil || len(files)+len(base) < 6 {
		t.Fatal(err, berr, files, base)
	}
	flags := regexp.MustCompile(`(?:- |value: )--([a-z-]+)=`)
	found := 0
	for _, file := range append(files, base...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		command := "serve"
		if strings.Contains(file, "/act/") {
			command = "act"
		}
		for _, m := range flags.FindAllSubmatch(data, -1) {
			found++
			if commands[command].Flag(string(m[1])) == nil {
				t.Errorf("%s: folio-agent %s has no --%s", file, command, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d flags", found)
	}
	// What is shown is the default.
	if p, err := act.Read("../../deploy/components/act/policy.yaml"); err != nil || !reflect.DeepEqual(p, act.Default()) {
		t.Errorf("%+v, %v", p, err)
	}
}
