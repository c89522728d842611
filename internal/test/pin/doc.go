// Package pin keeps a process on one CPU, so that a server and what puts it under load do
// not take turns on the same one.
package pin
