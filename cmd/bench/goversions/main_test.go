package main

import (
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

func TestVerdict(t *testing.T) {
	here := "." + runtime.GOOS + "-" + runtime.GOARCH
	old := "golang.org/toolchain v0.0.1-" + goversion.Newest() + here + " v0.0.1-go1.18beta1" + here +
		" v0.0.1-go1.99rc1" + here + " v0.0.1-go1.99.0.plan9-mips"
	if got := verdict(old); got != goversion.Newest()+" is the newest release" {
		t.Error(got)
	}
	got := verdict(old + " v0.0.1-go1.99.1" + here + " v0.0.1-go1.99.0" + here + " v0.0.1-go1.99.0" + here)
	if !strings.HasPrefix(got, "warning: go1.99.0, go1.99.1: newer than "+goversion.Newest()) {
		t.Error(got)
	}
}

// Without a proxy there is a warning, and no failure.
func TestNoProxy(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	if got := check(); !strings.HasPrefix(got, "warning: cannot ask for the releases of Go: ") {
		t.Error(got)
	}
}
