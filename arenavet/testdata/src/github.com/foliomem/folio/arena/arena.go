// Package arena has the names of Folio's.
package arena

type Arena struct{ _ int }
type Options struct{ Name string }
type Stats struct{ Used uint64 }
type Pool struct{ Options *Options }
type Handle[T any] struct{ a *Arena }

func NewArena() *Arena                               { return new(Arena) }
func NewArenaWith(o *Options) *Arena                 { return new(Arena) }
func (a *Arena) Free()                               {}
func (a *Arena) Reset()                              {}
func (a *Arena) Stats() Stats                        { return Stats{} }
func (p *Pool) Get() *Arena                          { return new(Arena) }
func (p *Pool) Put(a *Arena)                         {}
func New[T any](a *Arena) *T                         { return new(T) }
func Of[T any](a *Arena) *Handle[T]                  { return &Handle[T]{a} }
func (h *Handle[T]) New() *T                         { return new(T) }
func MakeSlice[T any](a *Arena, len, cap int) []T    { return make([]T, len, cap) }
func Append[T any](a *Arena, s []T, values ...T) []T { return append(s, values...) }
func AppendSlice[T any](a *Arena, s, values []T) []T { return append(s, values...) }
func String(a *Arena, s string) string               { return s }
func Bytes(a *Arena, b []byte) []byte                { return b }
func Clone[T any](v T) T                             { return v }
