package result

import (
	"maps"
	"reflect"
	"slices"
)

// Treated says that redacttable.go has a field.
func Treated(field string) bool { return treatments[field] != nil }

// TreatedFields are all that it has.
func TreatedFields() []string { return slices.Sorted(maps.Keys(treatments)) }

// Kept says that a text stays as it is.
func Kept(field string) bool {
	return reflect.ValueOf(treatments[field]).Pointer() == reflect.ValueOf(keep).Pointer()
}
