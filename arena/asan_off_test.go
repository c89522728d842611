//go:build !asan

package arena

// asanEnabled is set when the tests run with the address sanitizer.
const asanEnabled = false
