package result

import "github.com/foliomem/folio/cmd/internal/result/diagnose"

// Delayed returns what advice on the slow requests of an arm goes by.
func (f *File) Delayed(a *Arm) diagnose.Delayed {
	p := &f.Program
	out := diagnose.Delayed{Delays: a.Delays, Patches: p.Patches}
	if len(p.Command) > 0 {
		out.Program = p.Command[0]
	}
	if p.Build != nil {
		out.Package, out.Patches = p.Build.Package, p.Build.Patches
	}
	return out
}

// advise works out the advice of a search, of its default.
func (f *File) advise() {
	f.Advice = nil
	if len(f.Arms) == 0 {
		return
	}
	if step, ok := f.Delayed(&f.Arms[0]).Advise(); ok {
		f.Advice = append(f.Advice, step)
	}
}
