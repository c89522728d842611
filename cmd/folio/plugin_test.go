package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/base/console"
)

// TestPluginHelp: the help of a command whose program is not installed is no failure.
func TestPluginHelp(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, args := range [][]string{{"fleet", "--help"}, {"agent", "-h"}} {
		var out, errs bytes.Buffer
		root := newRoot(&app{stdout: console.New(&out), stderr: console.New(&errs)})
		root.SetOut(&out)
		root.SetArgs(args)
		if err := root.ExecuteContext(context.Background()); err != nil || !strings.Contains(out.String(), "folio-"+args[0]) {
			t.Errorf("%q: %v\n%s%s", args, err, out.String(), errs.String())
		}
	}
}
