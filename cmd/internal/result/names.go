package result

import "path/filepath"

// Names returns what a page calls result files: their names without the
// directories, where these differ.
func Names(paths []string) []string {
	count := make(map[string]int)
	for _, p := range paths {
		count[filepath.Base(p)]++
	}
	out := make([]string, len(paths))
	for i, p := range paths {
		switch out[i] = filepath.Base(p); {
		case p == "-":
			out[i] = "standard input"
		case count[out[i]] > 1:
			out[i] = filepath.Clean(p)
		}
	}
	return out
}
