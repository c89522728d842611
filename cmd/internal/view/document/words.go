package document

import (
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/internal/base/console"
)

// lower makes the first letter of a title lower case.
func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// upper makes the first letter of a sentence upper case.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return strings.ToUpper(string(r)) + s[n:]
}

// axisFormat is the format of an axis for a figure.
func axisFormat(key string) string {
	if k := figure.KindOf(key); k != figure.Rate {
		return string(k)
	}
	return Count
}

func join(words []string) string { return strings.Join(words, ", ") }

// IsDetail says that a sentence belongs to the one before: the lab sets such
// ones in.
func IsDetail(s string) bool { return strings.HasPrefix(s, "  ") }

// clean makes what cannot be seen visible, in all strings that v reaches:
// control characters, and those that turn the direction of text, with which a
// name could look like another one. It leaves bytes as they are.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			clean(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Uint8 {
				return
			}
			clean(v.Index(i))
		}
	case reflect.String:
		if s := v.String(); console.Escape(s) != s {
			v.SetString(console.Escape(s))
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
