// Package page has the names of Folio's.
package page

type Options struct{}
type Mapping struct{ b []byte }

func Map(size int, o *Options) (*Mapping, error) { return &Mapping{make([]byte, size)}, nil }
func (m *Mapping) Bytes() []byte                 { return m.b }
func (m *Mapping) Len() int                      { return len(m.b) }
func (m *Mapping) Close() error                  { return nil }
