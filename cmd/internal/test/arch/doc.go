// Package arch holds no code. Its tests keep the structure that
// docs/architecture.md describes: who may import whom, what the packages that
// users import may pull into their programs, and how large a file may grow.
package arch
