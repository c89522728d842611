package testenv

import (
	"fmt"
	"reflect"
	"strings"
)

// Dump writes all that a value holds, behind pointers and in fields of its own too, for tests
// that compare it with itself later. Of functions, channels and what was written already it
// has that there is one.
func Dump(v any) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(v), make(map[uintptr]bool))
	return b.String()
}

func dump(b *strings.Builder, v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			fmt.Fprintf(b, "(%t)", v.IsNil())
			return
		}
		seen[v.Pointer()] = true
		dump(b, v.Elem(), seen)
	case reflect.Interface:
		dump(b, v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			fmt.Fprintf(b, " %s:", v.Type().Field(i).Name)
			dump(b, v.Field(i), seen)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			b.WriteByte(' ')
			dump(b, v.Index(i), seen)
		}
	case reflect.Map, reflect.Func, reflect.Chan:
		fmt.Fprintf(b, "(%t)", v.IsNil())
	default:
		fmt.Fprintf(b, "%v", v)
	}
}
