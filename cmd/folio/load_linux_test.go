package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Ctrl-C ends a load with what was measured until then.
func TestLoadInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1<<16)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	defer s.Close()
	c := newChild(t, "load", "--rate", "200", "--duration", "1h", "--json", "f.json", s.URL)
	c.start()
	for range 50 {
		<-asked
	}
	c.signal(syscall.SIGINT)
	c.end(exitInterrupted)
	if out := c.stdout.String(); !strings.Contains(out, "\nNot completed: Interrupted. This is what was known by then.\n") || !strings.Contains(out, "\n  p50 ") {
		t.Error("what is known is not shown")
	}
	if c.stderr.Len() > 0 {
		t.Errorf("standard error: %q", &c.stderr)
	}
	var r struct {
		Complete                    bool
		Intended, Succeeded, Failed int64
		Failures                    struct{ Unanswered int64 }
	}
	data, err := os.ReadFile(c.path("f.json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || r.Complete || r.Succeeded == 0 || r.Intended < 50 || r.Intended != r.Succeeded+r.Failed || r.Failed != r.Failures.Unanswered {
		t.Errorf("%+v, %v", r, err)
	}
}
