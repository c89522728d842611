package procmem

// Descendants returns the processes below pid, parents before their children,
// without pid itself. Zombies are among them, for a caller that reaps;
// [Stat.Zombie] tells. It looks at all processes once: what is forked meanwhile
// may be missing, so a caller that ends them asks again until none lives. pid 0
// is the calling process.
func (f FS) Descendants(pid int) ([]int, error) {
	if pid == 0 {
		s, err := f.Stat(0)
		if err != nil {
			return nil, err
		}
		pid = s.PID
	}
	all, err := scanProc(f, func(int) bool { return false })
	if err != nil {
		return nil, err
	}
	children := make(map[int][]int)
	for _, s := range all {
		children[s.PPID] = append(children[s.PPID], s.PID)
	}
	// The files are read one after another, so pids may have been used twice
	// and form a ring.
	seen := map[int]bool{pid: true}
	var found []int
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			if !seen[child] {
				seen[child] = true
				found = append(found, child)
				queue = append(queue, child)
			}
		}
	}
	return found, nil
}
