package console

import "testing"

// The line of progress ends with a part of it, or a word, however narrow the terminal.
func TestFitLine(t *testing.T) {
	const text = "round 3, run 17, 9 settings in the race: GOGC=off GOMEMLIMIT=14GiB"
	for width, want := range map[int]string{
		100: text, 66: text, 65: "round 3, run 17, 9 settings in the race…",
		40: "round 3, run 17, 9 settings in the race…", 39: "round 3, run 17…",
		17: "round 3, run 17…", 16: "round 3, run 17…", 10: "round 3…", 3: "ro…", 1: "", 0: "", -1: "",
	} {
		if got := fitLine(text, width); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
	if got := fitLine("größe größe", 8); got != "größe…" {
		t.Errorf("%q", got)
	}
}
