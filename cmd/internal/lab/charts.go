package lab

import "strings"

// A Chart is a picture of an experiment's figures, as a page draws it.
type Chart struct {
	// Over is what the figures are drawn over: see the constants.
	Over  string `json:"over" redact:"keep"`
	Title string `json:"title" redact:"keep"`
	// Figures are the keys of what is drawn; several only over arms.
	Figures []string `json:"figures" redact:"keep"`
	Label   string   `json:"label,omitempty" redact:"keep"` // of the axis of the figures; "" for the figure's own
	Scale   string   `json:"scale" redact:"keep"`           // of the same: linear, log, log2
	Caption string   `json:"caption,omitempty" redact:"prose"`
	// Listed says that a table below has what is drawn, by size.
	Listed bool `json:"listed,omitempty"`
	// Reference names figures that were published elsewhere, which a page draws beside
	// them; "" for none.
	Reference string `json:"reference,omitempty" redact:"keep"`
}

// What charts are drawn over: sizes of memory, with a line for each arm; arms, with a bar
// for each; or what arms vary, with a line for each work.
const (
	OverSizes      = "sizes"
	OverArms       = "arms"
	OverGOGC       = VariesGOGC
	OverGoroutines = VariesGoroutines
)

// Scales of charts.
const (
	linear = "linear"
	log    = "log"
	log2   = "log2"
)

func sizesChart(title, figure string) Chart {
	return Chart{Over: OverSizes, Title: title, Figures: []string{figure}, Scale: log}
}

func armsChart(title, scale string, figures ...string) Chart {
	c := Chart{Over: OverArms, Title: title, Figures: figures, Scale: scale}
	if scale == log {
		c.Caption = "On a logarithmic scale."
	}
	return c
}

// Drawn returns the experiment's charts. Where it declares none, its times are drawn
// together, and its sizes.
func (e *Experiment) Drawn() []Chart {
	if e.charts != nil {
		return e.charts
	}
	var times, sizes []string
	for _, f := range e.Figures {
		switch {
		case strings.HasSuffix(f.Key, "_seconds"):
			times = append(times, f.Key)
		case strings.HasSuffix(f.Key, "_bytes"):
			sizes = append(sizes, f.Key)
		}
	}
	var out []Chart
	if len(times) > 0 {
		out = append(out, armsChart("Times", log, times...))
	}
	if len(sizes) > 0 {
		out = append(out, armsChart("Memory", linear, sizes...))
	}
	return out
}

// pagesChart is one of the two charts of reads.
func pagesChart(title, figure, reference string) Chart {
	c := sizesChart(title, figure)
	c.Label, c.Listed, c.Reference = "time for each read", true, reference
	return c
}

func chartsOfMadvise() []Chart {
	other := sizesChart("Meanwhile, the first write to other memory, for each base page", "other_seconds")
	other.Reference = "madvise"
	return []Chart{sizesChart("Returning memory to the OS and using it again, for each base page", "cycle_seconds"), other}
}

func chartsOfFaults() []Chart {
	c := sizesChart("Time to write to fresh memory", "total_seconds")
	c.Label, c.Reference = "time in all", "faults"
	return []Chart{c}
}

func chartsOfGOGC() []Chart {
	ops := func(over, title, reference string) Chart {
		return Chart{Over: over, Title: title, Figures: []string{opsKey}, Label: "operations/s, more is better", Scale: log, Reference: reference}
	}
	return []Chart{
		ops(OverGoroutines, "Throughput against goroutines, default GOGC", "goroutines"),
		ops(OverGOGC, "Throughput against GOGC", "gogc"),
		{Over: OverGOGC, Title: "Peak memory against GOGC", Figures: []string{rssKey}, Label: "peak RSS", Scale: log2},
	}
}

// chartsOfArenas are time, memory and faults of each way to allocate.
func chartsOfArenas(reference string) []Chart {
	out := []Chart{
		armsChart("Time", linear, "wall_seconds", "user_seconds", "system_seconds"),
		armsChart("Peak memory", linear, "peak_rss_bytes"),
		armsChart("Page faults", log, "faults"),
	}
	for i := range out {
		out[i].Reference = reference
	}
	return out
}
