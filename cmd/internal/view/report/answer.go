package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Said is an answer of a search in words. All of it was decided by package tune.
type Said struct {
	Goal      string   // of tune's
	Set       string   // what to do, a sentence
	Figure    string   // what it gains, alone: "-31.2%"; "" for nothing
	Gain      string   // the same with its interval, and from what to what
	Cost      string   // in memory
	Notes     []string // what else to know
	More      []string // and why, for who wants to know all
	Line      string   // to paste into a shell; "" where nothing is to be changed
	Permanent []string
	Arm       *result.Arm // nil where nothing was measured
}

// Ended says why a search ended, "" where the answer says it.
func Ended(f *result.File) string {
	if f.Answer != nil && (f.Answer.State == result.AnswerTooLittle || f.Answer.State == result.AnswerConclusive && f.Ended == string(result.AnswerConclusive)) {
		return ""
	}
	return f.Ended
}

// Answers returns the answers of a search, the main one first, and how sure it is, in a
// line: the only one of a view that says so. It is "" where nothing was compared.
func Answers(f *result.File) (answers []Said, sure string) {
	a := f.Answer
	if a == nil || a.State == result.AnswerTooLittle || len(f.Recommendations) == 0 || len(f.Arms) == 0 {
		return []Said{{Set: "Nothing was compared: " + cmp.Or(f.Ended, "too little was measured") + "."}}, ""
	}
	for i, rec := range f.Recommendations {
		s := saidOf(f, rec)
		if i == 0 {
			s.Set = mainAnswer(f, rec)
		}
		if i > 0 && rec.Arm == f.Recommendations[0].Arm {
			if a.State == result.AnswerInconclusive && rec.Arm == f.Arms[0].Name {
				continue
			}
			answers[0].Notes = append(answers[0].Notes, "It is also the "+goalText(f, rec.Goal)+".")
			continue
		}
		if i == 0 {
			if text := delaysAnswer(f, s.Arm); text != "" {
				s.Notes = append(s.Notes, text)
			}
		}
		answers = append(answers, s)
	}
	switch a.State {
	case result.AnswerInconclusive:
		sure = openText(f)
		if by := a.ByCPU; by != nil && by.Arm != answers[0].Arm.Name {
			answers = append(answers, cpuAnswer(f, by))
		}
	case result.AnswerConclusive:
		sure = conclusive(f)
	}
	return answers, sure
}

// byCPU is the goal of a setting that is better by CPU time, where wall time cannot tell.
const byCPU = "By CPU time, which is steadier"

func cpuAnswer(f *result.File, by *result.CPUChange) Said {
	arm := armOf(f, by.Arm)
	return Said{Goal: byCPU, Set: arm.Name, Figure: change(by.Ratio), Gain: "CPU time " + Change(by.Ratio),
		Line: f.Program.Line(arm.Setting.Trial()), Notes: ofThisInput(f, arm.Setting), Arm: arm}
}

// ofThisInput warns of a memory limit that was laid around the heap of this run. Within the limit of a
// container it is what keeps the program from being killed.
func ofThisInput(f *result.File, s result.Setting) []string {
	limited := f.Program.Limits != nil && f.Program.Limits.Memory != nil
	if s.MemLimit == nil || limited || f.Arms[0].Setting.MemLimit != nil {
		return nil
	}
	what := "input"
	if f.Program.Requests != nil || f.Program.Load != "" {
		what = "load"
	}
	return []string{fmt.Sprintf("GOMEMLIMIT=%s fits this %s: with a larger live heap the GC takes up to half of the CPU time.", unit.Exact(*s.MemLimit), what)}
}

// goalText names a goal in the middle of a sentence.
func goalText(f *result.File, goal string) string {
	switch goal {
	case result.GoalCheapest:
		return "setting with the least memory within 2% of the best"
	case result.GoalCompromise:
		return "cheaper compromise"
	case result.GoalUnlimited:
		return "best setting without GOMEMLIMIT"
	}
	return "best setting"
}

var headings = map[string]string{
	result.GoalFastest: "Best", result.GoalCheapest: "Least memory within 2% of the best",
	result.GoalCompromise: "Cheaper", result.GoalUnlimited: "Without GOMEMLIMIT",
}

// Heading names a goal above its answer.
func Heading(goal string) string {
	if h := headings[goal]; h != "" {
		return h
	}
	return goal
}

// NothingToSearch begins the answer for a command that starts no Go program.
const NothingToSearch = "Nothing to search"

// mainAnswer says what to do.
func mainAnswer(f *result.File, rec result.Recommendation) string {
	switch {
	case rec.Arm != f.Arms[0].Name:
		return setText(rec.Setting, rec.Arm)
	case f.Answer.State == result.AnswerNoEffect:
		if strings.HasPrefix(f.Answer.Inert, "no Go program") {
			return NothingToSearch + ": " + f.Answer.Inert + "."
		}
		return "Keep the default: " + f.Answer.Inert + "."
	case f.Answer.State == result.AnswerInconclusive:
		return "Inconclusive: no setting is known to be better than the default."
	}
	return fmt.Sprintf("Keep the default: no setting is better by more than %.0f%%.", 100*f.Metric.Spec().Margin())
}

func saidOf(f *result.File, rec result.Recommendation) Said {
	arm, def := armOf(f, rec.Arm), &f.Arms[0]
	s := Said{Goal: rec.Goal, Set: rec.Arm, Line: rec.ShellLine, Permanent: rec.Permanent, Arm: arm, Figure: change(rec.Ratio),
		Notes: ofThisInput(f, rec.Setting)}
	if arm.Final == nil || def.Final == nil {
		return s
	}
	spec := f.Metric.Spec()
	if arm == def {
		s.Gain = fmt.Sprintf("%s %s, peak RSS %s", f.Metric.Label(), Metric(spec, def.Final.Adjusted), memory(def.Final.Memory))
		if def.Growing() {
			s.Gain += " and still growing"
		}
	} else {
		s.Gain = fmt.Sprintf("%s %s: %s instead of %s", f.Metric.Label(), Change(rec.Ratio),
			Metric(spec, arm.Final.Adjusted), Metric(spec, def.Final.Adjusted))
		s.Cost = fmt.Sprintf("peak RSS %s: %s instead of %s", memoryChange(rec.Memory), memory(arm.Final.Memory), memory(def.Final.Memory))
		if arm.Growing() {
			s.Cost = fmt.Sprintf("peak RSS still growing: %s so far, default %s", memory(arm.Final.Memory), memory(def.Final.Memory))
		}
		if text := taxChange(def, arm); text != "" && rec.Goal == result.GoalFastest {
			s.Notes = append(s.Notes, text)
		}
		if what := removed(def.Profile, arm.Profile, 3); what != "" && rec.Goal == result.GoalFastest {
			s.More = append(s.More, "CPU time: "+what+".")
		}
	}
	if arm.Growing() {
		s.Notes = append(s.Notes, "Fewer than two GC cycles ended under load: what memory it takes shows with a longer load.")
	}
	if n := len(rec.Tied); n > 0 && rec.Goal == result.GoalFastest {
		what := unit.Plural(n, "other setting") + " (=) cannot be told apart from it"
		if rec.Least && arm != def {
			what += "; none takes less memory"
		}
		s.Notes = append(s.Notes, what+".")
	}
	if less := rec.Saves; less != nil && rec.Goal == result.GoalFastest {
		size := less.Memory
		if a := armOf(f, less.Arm); arm == def && a.Final != nil { // as the table has it
			size = a.Final.MemoryRatio
		}
		s.More = append(s.More, fmt.Sprintf("%s (?) takes less memory and may be as good: peak RSS %s against %s.", less.Arm, memoryChange(size), rec.Arm))
	}
	return s
}

// taxChange says what a setting does to the memory tax, by samples; "" where there are
// too few.
func taxChange(def, arm *result.Arm) string {
	if !def.Profile.Shares() || !arm.Profile.Shares() || min(def.Profile.Samples, arm.Profile.Samples) < result.EnoughSamples {
		return ""
	}
	now, before := unit.Percent(*arm.Profile.MemoryTaxFraction), unit.Percent(*def.Profile.MemoryTaxFraction)
	if now == before {
		return ""
	}
	return fmt.Sprintf("Memory tax: %s of CPU time instead of %s.", now, before)
}

// memoryChange prints what a setting does to the memory.
func memoryChange(e *result.Estimate) string {
	switch {
	case e == nil:
		return none
	case !e.Different:
		return "not measurably different"
	}
	return unit.Change(e.Ratio)
}

func armOf(f *result.File, name string) *result.Arm {
	for i := range f.Arms {
		if f.Arms[i].Name == name {
			return &f.Arms[i]
		}
	}
	return &f.Arms[0]
}

func memory(v *float64) string {
	if v == nil {
		return none
	}
	return unit.Bytes(*v)
}

// conclusive says how sure an answer is that nothing keeps open.
func conclusive(f *result.File) string {
	text := "Conclusive after " + unit.Plural(finalRounds(f), "round")
	if f.Recommendations[0].Arm == f.Arms[0].Name {
		return text + "."
	}
	others := "no other setting of the final"
	if slices.ContainsFunc(f.Arms, func(a result.Arm) bool { return OverLimit(&a) != "" }) {
		others += " within the limits"
	}
	return text + fmt.Sprintf(": %s is better by more than %.0f%%.", others, 100*f.Metric.Spec().Margin())
}

// openText says how far the answer is from being conclusive.
func openText(f *result.File) string {
	a := f.Answer
	what := unit.Plural(finalRounds(f), "round") + " in the final are too few to tell"
	if a.UpTo > 0 && a.Rounds > 0 {
		what = fmt.Sprintf("up to %s better is still possible", unit.Percent(a.UpTo))
	}
	switch missed := untried(a.Untried); {
	case a.Untried > 0 && a.Rounds == 0: // those of the final are told apart
		what = missed
	case a.Untried > 0:
		what += ", and " + missed
	}
	if f.Recommendations[0].Arm == f.Arms[0].Name {
		what = strings.ToUpper(what[:1]) + what[1:]
	} else {
		what = "Better than the default, not known to be the best: " + what
	}
	long := f.ElapsedSeconds+a.Missing > result.MostAdvised.Seconds()
	switch {
	case long && a.Rounds == 0:
		what += "; a search of all takes more than an hour"
	case long:
		what += "; the machine is too noisy to decide within an hour: stop what else runs on it"
		if a.Try != "" {
			what += ". To try all settings, which alone decides nothing: " + a.Try
		}
	case strings.HasPrefix(a.Try, "--budget"): // which has the time so far in it
		what += "; " + a.Try + " would probably do"
	case a.Missing > 0 && finalRounds(f) < enoughRounds && a.Untried == 0:
		what += fmt.Sprintf("; %d rounds need about %s more (%s)", finalRounds(f)+a.Rounds, unit.About(time.Duration(a.Missing*float64(time.Second))), a.Try)
	case a.Missing > 0:
		what += fmt.Sprintf("; needs about %s more (%s)", unit.About(time.Duration(a.Missing*float64(time.Second))), a.Try)
	}
	return what + "."
}

// untried says how many settings there was no room for.
func untried(n int) string {
	return unit.Plural(n, "setting") + " not tried"
}

// enoughRounds is from how many rounds on it is known how much they differ, and so how many an
// answer takes.
const enoughRounds = 6

func finalRounds(f *result.File) int { return max(f.Rounds-f.RaceRounds, 0) }

// Change prints a ratio with its interval: "-31.2% [-36.0%, -27.4%]"; a difference
// that is not known to be one is "~" and its interval.
func Change(e *result.Estimate) string {
	if e == nil {
		return none
	}
	out := "~"
	if e.Different {
		out = change(e)
	}
	if e.Lo != nil && e.Hi != nil {
		out += fmt.Sprintf(" [%s, %s]", unit.Change(*e.Lo), unit.Change(*e.Hi))
	}
	return out
}

// change prints a ratio that is known to be a difference, "" otherwise.
func change(e *result.Estimate) string {
	if e == nil || !e.Different {
		return ""
	}
	return unit.Change(e.Ratio)
}

// OverLimit says by what a setting breaks a limit such as --max-p99; "" where it keeps to
// them.
func OverLimit(a *result.Arm) string {
	if a.Status == string(result.StatusOverLimit) || a.Final != nil && a.Final.Ratio == nil && a.Reason != "" {
		return "out: " + a.Reason
	}
	return ""
}

// LeftEarly says what is known of a setting that is not in the final.
func LeftEarly(a *result.Arm) string {
	switch {
	case a.Left != nil && a.Left.AtLeast > 0 && a.Left.SlowerThan == "default":
		return fmt.Sprintf("dropped early: at least %gx slower", a.Left.AtLeast)
	case a.Left != nil && a.Left.AtLeast > 0:
		return fmt.Sprintf("dropped early: at least %gx slower than the best", a.Left.AtLeast)
	case a.Left != nil:
		return strings.TrimSuffix("dropped early: "+a.Reason, ": ")
	case OverLimit(a) != "":
		return OverLimit(a)
	case strings.HasPrefix(a.Reason, "the same as "):
		return strings.TrimPrefix(a.Reason, "the ")
	case a.Status == string(result.StatusSame), a.Status == string(result.StatusFailed):
		return a.Status + ": " + a.Reason
	}
	return ""
}
