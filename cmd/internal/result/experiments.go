package result

import "github.com/foliomem/folio/cmd/internal/lab"

// A ListedExperiment is what the list of experiments says of one.
type ListedExperiment struct {
	Name, Family, Question, Source string // the family is a name for several; "" for none
	Size, Quick                    uint64 // bytes
	Apart                          bool   // only when it is named
	Arms                           [][2]string
}

// Experiments lists experiments of the lab, with their arms on a machine.
func Experiments(all []*lab.Experiment, m *lab.Machine) (out []ListedExperiment) {
	for _, e := range all {
		size := e.Size()
		l := ListedExperiment{Name: e.Name, Family: e.Family, Question: e.Question, Source: e.Source, Size: size[0], Quick: size[1], Apart: e.Apart}
		for _, a := range e.List(m) {
			about := a.About
			switch {
			case a.NotRun != "":
				about += " (not here: " + a.NotRun + ")"
			case len(a.Changes) > 0:
				about += " (needs --allow-system)"
			}
			l.Arms = append(l.Arms, [2]string{a.Name, about})
		}
		out = append(out, l)
	}
	return out
}
