package report

// TextOptions say how a text is laid out.
type TextOptions struct {
	// Width is how many columns tables, bars and plots may take; 0 when that is not known.
	Width int
	// Brief is the answer of a run alone.
	Brief bool
	// All lists the settings of a search that are not in its final, too.
	All bool
}
