package waterfall

// sum adds up the parts.
func sum(w *Waterfall) (n int64) {
	for _, p := range w.Parts {
		n += p.Bytes
	}
	return n
}
