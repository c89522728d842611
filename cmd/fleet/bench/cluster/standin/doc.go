// Package standin stands in for the kubelet where there is no container runtime: it runs the
// pods of a node as processes of this machine, without isolation, and serves their logs. It
// is for tests and benchmarks of what creates pods, with client-go's fake or a real API
// server.
//
// It knows what such pods need: init containers, commands, variables, emptyDir volumes,
// restarts, deletion. Paths of an image are looked up in a directory that is given for it.
package standin
