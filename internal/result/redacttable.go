package result

// treatments are those of all texts of results, by type and field. A text that is not here
// is left out; a test says so when a field is added. Texts that stay as they are consist of
// words of Folio, the Go runtime and the kernel, or are names that --redact keeps.
var treatments = map[string]treatment{
	"result.Header.Schema": keep, "result.Header.Kind": keep, "result.Header.Folio": keep,

	// The host.
	"host.Info.Name": drop, "host.Info.Kernel": kernel, "host.Info.OS": keep, "host.Info.Arch": keep, "host.Info.CPU": keep,
	"host.Info.THPDefrag": keep, "host.Info.THPEnabled": keep,

	// The program.
	"result.Program.Command": command, "result.Program.Input": blank, "result.Program.Ready": blank, "result.Program.Load": blank,
	"result.Program.GoVersion": keep, "result.Program.Module": file, "result.Program.Version": keep, "result.Program.BuildID": keep,
	"result.Build.Package": built, "result.Build.Patches": keep, "result.Build.Profile": blank, "result.Program.Patches": keep,
	"result.ArmBuild.GoVersion": keep, "result.ArmBuild.Experiments": keep, "result.ArmBuild.AMD64": keep, "result.ArmBuild.PGO": keep,
	"result.ArmBuild.Patches": keep, "result.ArmBuild.BuildID": keep,
	"variant.Build.Go": keep, "variant.Build.Experiments": keep, "variant.Build.AMD64": keep, "variant.Build.PGO": profiled, "variant.Build.Patches": keep,
	"result.Source.Commit": keep, "result.Source.Package": built, "result.Source.Revision": blank,
	"result.Setting.GOGC": keep, "result.Setting.THP": keep, "result.Setting.Env": env,
	"result.Target.Name": keep, "result.Target.Pattern": blank, "result.Target.Benchmarks": keep,

	// Results of run, tune and ab.
	"result.File.Error": prose, "result.File.Ended": prose, "result.File.Notes": prose,
	"result.Arm.Name": named, "result.Arm.Status": keep, "result.Arm.Reason": prose,
	"result.Recommendation.Arm": named, "result.Recommendation.Tied": named, "result.Recommendation.Undecided": named,
	"result.Recommendation.Goal": keep, "result.Recommendation.ShellLine": blank, "result.Recommendation.Permanent": prose,
	"result.Saving.Arm": named, "tune.Left.SlowerThan": named, "tune.BenchmarkChange.Name": keep,
	"tune.Step.What": named, "tune.Step.Arm": named, "tune.Step.Failed": prose,
	"tune.Answer.State": keep, "tune.Answer.Inert": prose, "tune.Answer.Try": keep,
	"result.AB.Error": prose, "result.AB.Input": blank, "result.AB.Notes": prose,
	"result.ABArm.Name": named, "result.ABArm.Env": env,
	"ab.ClassDiff.Class": keep, "ab.Figure.Key": keep, "ab.Figure.Unit": keep, "ab.Gate.Bound": prose, "ab.Gate.Key": keep,
	"ab.Gate.Verdict": keep, "ab.Result.Ended": keep, "ab.SiteDiff.Func": keep,
	"result.Interval.Warnings": keep, "result.Summary.Collector": prose,

	// Samples and profiles.
	"trial.Sample.Failure": prose, "trial.Sample.FailureKind": keep, "trial.Sample.GCTrace": keep, "trial.Sample.Listening": drop, "trial.Sample.Signal": keep,
	"trial.Sample.PeakRSSSource": keep, "trial.Sample.PeakTreeRSSSource": keep,
	"profile.ClassShare.Class": keep, "profile.FaultShare.Class": keep, "profile.Result.Notes": prose,
	"profile.Result.UncertainNames": prose, "profile.Site.File": file, "profile.Site.Func": keep,
	"profile.Function.Name": keep, "profile.Function.File": file, "profile.Self.Classes": keep,
	"profile.Tree.Unit":    keep,
	"diagnose.Analysis.GC": keep, "diagnose.Analysis.Nothing": prose, "diagnose.Analysis.Time": prose,
	"diagnose.NextStep.Evidence": prose, "diagnose.NextStep.Fix": line, "diagnose.NextStep.Rule": keep,
	"diagnose.NextStep.Source": keep, "diagnose.NextStep.What": prose,

	// The lab.
	"lab.Chart.Caption": prose, "lab.Chart.Figures": keep, "lab.Chart.Label": keep, "lab.Chart.Over": keep, "lab.Chart.Reference": keep,
	"lab.Chart.Scale": keep, "lab.Chart.Title": keep,
	"result.Lab.Error": prose, "result.Lab.Notes": prose,
	"result.LabArm.About": prose, "result.LabArm.Group": keep, "result.LabArm.Name": keep, "result.LabArm.NotRun": prose,
	"result.LabArm.Varies": keep, "result.LabArm.Work": keep, "result.LabChange.Path": prose, "result.LabChange.Value": prose,
	"result.LabDifference.Warnings": keep, "result.LabExperiment.Base": keep, "result.LabExperiment.Conclusions": prose,
	"result.LabExperiment.Curves": keep, "result.LabExperiment.Error": prose, "result.LabExperiment.Figure": keep,
	"result.LabExperiment.Name": keep, "result.LabExperiment.Notes": prose, "result.LabExperiment.Question": keep,
	"result.LabExperiment.Source": keep, "result.LabExperiment.Unit": keep, "result.LabFigure.Key": keep,
	"result.LabFigure.Label": keep, "result.LabFigure.Unit": keep, "result.LabSetting.How": keep, "result.LabSetting.Pages": keep,

	// Processes.
	"result.ProcessID.Command": command, "result.ProcessID.GoVersion": keep, "result.ProcessID.Module": file, "result.ProcessID.Name": keep,
	"result.Process.Hazards": prose, "result.Process.HeapPatch": keep, "result.Process.Notes": prose, "result.Process.Of": keep,
	"result.Process.Patches": keep, "result.Memory.Kind": keep,
	"result.MemoryLimit.Cgroup": drop, "result.PartOverTime.Kind": keep,
	"result.MemoryPart.Kind": keep, "result.MemoryPart.How": keep, "result.MemoryShare.Name": blank, "result.MemoryReading.What": keep,
	"result.NearPeak.Name": keep, "result.NearPeak.Why": prose,
	"result.MemoryAdvice.Rule": keep, "result.MemoryAdvice.What": prose, "result.MemoryAdvice.Means": prose, "result.MemoryAdvice.Do": prose,
	"result.MemoryAdvice.Code": prose, "result.MemoryAdvice.Subject": blank, "result.MemoryAdvice.See": keep, "result.MemoryClaim.Kind": keep,
	"result.Waterfall.Allocators": keep, "result.Waterfall.Notes": prose,
	"result.Policy.Defrag": keep, "result.Policy.Enabled": keep, "result.Policy.Means": prose,
	"result.Sites.Command": command, "result.Sites.GoVersion": keep, "result.Sites.Notes": prose,
	"result.SiteLine.Func": keep, "result.SiteLine.File": file, "result.HeapSite.Inside": keep, "result.HeapSite.Callers": keep,
	"result.GrowthSite.Inside": keep, "result.GrowthSite.Callers": keep, "result.GoroutineGroup.State": keep, "result.GoroutineGroup.Start": keep,
	"result.Leak.Kind": keep, "result.Leak.Inside": keep, "result.Leak.Callers": keep, "result.Leak.Title": keep, "result.Leak.Name": blank, "result.Leak.Start": keep,
	"result.Leak.State": keep, "result.Leaks.HeapUnjudged": keep,
	"result.Collapse.Command": command, "result.Collapse.GoVersion": keep, "result.Collapse.Name": keep,
	"result.Collapse.Notes": prose, "result.Collapse.Reason": prose,
	"result.Doctor.Notes": prose, "result.Doctor.THP": prose, "result.DoctorCheck.ID": keep, "result.DoctorCheck.Title": keep,
	"result.DoctorCheck.Scope": keep, "result.DoctorCheck.State": keep, "result.DoctorCheck.Why": prose,
	"result.DoctorProcess.Command": command, "result.DoctorProcess.GoVersion": keep, "result.DoctorProcess.Name": keep,
	"diagnose.Finding.Means": prose, "diagnose.Finding.Reference": keep, "diagnose.Finding.Rule": keep,
	"diagnose.Finding.Severity": keep, "diagnose.Finding.What": prose, "diagnose.Reading.From": prose,
	"diagnose.Reading.Says": prose, "diagnose.Step.Code": prose, "diagnose.Step.Do": prose,

	// Loads.
	"load.Settings.URLs": named, "load.Settings.Method": keep, "load.Settings.HeaderNames": blank, "load.Settings.HTTP": keep, "load.Settings.GRPC": blank,
	"load.Settings.Arrivals": keep, "load.RateStep.Verdict": keep, "load.ErrorText.Kind": keep, "delay.Answer.State": keep, "delay.Answer.Cause": keep,
	"delay.Share.Cause": keep, "delay.Overlap.Cause": keep, "load.ErrorText.Text": blank, "result.Load.Notes": prose,

	// Advice on arenas.
	"result.Suggest.Command": command, "result.Suggest.Notes": prose, "result.Suggest.Nothing": prose, "result.Suggest.Profile": blank,
	"result.CallSite.File": file, "result.CallSite.Func": keep, "result.CallSite.Inside": keep, "result.OtherSite.Why": prose,
	"result.Suggestion.Sketch": sketch, "result.Suggestion.Source": drop,
}
