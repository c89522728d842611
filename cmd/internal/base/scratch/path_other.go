//go:build unix && !linux

package scratch

const passThrough = 0
