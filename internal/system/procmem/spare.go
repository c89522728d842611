package procmem

// SpareMemory returns the bytes that a program under test may take: with 70% of
// what is free, neither the machine nor this process's container comes near its
// end. Where neither tells, it is 70% of 4 GiB.
func (f FS) SpareMemory() uint64 {
	free := uint64(4 << 30)
	if m, err := f.Meminfo(); err == nil && m.MemAvailable != nil {
		free = *m.MemAvailable
	}
	if l, ok, err := f.MemoryLimit(0); err == nil && ok {
		free = min(free, l.Bytes)
	}
	return free / 10 * 7
}
