package result

import (
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/lab"
	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/result/suggest"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/ab"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/live"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/system/cgroup"
)

// What results consist of, under the names by which those who show them know it: they
// need none of the packages that measured it.
type (
	Host   = host.Info
	Limits = cgroup.Limits
	Sample = trial.Sample
	Track  = trial.Track
	Series = trial.Series
	Rates  = trial.Rates
	Figure = trial.Figure
	Metric = metric.Spec

	Live         = live.Record
	LiveBlock    = live.Block
	LiveTimeline = live.Timeline

	Profile    = profile.Result
	CallTree   = profile.Tree
	Class      = profile.Class
	ClassInfo  = profile.ClassInfo
	ClassShare = profile.ClassShare
	Site       = profile.Site
	Analysis   = diagnose.Analysis
	NextStep   = diagnose.NextStep
	Noise      = stat.Noise

	Final    = tune.Final
	Estimate = tune.Estimate
	// CPUChange is what a setting does to the CPU time, where the metric does not decide.
	CPUChange = tune.CPUChange
	Status    = tune.Status

	ABResult     = ab.Result
	ABFigure     = ab.Figure
	ABUnit       = ab.Unit
	ABComparison = ab.Comparison
	ABProfile    = ab.Profile
	ABClass      = ab.ClassDiff
	ABSite       = ab.SiteDiff
	ABGate       = ab.Gate
	Verdict      = ab.Verdict

	Rule     = diagnose.Rule
	Scope    = diagnose.Scope
	Severity = diagnose.Severity
	State    = diagnose.State

	LabSizePoint = lab.Point
	LabChart     = lab.Chart

	CollapseOutcome = collapser.Outcome

	LoadSettings   = load.Settings
	LoadFailedKind = load.FailedKind
	LoadCounts     = load.Counts
	LoadLatency    = load.Latency
	LoadMerged     = load.Merged
	LoadIntervals  = load.Intervals
	LoadInterval   = load.Interval
	LoadOverTime   = load.OverTime

	Delays     = delay.Answer
	DelayShare = delay.Share
)

// What is known of the slow requests of a load.
const (
	DelayFound   = delay.Found
	DelayNone    = delay.None
	DelayUnclear = delay.Unclear
	DelayTooFew  = delay.TooFew
	DelayGCCycle = delay.Cycle
)

// WantedDifference is the one that [Noise.Needed] is about.
const WantedDifference = stat.Wanted

// Classes of allocated bytes by call path.
const (
	ClassFreed = string(suggest.Freed)
	ClassInUse = string(suggest.InUse)
)

// Metrics that have a name of their own.
const (
	MetricWall  = metric.Wall
	MetricCPU   = metric.CPU
	MetricBench = metric.Bench

	MetricCPUPerGiB     = metric.CPUPerGiB
	MetricCPUPerRequest = metric.CPUPerRequest
	MetricP50           = metric.P50
	MetricP99           = metric.P99
)

// Of settings and samples.
const (
	Off           = trial.Off // GOGC=off
	GCPartial     = trial.GCPartial
	EnoughSamples = trial.EnoughSamples
)

// LateStart is from when on the start of a request of a load counts as late.
const LateStart = load.LateStart

// Goals of a recommendation.
const (
	GoalFastest    = tune.Fastest
	GoalCheapest   = tune.Cheapest
	GoalCompromise = tune.Compromise
	GoalUnlimited  = tune.Unlimited
)

// How the answer of a search stands.
const (
	AnswerInconclusive = tune.Inconclusive
	AnswerConclusive   = tune.Conclusive
	AnswerNoEffect     = tune.NoEffect
	AnswerTooLittle    = tune.TooLittle
)

// MostAdvised is the longest search that a flag is advised for.
const MostAdvised = tune.MostAdvised

// What became of an arm of a search.
const (
	StatusEarly  = tune.Early
	StatusFailed = tune.Failed
	StatusSame   = tune.Same
	// StatusOverLimit: a run broke --max-rss, --max-p99 or --max-errors.
	StatusOverLimit = tune.OverLimit
)

// What notes of runs that all failed say, and how one begins where the load generator was late in all.
const (
	NoteFailed = trial.FailedNote
	NoteLate   = trial.NoneCounts
)

// Verdicts of a gate of folio ab, why it ended, what its figures count, and what a
// difference by class is of.
const (
	VerdictBeyond  = ab.Beyond
	VerdictWithin  = ab.Within
	VerdictNoisy   = ab.Noisy
	VerdictUnknown = ab.Unknown

	EndedPrecise   = ab.Precise
	EndedBudget    = ab.Budget
	EndedMaxRounds = ab.MaxRounds
	EndedStopped   = ab.Stopped

	UnitSeconds  = ab.Seconds
	UnitBytes    = ab.Bytes
	UnitFraction = ab.Fraction
	UnitCount    = ab.Count
	UnitOwn      = ab.Own
)

// What became of a check of folio doctor, how bad what it found is, and what it is about.
const (
	CheckFound        = diagnose.Found
	CheckClean        = diagnose.Clean
	CheckNotChecked   = diagnose.NotChecked
	CheckNotAsked     = diagnose.NotAsked
	CheckDoesNotApply = diagnose.DoesNotApply

	SeverityProblem = diagnose.Problem
	SeverityWarning = diagnose.Warning
	SeverityNote    = diagnose.Note

	ScopeHost      = diagnose.Host
	ScopeContainer = diagnose.Container
	ScopeProcess   = diagnose.OfProcess
	ScopeGo        = diagnose.OfGo
)

// DensityBins is how many steps [Windows.Density] has.
const DensityBins = inspect.Bins

// Where a heap was made to ask for huge pages: [Process.HeapPatch].
const (
	HeapInMemory = inspect.HeapMemory
	HeapInCopy   = inspect.HeapCopy
)

// What charts of an experiment are drawn over, see [LabChart], and what its arms that do
// the same work differ in.
const (
	OverSizes        = lab.OverSizes
	OverArms         = lab.OverArms
	VariesGOGC       = lab.VariesGOGC
	VariesGoroutines = lab.VariesGoroutines
)

// Classes of CPU time.
const (
	ClassGCMark       = profile.GCMark
	ClassGCAssist     = profile.GCAssist
	ClassGCSweep      = profile.GCSweep
	ClassAllocation   = profile.Allocation
	ClassZeroing      = profile.Zeroing
	ClassWriteBarrier = profile.WriteBarrier
	ClassGrowth       = profile.Growth
	ClassPageFaults   = profile.PageFaults
	ClassSyscalls     = profile.Syscalls
	ClassScheduler    = profile.Scheduler
	ClassProgram      = profile.Program
	ClassUnnamed      = profile.Unnamed
)

// Classes are all classes of CPU time, in their order.
var Classes = profile.Classes

// Figures are what samples have figures of, in their order.
var Figures = trial.Figures

// ShellLine returns a command as it is typed into a shell.
func ShellLine(command []string) string { return trial.Setting{}.Line(command) }

// Quote returns a word as it is typed into a shell.
func Quote(word string) string { return trial.Quote(word) }

// CommandName names a command.
func CommandName(command []string) string { return trial.CommandName(command) }

// SizePoints returns what a sample of the lab measured, by size.
func SizePoints(s *Sample) []LabSizePoint { return lab.Points(s) }

// Title names the kind of memory.
func (m Memory) Title() string { return inspect.KindTitle(m.Kind) }

// OfGoHeap says that the windows are of the Go heap, and not of all anonymous memory.
func (p *Process) OfGoHeap() bool { return p.Of != nil && *p.Of == inspect.GoHeap.String() }

// Pages says in a sentence what pages the process's memory is on; "" if that is not known.
func (p *Process) Pages() string {
	if p.Anonymous == nil || p.AnonymousHuge == nil {
		return ""
	}
	return inspect.Pages(*p.Anonymous, *p.AnonymousHuge)
}
