package result

// Treated says that the value of a tag redact is one that there is.
func Treated(how string) bool { return treatments[how] != nil }
