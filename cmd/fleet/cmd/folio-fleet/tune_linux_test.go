package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/fleet/internal/tunejob"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{
		"folio-fleet": func() error {
			os.Exit(command.Main(name, os.Args[1:], newRoot))
			return nil
		},
	})
	os.Exit(m.Run())
}

// images makes the directories of two images: one with the driver, which is this test
// binary, one with a program, a script.
func images(t *testing.T, script string) (driver, program string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	driver, program = t.TempDir(), t.TempDir()
	if err := os.Symlink(exe, filepath.Join(driver, "folio-fleet")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(program, "program"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return driver, program
}

// priced is a program whose figure depends on GOGC alone.
const priced = `
case "$GOGC" in
400) echo cost: 80;;
800) echo cost: 120;;
*) echo cost: 100;;
esac
`

const jobFile = `apiVersion: batch/v1
kind: Job
metadata: {name: nightly}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: mine/program:v1
          command: [/program]
          args: ["$$HOME"]
          env: [{name: KEPT, value: "yes"}]
`

// trialOf makes the trial of a command line, on a cluster.
func trialOf(t *testing.T, c *cluster, args ...string) (*tuneRequest, *tunejob.Trial) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(jobFile), 0o644); err != nil {
		t.Fatal(err)
	}
	all := append([]string{"--folio-image", imageDriver, "--metric", "cost=cost: ([0-9.]+)", "--setting", "GOGC=400", "--setting", "GOGC=800"}, args...)
	r, err := bind(t, all).request([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	job, err := r.template.Job(r.spec)
	if err != nil {
		t.Fatal(err)
	}
	return r, &tunejob.Trial{Client: c.client, Job: job, Spec: r.spec, Container: r.template.Container, Logs: c.log,
		Every: 20 * time.Millisecond, Patience: testenv.Patience}
}

func report(t *testing.T, r *tuneRequest, nodes []*tunejob.Node) (*tunejob.Result, string) {
	t.Helper()
	res := tunejob.Conclude(r.spec.Plan, nodes, r.template.MemoryLimit())
	var text bytes.Buffer
	if err := res.Write(&text); err != nil {
		t.Fatal(err)
	}
	return res, text.String()
}

// A trial from its command line to its answer: the driver is copied into pods, runs the
// rounds in them, and what wins is recommended.
func TestTune(t *testing.T) {
	driver, program := images(t, `[ "$KEPT" = yes ] && [ "$1" = '$HOME' ] && [ -z "$FOLIO_ROUNDS_PLAN" ] || exit 3`+priced)
	c := newCluster(t, driver, program, "node-1", "node-2", "node-3")
	r, trial := trialOf(t, c, "--rounds", "7")
	nodes, err := trial.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	res, text := report(t, r, nodes)
	if res.State != tunejob.Recommended || !strings.HasPrefix(text, "Set GOGC=400.\n") || !strings.Contains(text, "-20.0% to -20.0% by node, better on 3 of 3") {
		t.Errorf("%s", text)
	}
	for _, n := range nodes {
		if len(n.Rounds) != 7 || len(n.Lost) != 0 {
			t.Errorf("%s: %d rounds, lost %q", n.Name, len(n.Rounds), n.Lost)
		}
	}
	testenv.Eventually(t, "the Job and its pods are gone", func() bool { jobs, pods := c.count(); return jobs+pods == 0 })
}

// A node that is preempted, a pod that is deleted and a container that is killed cost the
// round that they were in. A setting that gets the container killed is left out.
func TestTuneWithLosses(t *testing.T) {
	begun := newGate(t)
	driver, program := images(t, `
[ "$GOGC" = 800 ] && [ -e "$HOME/folio-rounds/kill" ] && kill -9 $PPID
`+counted+begun.script()+priced)
	c := newCluster(t, driver, program, "node-1", "node-2", "node-3", "node-4")
	r, trial := trialOf(t, c, "--rounds", "8")
	lost := make(chan bool, 1)
	var once bool
	trial.Progress = func(p tunejob.Progress) {
		if once || p.Rounds < 3*roundsBeforeGate || c.atGate() < 3 { // each of the three is in its next round
			return
		}
		once = true
		c.lose("node-1")
		c.mu.Lock()
		second := c.pods[1]
		c.mu.Unlock()
		lost <- c.kubelets["node-2"].Kill(second)
		// From now on GOGC=800 is killed on node-3.
		marks, err := filepath.Glob(filepath.Join(c.kubelets["node-3"].Dir, "*", "folio-rounds"))
		if err != nil || len(marks) != 1 || os.WriteFile(filepath.Join(marks[0], "kill"), nil, 0o644) != nil {
			t.Errorf("%q %v", marks, err)
		}
		begun.open()
	}
	nodes, err := trial.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !<-lost {
		t.Error("nothing was killed")
	}
	res, text := report(t, r, nodes)
	if res.State != tunejob.Recommended || !strings.HasPrefix(text, "Set GOGC=400.\n") {
		t.Errorf("%s", text)
	}
	by := make(map[string]*tunejob.Node)
	for _, n := range nodes {
		by[n.Name] = n
	}
	for _, n := range []string{"node-2", "node-3", "node-4"} {
		if by[n] == nil || len(by[n].Rounds) != 8 {
			t.Fatalf("%s: %+v", n, by[n])
		}
	}
	if n := by["node-2"]; len(n.Lost) != 1 || !strings.Contains(n.Lost[0], "was killed in round") {
		t.Errorf("node-2 lost %q", n.Lost)
	}
	if n := by["node-3"]; len(n.Lost) != 2 || !strings.Contains(n.Out[2], "killed 2 times") {
		t.Errorf("node-3 lost %q, without %v", n.Lost, n.Out)
	}
	if n := by["node-1"]; n == nil || len(n.Lost) != 1 || !strings.Contains(n.Lost[0], "its node was") {
		t.Errorf("node-1: %+v", n)
	}
	if s := res.Settings[len(res.Settings)-1]; s.Name != "GOGC=800" || !strings.Contains(s.Unfit, "node-3") {
		t.Errorf("%+v", s)
	}
}

// A pod in place of one that was lost gets a node that has none yet, also when those of the
// others have run all their rounds: each node is measured once.
func TestTuneKeepsNodes(t *testing.T) {
	begun, first := newGate(t), newGate(t)
	driver, program := images(t, counted+begun.script()+`
case $HOSTNAME in *-0-1) `+first.script()+`;; esac`+priced)
	c := newCluster(t, driver, program, "node-1", "node-2", "node-3", "node-4")
	r, trial := trialOf(t, c, "--rounds", "7")
	var once bool
	trial.Progress = func(p tunejob.Progress) {
		switch {
		case once:
		case p.Rounds == 3*roundsBeforeGate && c.atGate() == 3: // each of the three is in its next round
			begun.open()
		case p.Rounds == 2*7+roundsBeforeGate: // two are done, and the first waits
			once = true
			c.lose("node-1")
		}
	}
	nodes, err := trial.Run(context.Background())
	if err != nil || !once {
		t.Fatalf("%v, a node was lost: %v", err, once)
	}
	res, text := report(t, r, nodes)
	if res.State != tunejob.Recommended {
		t.Errorf("%s", text)
	}
	for _, n := range nodes {
		if want := 7; n.Name != "node-1" && len(n.Rounds) != want || len(n.Rounds) > want {
			t.Errorf("%s: %d rounds, want %d", n.Name, len(n.Rounds), want)
		}
	}
	if len(nodes) != 4 {
		t.Errorf("%d nodes", len(nodes))
	}
	testenv.Eventually(t, "the Job and its pods are gone", func() bool { jobs, pods := c.count(); return jobs+pods == 0 })
}

// Ctrl-C deletes the Job, and what was measured is kept.
func TestTuneInterrupted(t *testing.T) {
	driver, program := images(t, priced)
	c := newCluster(t, driver, program, "node-1", "node-2", "node-3")
	r, trial := trialOf(t, c, "--rounds", "1000")
	ctx, stop := context.WithCancel(context.Background())
	trial.Progress = func(p tunejob.Progress) {
		if p.Rounds > 0 {
			stop()
		}
	}
	nodes, err := trial.Run(ctx)
	if !errors.Is(err, context.Canceled) || len(nodes) == 0 {
		t.Errorf("%v, %d nodes", err, len(nodes))
	}
	report(t, r, nodes)
	testenv.Eventually(t, "the Job and its pods are gone", func() bool { jobs, pods := c.count(); return jobs+pods == 0 })
}

// What cannot work is an error that says why, and leaves nothing.
func TestTuneFails(t *testing.T) {
	driver, program := images(t, priced)
	c := newCluster(t, driver, program, "node-1", "node-2", "node-3")
	_, trial := trialOf(t, c)
	trial.Job.Spec.Template.Spec.InitContainers[0].Image = "mine/nothing"
	trial.Patience = 100 * time.Millisecond
	if nodes, err := trial.Run(context.Background()); err == nil || len(nodes) > 0 || !strings.Contains(err.Error(), "ErrImagePull: no such image: mine/nothing") {
		t.Errorf("%v, %d nodes", err, len(nodes))
	}
	testenv.Eventually(t, "the Job is gone", func() bool { jobs, pods := c.count(); return jobs+pods == 0 })

	r, trial := trialOf(t, c)
	trial.Job.Spec.Template.Spec.Containers[0].Command = append(trial.Job.Spec.Template.Spec.Containers[0].Command[:3], "/nothing")
	nodes, err := trial.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if res, text := report(t, r, nodes); res.State != tunejob.TooFewNodes || !strings.Contains(text, "gave up: /nothing: no such file") {
		t.Errorf("%s", text)
	}
}

// Two nodes are too few, whatever they say; a third pod finds none.
func TestTuneOnTwoNodes(t *testing.T) {
	driver, program := images(t, priced)
	c := newCluster(t, driver, program, "node-1", "node-2")
	r, trial := trialOf(t, c, "--rounds", "6", "--nodes", "2")
	nodes, err := trial.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if res, text := report(t, r, nodes); res.State != tunejob.TooFewNodes || !strings.HasPrefix(text, "Nothing is recommended: 2 nodes measured") {
		t.Errorf("%s", text)
	}
}

func TestTuneMisuse(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	job := write("job.yaml", jobFile)
	image := []string{"--folio-image", imageDriver}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{job}, "--folio-image is missing"},
		{append(image, "--folio-path", "/x", job), "give one"},
		{image, "want one file of a Job"},
		{append(image, "--image", "x"), "no command"},
		{append(image, "--image", "x", "--memory", "lots", "--", "/x"), `--memory "lots"`},
		{append(image, "--memory", "1Gi", job), "for --image"},
		{append(image, "--nodes", "0", job), "--nodes 0"},
		{append(image, "--rounds", "0", job), "--rounds 0: want"},
		{append(image, "--run-timeout", "0s", job), "--run-timeout 0s: want"},
		{append(image, "--budget", "0s", job), "--budget 0s: want"},
		{append(image, "--setting", "GOGC=off", job), "add GOMEMLIMIT"},
		{append(image, "--setting", "GOMAXPROCS=x", job), `--setting "GOMAXPROCS=x": GOMAXPROCS "x": want a whole number`},
		{append(image, "--setting", "GOGC=200", "--setting", "GOGC=200", job), "given twice"},
		{append(image, "--metric", "x", job), "want wall"},
		{append(image, "--kubernetes", "pod/x", job), "--kubernetes"},
		{append(image, "--container", "x", job), "it has no container x: it has main"},
		{append(image, filepath.Join(dir, "none")), "no such file"},
		{append(image, write("two.yaml", jobFile+"---\n"+jobFile)), "several objects"},
		{append(image, write("deploy.yaml", "apiVersion: apps/v1\nkind: Deployment\n")), "it is a Deployment"},
		{append(image, write("typo.yaml", strings.Replace(jobFile, "command:", "comand:", 1))), `unknown field`},
		{append(image, write("entry.yaml", strings.Replace(jobFile, "command: [/program]", "", 1))), "container main has no command"},
		{append(image, write("empty.yaml", "")), "no kind"},
		{append(image, write("bad.yaml", "a: [")), "bad.yaml"},
	} {
		program.Refused(t, append([]string{"tune"}, c.args...), c.want)
	}
	var out, errs bytes.Buffer
	args := append([]string{"tune"}, append(image, "--kubeconfig", filepath.Join(dir, "none"), job)...)
	if code := command.Run(context.Background(), name, args, &out, &errs, newRoot); code != command.Failure || !strings.Contains(errs.String(), "--kubeconfig") {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
}

// bind parses flags as the command does.
func bind(t *testing.T, args []string) *tuneFlags {
	t.Helper()
	f := &tuneFlags{}
	fs := newTuneFlags(f)
	if err := fs.Parse(args); err != nil {
		t.Fatal(fmt.Errorf("%q: %w", args, err))
	}
	return f
}
