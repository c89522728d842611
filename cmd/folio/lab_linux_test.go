package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// However folio ends, the system's settings are as they were before.
func TestLabRestoresSystem(t *testing.T) {
	const dir = "/sys/kernel/mm/transparent_hugepage/khugepaged/"
	files := []string{dir + "max_ptes_none", dir + "scan_sleep_millisecs", dir + "pages_to_scan"}
	testenv.Root(t, "to change settings of the system")
	settings := func() string {
		var all []string
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				testenv.Missing(t, "no khugepaged: %v", err)
			}
			all = append(all, strings.TrimSpace(string(data)))
		}
		return strings.Join(all, " ")
	}
	if f, err := os.OpenFile(files[1], os.O_WRONLY, 0); err != nil {
		testenv.Missing(t, "settings of the system cannot be changed here: %v", err)
	} else {
		f.Close()
	}
	before := settings()
	for _, tt := range []struct {
		sig  unix.Signal
		code int
	}{{unix.SIGINT, 130}, {unix.SIGTERM, 130}, {unix.SIGKILL, -1}, {unix.SIGABRT, 2}} {
		c := newChild(t, "lab", "--allow-system", "--size", "8MiB", "--rounds", "100000", "--json", "f.json", "bloat")
		c.start()
		if !testenv.Within(func() bool { return settings() != before }) {
			t.Fatalf("the settings stay %s", before)
		}
		c.signal(tt.sig)
		_ = c.cmd.Wait()
		if got := c.cmd.ProcessState.ExitCode(); got != tt.code {
			t.Errorf("%v: exit code %d, want %d", tt.sig, got, tt.code)
		}
		// After a kill the guard does it, a moment later.
		if !testenv.Within(func() bool { return settings() == before && len(processesWith(c.mark)) == 0 }) {
			t.Errorf("%v: settings %s, before %s; processes left: %q", tt.sig, settings(), before, processesWith(c.mark))
		}
		if text := c.stderr.String(); !strings.Contains(text, "bloat: --allow-system: write 10 to "+files[1]+" (now ") {
			t.Errorf("%v: what is changed was not announced: %q", tt.sig, text)
		}
	}
}
