package trial

import (
	"net/netip"
	"sync"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

// A witness notes which processes there were, and where a program listens, which tells a
// server.
type witness struct {
	fs    procmem.FS
	start time.Time
	told  bool // of every exec

	mu      sync.Mutex
	seen    map[int]bool // processes that lived at a look
	listens []netip.AddrPort
	again   time.Duration // when to look for them next, after the start
}

// listenFirst is when it is first asked where a program listens. Later looks come
// at twice the time: most servers listen from the start, and most programs never.
const listenFirst = time.Second

func newWitness(fs procmem.FS) *witness {
	return &witness{fs: fs, start: time.Now(), again: listenFirst, seen: make(map[int]bool)}
}

// look looks at the living processes of the tree.
func (w *witness) look(pids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pid := range pids {
		if w.told || w.seen[pid] {
			continue
		}
		// Before its exec, a process is its parent's program.
		if st, err := w.fs.Stat(pid); err == nil && !st.Forked {
			w.seen[pid] = true
		}
	}
	if since := time.Since(w.start); since >= w.again {
		w.again = 2 * since
		w.listen(pids)
	}
}

// mostListeners bounds how many processes are asked where they listen.
const mostListeners = 16

func (w *witness) listen(pids []int) {
	for _, pid := range pids[:min(len(pids), mostListeners)] {
		if addrs, err := w.fs.Listening(pid); err == nil && len(addrs) > 0 {
			w.listens = addrs
			return
		}
	}
}

// lookNow asks where the program listens before folio, or a signal, ends it.
func (w *witness) lookNow(pids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listen(pids)
}

// listening returns the addresses in words, nil if there are none.
func (w *witness) listening() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.listens {
		out = append(out, a.String())
	}
	return out
}

// processes counts the processes of the tree, 1 only if the program started none.
func (w *witness) processes(root int, tree *execTree, childless bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[root] = true
	if tree != nil {
		for pid := range tree.executed() {
			w.seen[pid] = true
		}
	}
	if len(w.seen) == 1 && !childless {
		return 2 // at least
	}
	return len(w.seen)
}
