// Package quiet keeps other work on the machine away from a measurement. With
// FOLIO_BENCH_LOCK=FILE a benchmark holds flock(2) on FILE while it measures, so
// that builds and tests started with
//
//	flock -s FILE.gate true && flock -s FILE COMMAND
//
// wait for it, and it waits for them. FILE.gate is what keeps those that come
// later from passing a benchmark that waits. Every minute and a half it lets
// the others through.
package quiet

import (
	"os"
	"time"
)

// quantum is how long the machine is held at most, but for the trial then
// running; pause gives those who wait the time to wake up.
const (
	quantum = 90 * time.Second
	pause   = 300 * time.Millisecond
)

// A Machine is held for the trials of a benchmark. The zero value does as
// FOLIO_BENCH_LOCK says.
type Machine struct {
	held  []*os.File
	since time.Time
}

// Trial runs one trial with the machine held. The lock goes with the process.
func (m *Machine) Trial(f func() error) error {
	if err := m.hold(); err != nil {
		return err
	}
	return f()
}

func (m *Machine) hold() error {
	path := os.Getenv("FOLIO_BENCH_LOCK")
	if path == "" {
		return nil
	}
	if len(m.held) > 0 {
		if time.Since(m.since) < quantum {
			return nil
		}
		m.Release()
		time.Sleep(pause)
	}
	for _, name := range []string{path + ".gate", path} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		m.held = append(m.held, f)
		if err := lock(f); err != nil {
			m.Release()
			return err
		}
	}
	m.since = time.Now()
	return nil
}

// Release lets the others through, while a benchmark builds, and at its end.
func (m *Machine) Release() {
	for _, f := range m.held {
		f.Close() // which unlocks
	}
	m.held = nil
}
