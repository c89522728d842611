package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestTable makes the table again.
func TestTable(t *testing.T) {
	testenv.FullOnly(t)
	want, err := table(context.Background(), goversion.SupportOf(goversion.Waterfall).Releases())
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	have, err := os.ReadFile("../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what go run ./cmd/bench/layouts writes", file)
	}
}

func TestWrite(t *testing.T) {
	a := column{"go1.98/amd64", map[string]string{"mheap": "0:8"}, "0 8", []string{"", "IO wait"}}
	text, err := write([]column{a, {"go1.99/amd64", nil, "0 8", nil}})
	if err != nil || !strings.Contains(string(text), "size_classes 0 8\n") || !strings.Contains(string(text), "wait_reasons go1.98 |IO wait\n") || !strings.Contains(string(text), "go1.98/amd64 go1.99/amd64\n") ||
		!strings.Contains(string(text), "0:8          -") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := write([]column{a, {"go1.99/amd64", nil, "0 16", nil}}); err == nil {
		t.Errorf("different size classes: %s", text)
	}
}
