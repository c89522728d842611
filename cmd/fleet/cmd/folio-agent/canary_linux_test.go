package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/foliomem/folio/cmd/fleet/internal/canary"
	"github.com/foliomem/folio/cmd/fleet/internal/test/promtest"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Processes in cgroups of pods, both agents, Prometheus and folio-fleet as they are: the pods swap
// the setting, nothing of it is left, and what a folio-fleet that is killed gave ends by itself.
func TestCanary(t *testing.T) {
	testenv.FullOnly(t)
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	server := promtest.New(t)
	var pods []*corev1.Pod
	var pids []int
	for n := range 4 {
		p := actPod(n+1, "on")
		cmd := testenv.Role(t, "pod", "GOMAXPROCS=1")
		in, out := testenv.Start(t, cmd)
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		containerOf(t, cmd.Process.Pid, p, 512<<20)
		pods, pids = append(pods, p), append(pids, cmd.Process.Pid)
	}
	api := newPodsAPI(t, pods...)
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("canary: folio.dev/settings=on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"--kubernetes", "on", "--kubeconfig", api.kubeconfig, "--node", "node-1", "--listen", "127.0.0.1:0"}
	serve := start(t, 1, append([]string{"serve", "--budget", "0.1", "--sampling=false"}, common...)...)
	acts := start(t, 1, append([]string{"act", "--policy", policy}, common...)...)
	server.Start(t, fmt.Sprintf("scrape_configs: [{job_name: a, honor_labels: true, scrape_interval: 2s, static_configs: [{targets: [%q, %q]}]}]\n", serve.addr[0], acts.addr[0]))
	fleet := filepath.Join(t.TempDir(), "folio-fleet")
	if out, err := exec.Command("go", "build", "-o", fleet, "../folio-fleet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := func(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
		cmd := exec.Command(fleet, append([]string{"canary", "shop/api", "--gogc", "400", "--pods", "100%", "--prometheus", server.URL, "--kubeconfig", api.kubeconfig}, args...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &out, &errs
	}
	have := func() (n int) { // pods with the setting
		for _, pid := range pids {
			p, err := livegc.Open(procmem.New(""), pid)
			if err != nil {
				t.Fatal(err)
			}
			s, err := p.State()
			_ = p.Close()
			if err != nil {
				t.Fatal(err)
			}
			if s.Percent == 400 {
				n++
			} else if s.Percent != 100 {
				t.Errorf("GOGC=%d", s.Percent)
			}
		}
		return n
	}
	// Allocated bytes are known after two looks of the agent, of which the first is after 10 s.
	deadline := time.Now().Add(2 * time.Minute)
	for {
		cmd, _, errs := start("--dry-run")
		if err := cmd.Wait(); err != nil || !strings.Contains(errs.String(), "group 2: api-5d4f-") {
			t.Fatalf("%v\n%s", err, errs)
		}
		if _, text := get(t, http.DefaultClient, "http://"+serve.addr[0]+"/metrics", ""); strings.Count(text, "folio_allocated_bytes_total{") >= 4 && !strings.Contains(text, `folio_allocated_bytes_total{container="main",namespace="shop",node="node-1",pod="api-5d4f-1"} 0`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(serve.text())
		}
		time.Sleep(time.Second)
	}

	cmd, out, errs := start("--rounds", "1", "--settle", "75s", "--block", "90s", "--every", "2s", "--json", "-")
	most := 0
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v\n%s%s\n%s", err, errs, acts.text(), out)
			}
			running = false
		case <-time.After(time.Second):
			most = max(most, have())
		}
	}
	t.Logf("%s", errs)
	var r canary.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Rounds != 1 || len(r.Blocks) != 2 || most != 2 {
		t.Fatalf("%v, %d pods had the setting at a time, want 2\n%s", err, most, out)
	}
	if !(r.Cost.Ratio > 0.2 && r.Cost.Ratio < 1) {
		t.Errorf("GOGC=400 costs %.3f of what GOGC=100 does", r.Cost.Ratio)
	}
	testenv.Eventually(t, "taken back", func() bool { return have() == 0 })

	cmd, _, errs = start("--rounds", "1", "--settle", "1s", "--block", "10s")
	testenv.Eventually(t, "given\n"+errs.String(), func() bool { return have() == 2 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	begun := time.Now()
	for have() != 0 {
		if time.Since(begun) > 3*time.Minute {
			t.Fatalf("%d pods have the setting for 3 minutes after folio-fleet was killed", have())
		}
		time.Sleep(time.Second)
	}
	t.Logf("a killed folio-fleet's setting ended after %v", time.Since(begun).Round(time.Second))
}
