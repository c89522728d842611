package trial

import "time"

// Everything that looks at the program from time to time does so on the beats
// of one clock: waking folio costs the program more than most looks do, and
// looks on the same beat share it.

// beat is the shortest time between two looks, other than the first.
const beat = 5 * time.Millisecond

// clockStart is any instant; beats are counted from it.
var clockStart = time.Now()

// untilTick returns how long to wait for a look in about d. Waits of 5, 10, 20,
// 40 ms and so on end on common beats.
func untilTick(d time.Duration) time.Duration { return tickAfter(time.Since(clockStart), d) }

// tickAfter returns the wait at the time now.
func tickAfter(now, d time.Duration) time.Duration {
	if d < beat {
		return d
	}
	every := beat
	for 2*every <= d {
		every *= 2
	}
	wait := every - now%every
	if wait < every/2 {
		wait += every
	}
	return wait
}
