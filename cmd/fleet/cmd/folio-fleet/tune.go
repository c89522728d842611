package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/fleet/internal/rounds"
	"github.com/foliomem/folio/cmd/fleet/internal/tunejob"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/result"
	patch "github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

const tuneLong = `Compare settings of the Go runtime for a program on several nodes, and recommend one.

The program comes from the file of a Job, a CronJob or a Pod, or is a command in an image
(--image). It must do the same work each time and end by itself. An Indexed Job runs it,
with one pod a node; each pod runs rounds, in which every setting runs once, in random
order. Settings are compared with the default within node and round.

A setting is recommended if it is better on each of 3 nodes or more (with 5 or more: on
four of five) and worse on none. A lost pod, a preempted node or a full disk costs one
round.

--setting is repeatable: variables such as GOGC, GOMEMLIMIT and GOMAXPROCS, and thp=heap or
thp=off, as in folio run. If the container has a memory limit, settings with GOGC above 100
get a GOMEMLIMIT of 90% of it.

The driver in the pods is folio-fleet itself: an init container copies it from
--folio-image, or the image of the program has it (--folio-path). The namespace and its
permissions are in cmd/fleet/deploy/tune; no other object is created or changed. Ctrl-C deletes
the Job.

Exit codes: 0 measured, with a recommendation or without; 1 failed; 2 wrong usage; 130
interrupted.`

// defaultSettings are those that are compared where none is given.
var defaultSettings = []string{"GOGC=50", "GOGC=200", "GOGC=400", "GOGC=800", "thp=heap", "GOGC=400 thp=heap"}

type tuneFlags struct {
	kubeFlags
	namespace                     string
	image, container, memory, cpu string
	folioImage, folioPath         string
	settings                      []string
	nodes, rounds                 int
	metric                        string
	higher                        bool
	runTimeout, budget, timeout   time.Duration
	seed                          uint64
	json, kubernetes              string
	dryRun, keep                  bool
}

func newTune(stdout, stderr io.Writer) *cobra.Command {
	f := &tuneFlags{}
	cmd := &cobra.Command{
		Use:   "tune [flags] job.yaml | --image IMAGE -- command [args]",
		Short: "Compare settings for a program on several nodes",
		Long:  tuneLong,
		Example: `  folio-fleet tune --folio-image registry.example/folio-agent:v1 job.yaml
  folio-fleet tune --folio-image registry.example/folio-agent:v1 --image registry.example/batch:v3 --memory 2Gi -- /batch -n 1000
  folio-fleet tune --folio-image registry.example/folio-agent:v1 --nodes 5 --setting GOGC=200 --setting 'GOGC=400 thp=heap' job.yaml
  folio-fleet tune --folio-image registry.example/folio-agent:v1 --dry-run job.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args, stdout, stderr) },
	}
	cmd.Flags().AddFlagSet(newTuneFlags(f))
	return cmd
}

func newTuneFlags(f *tuneFlags) *pflag.FlagSet {
	fs := pflag.NewFlagSet("tune", pflag.ContinueOnError)
	fs.StringVar(&f.folioImage, "folio-image", "", "`image` with folio-fleet, that of cmd/fleet/deploy/Dockerfile")
	fs.StringVar(&f.folioPath, "folio-path", "", "`file` of folio-fleet in the image of the program, instead of --folio-image")
	fs.StringVar(&f.image, "image", "", "`image` with the program, instead of a file; the command follows --")
	fs.StringVar(&f.memory, "memory", "", "memory limit of the container of --image: a `size` such as 512Mi")
	fs.StringVar(&f.cpu, "cpu", "", "CPU limit of the container of --image: `n` CPUs, such as 2 or 1500m")
	fs.StringVar(&f.container, "container", "", "`name` of the container, if the file has several")
	fs.StringArrayVar(&f.settings, "setting", nil, "`setting` to compare with the default (repeatable; default "+strings.Join(defaultSettings, ", ")+")")
	fs.IntVar(&f.nodes, "nodes", tunejob.LeastNodes, "`n` nodes")
	fs.IntVar(&f.rounds, "rounds", 12, "`n` rounds per node")
	fs.StringVar(&f.metric, "metric", "wall", "`metric` to compare: wall, cpu, ns/op, or NAME=REGEXP, a regular\nexpression with a group around the number, matched against each line of the output")
	fs.BoolVar(&f.higher, "higher-is-better", false, "for --metric NAME=REGEXP: larger values are better")
	fs.DurationVar(&f.runTimeout, "run-timeout", 10*time.Minute, "end runs that take longer than this `duration`; they do not count")
	fs.DurationVar(&f.budget, "budget", 30*time.Minute, "start no further round of a pod after this `duration`")
	fs.DurationVar(&f.timeout, "timeout", time.Hour, "maximum `duration` of the Job")
	fs.Uint64Var(&f.seed, "seed", 0, "seed `n` of the random order (default random, and recorded)")
	fs.StringVarP(&f.namespace, "namespace", "n", "folio-tune", "`namespace` of the Job")
	f.kubeFlags.add(fs)
	fs.StringVar(&f.json, "json", "", "write the result, with every run, to `file` as JSON (- for standard output)")
	fs.StringVar(&f.kubernetes, "kubernetes", "", "print what is recommended as a patch of this `container`: [KIND/]NAME[:CONTAINER], of a\ndeployment, statefulset, daemonset or cronjob")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print the Job, and do nothing")
	fs.BoolVar(&f.keep, "keep", false, "keep the Job in the cluster")
	return fs
}

// A tuneRequest is a command line that is well formed.
type tuneRequest struct {
	*tuneFlags
	template *tunejob.Template
	spec     tunejob.JobSpec
	target   *patch.Target
	of       string // what is tuned
}

func (f *tuneFlags) request(args []string) (*tuneRequest, error) {
	switch {
	case f.folioImage == "" && f.folioPath == "":
		return nil, errors.New("--folio-image is missing: the image of cmd/fleet/deploy/Dockerfile, which has the program that runs the rounds")
	case f.folioImage != "" && f.folioPath != "":
		return nil, errors.New("--folio-image and --folio-path: give one")
	case f.nodes < 1 || f.nodes > 1000:
		return nil, fmt.Errorf("--nodes %d: must be from 1 to 1000", f.nodes)
	case f.timeout <= 0:
		return nil, fmt.Errorf("--timeout %v: must be more than 0", f.timeout)
	case f.image == "" && (f.memory != "" || f.cpu != ""):
		return nil, errors.New("--memory and --cpu are for --image: the file of a Job has its limits")
	}
	r := &tuneRequest{tuneFlags: f}
	if err := r.read(args); err != nil {
		return nil, err
	}
	if f.kubernetes != "" {
		t, err := patch.ParseTarget(f.kubernetes)
		if err != nil {
			return nil, fmt.Errorf("--kubernetes %w", err)
		}
		r.target = &t
	}
	texts := f.settings
	if len(texts) == 0 {
		texts = defaultSettings
	}
	settings := []trial.Setting{{}}
	for _, text := range texts {
		s, err := rounds.ParseSetting(text)
		if err != nil {
			return nil, err
		}
		settings = append(settings, s)
	}
	if f.seed == 0 {
		f.seed = mathrand.Uint64() >> 32
	}
	plan := &rounds.Plan{
		Settings: r.template.Within(settings), Rounds: f.rounds, Metric: f.metric, Higher: f.higher,
		Timeout: f.runTimeout, Budget: f.budget, Seed: f.seed, Stay: !f.keep,
	}
	r.spec = tunejob.JobSpec{
		Name: "folio-tune-" + strings.ToLower(rand.Text()[:8]), Namespace: f.namespace, Nodes: f.nodes, Plan: plan,
		Image: f.folioImage, Path: f.folioPath, Deadline: f.timeout,
	}
	return r, plan.Check()
}

// read reads what is to be tuned.
func (r *tuneRequest) read(args []string) (err error) {
	if r.image != "" {
		r.of = strings.Join(args, " ")
		r.template, err = tunejob.FromImage(r.image, args, r.memory, r.cpu)
		return err
	}
	if len(args) != 1 {
		return errors.New("want one file of a Job, or --image IMAGE -- command")
	}
	r.of = args[0]
	file := os.Stdin
	if args[0] != "-" {
		if file, err = os.Open(args[0]); err != nil {
			return err
		}
		defer file.Close()
	}
	r.template, err = tunejob.ReadTemplate(args[0], file, r.container)
	return err
}

func (f *tuneFlags) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	r, err := f.request(args)
	if err != nil {
		return &usage.Error{Err: err}
	}
	job, err := r.template.Job(r.spec)
	if err != nil {
		return err
	}
	if f.dryRun {
		data, err := yaml.Marshal(job)
		if err == nil {
			_, err = stdout.Write(data)
		}
		return err
	}
	var out *result.Output
	text := stdout
	if f.json != "" {
		if out, err = result.OpenOutput("--json", f.json, stdout); err != nil {
			return &usage.Error{Err: err}
		}
		if f.json == "-" {
			text = stderr
		}
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot use the Kubernetes API: %w", err)
	}
	t := &tunejob.Trial{
		Client: client, Job: job, Spec: r.spec, Container: r.template.Container,
		Every: 2 * time.Second, Patience: 3 * time.Minute, Keep: f.keep, Progress: tuneProgress(stderr, r.spec),
	}
	fmt.Fprintf(stderr, "Job %s in namespace %s: %s, %s of %s each\n", r.spec.Name, r.spec.Namespace,
		unit.Plural(f.nodes, "node"), unit.Plural(f.rounds, "round"), unit.Plural(len(r.spec.Plan.Settings), "setting"))
	nodes, runErr := t.Run(ctx)
	return errors.Join(runErr, r.conclude(nodes, out, text, runErr != nil))
}

// conclude prints and writes what was found; of a trial that failed, if it is anything.
func (r *tuneRequest) conclude(nodes []*tunejob.Node, out *result.Output, text io.Writer, failed bool) error {
	if failed && len(nodes) == 0 {
		return out.Close()
	}
	res := tunejob.Conclude(r.spec.Plan, nodes, r.template.MemoryLimit())
	res.Notes = r.template.Notes
	if failed {
		res.Notes = append(res.Notes, "the trial did not end as it should: this is what was measured until then")
	}
	err := res.Write(text)
	if r.target != nil && res.State == tunejob.Recommended {
		p, e := res.Patch(*r.target, r.of)
		if e == nil {
			_, e = io.WriteString(text, "\n"+p)
		}
		err = errors.Join(err, e)
	}
	if out != nil {
		data, e := json.MarshalIndent(tuneFile{Kind: "fleet-tune", Version: command.Version(), Seed: r.seed, Complete: !failed, Plan: r.spec.Plan, Result: res}, "", "  ")
		if e == nil {
			e = out.Write(append(console.JSON(data), '\n'))
		}
		err = errors.Join(err, e)
	}
	return errors.Join(err, out.Close())
}

// A tuneFile is the JSON of a trial.
type tuneFile struct {
	Kind     string       `json:"kind"`
	Version  string       `json:"version"`
	Seed     uint64       `json:"seed"`
	Complete bool         `json:"complete"`
	Plan     *rounds.Plan `json:"plan"`
	*tunejob.Result
}

// tuneProgress prints a line when there is something new, at most every 10 s.
func tuneProgress(stderr io.Writer, spec tunejob.JobSpec) func(tunejob.Progress) {
	last, said := "", time.Now()
	return func(p tunejob.Progress) {
		line := fmt.Sprintf("%s so far, on %s; %d on each of %d are wanted", unit.Plural(p.Rounds, "round"), unit.Plural(p.Nodes, "node"), spec.Plan.Rounds, spec.Nodes)
		if p.Waiting != "" {
			line += "; waiting: " + p.Waiting
		}
		if line == last || time.Since(said) < 10*time.Second {
			return
		}
		last, said = line, time.Now()
		fmt.Fprintln(stderr, console.Line(line))
	}
}
