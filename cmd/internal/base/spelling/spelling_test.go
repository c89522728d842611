package spelling

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"json", "metric", "gomaxprocs", "go", "ready", "ready-timeout", "a", "pages", "madvise", "tune"}
	for wrong, want := range map[string]string{
		"jsn": "json", "metrics": "metric", "gomaxproc": "gomaxprocs", "ready-time": "ready-timeout", "Pages": "pages",
		"jsno": "json", "og": "go", "gogc": "", "madv": "madvise", "xyzzy": "", "q": "", "": "", "foo": "", "huge": "", "metirk": "metric",
	} {
		if got := Nearest(wrong, names); got != want {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
}
