//go:build !unix || aix || illumos

package host

// kernel returns "": the version is not known here.
func kernel() (string, error) { return "", nil }
