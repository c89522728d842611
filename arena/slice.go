package arena

import (
	"reflect"
	"strings"
	"unsafe"
)

// MakeSlice returns a slice of zero values in the arena. It panics like make if
// len or cap are out of range. Growing it beyond its capacity with the
// built-in append moves it to the heap; see Append.
func MakeSlice[T any](a *Arena, len, cap int) []T {
	if cap < 0 || len < 0 || len > cap {
		panic("arena: MakeSlice: len or cap out of range")
	}
	h := handle[T](a)
	if cap == 0 {
		return []T{}
	}
	return h.take(cap)[:len]
}

// Append appends as the built-in append does, but a slice that has no room grows in the arena:
// in place, if it was the last of its type that the arena allocated, else as a copy. s may be
// nil or from elsewhere.
func Append[T any](a *Arena, s []T, values ...T) []T {
	return AppendSlice(a, s, values)
}

// AppendSlice is Append for the elements of a slice.
func AppendSlice[T any](a *Arena, s, values []T) []T {
	a.use("Append")
	n := len(s) + len(values)
	if n <= cap(s) {
		return append(s, values...)
	}
	if n < 0 {
		panic("arena: AppendSlice: len out of range")
	}
	h := handle[T](a)
	if t := h.extend(s, n); t != nil {
		return append(t, values...)
	}
	room := n
	if c := cap(s); c < 1024 {
		room = max(n, 2*c, 4)
	} else if c <= maxInt/2 {
		room = max(n, c+c/4)
	}
	t := h.take(room)[:len(s)]
	copy(t, s)
	return append(t, values...)
}

// extend returns s with a capacity of n, in place, or nil.
func (h *Handle[T]) extend(s []T, n int) []T {
	if cap(s) == 0 {
		return nil
	}
	l := h.stock().slabs
	if l == nil || unsafe.Sizeof(*new(T)) == 0 {
		return nil
	}
	from := len(l.buf) - unused[T](&h.core) - cap(s)
	if from < 0 || &l.buf[from] != unsafe.SliceData(s) || n > len(l.buf)-from {
		return nil
	}
	h.at += uintptr(n-cap(s)) * unsafe.Sizeof(s[0])
	return l.buf[from : from+len(s) : from+n]
}

// String returns a copy of s in the arena.
func String(a *Arena, s string) string {
	if s == "" {
		a.use("String")
		return ""
	}
	b := handle[byte](a).take(len(s))
	copy(b, s)
	// Safety: nobody has b, and the string keeps the slab alive.
	return unsafe.String(&b[0], len(b))
}

// Bytes returns a copy of b in the arena; nil for nil.
func Bytes(a *Arena, b []byte) []byte {
	if len(b) == 0 {
		a.use("Bytes")
		return b[:0:0]
	}
	c := handle[byte](a).take(len(b))
	copy(c, b)
	return c
}

// Clone returns a shallow copy on the heap of what a pointer points to, of the
// elements of a slice or of a string, which may then outlive the arena. T must be a
// pointer, a slice or a string; otherwise Clone panics. What the copy
// points to is not copied.
//
// Unlike that of Go's experimental package, it also copies what is not in an arena, since
// slabs are ordinary memory and cannot be told apart.
func Clone[T any](v T) T {
	if s, ok := any(&v).(*string); ok {
		*s = strings.Clone(*s)
		return v
	}
	r := reflect.ValueOf(&v).Elem()
	switch r.Kind() {
	case reflect.Pointer:
		if !r.IsNil() {
			p := reflect.New(r.Type().Elem())
			p.Elem().Set(r.Elem())
			r.Set(p.Convert(r.Type()))
		}
	case reflect.Slice:
		if !r.IsNil() {
			s := reflect.MakeSlice(r.Type(), r.Len(), r.Len())
			reflect.Copy(s, r)
			r.Set(s)
		}
	case reflect.String:
		r.SetString(strings.Clone(r.String()))
	default:
		panic("arena: Clone only supports pointers, slices, and strings")
	}
	return v
}
