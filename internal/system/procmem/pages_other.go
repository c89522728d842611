//go:build !linux

package procmem

type pages struct{}

func openPages(string) (*pages, error) { return nil, errNotCounted }
func (*pages) Close() error            { return nil }
func (*pages) count(*Mapping) error    { return errNotCounted }
func (*pages) alive(uint64) error      { return errNotCounted }
