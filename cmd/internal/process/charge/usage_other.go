//go:build !linux

package charge

// system knows nothing: only Linux has cgroups.
type system struct{}

func (system) Mounted(string, uint64) (uint64, bool) { return 0, false }
func (system) File(string) (FileID, uint64, bool)    { return FileID{}, 0, false }
