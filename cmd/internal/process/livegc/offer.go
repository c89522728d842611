package livegc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Offer lists the Go programs of this user for a shell that completes a command line: their ids,
// each with a tab and its command.
func Offer(proc procmem.FS) (out []string) {
	pids, _ := proc.PIDs() // unknown: nothing is offered
	for _, pid := range pids {
		s, err := proc.Status(pid)
		if err != nil || s.UID == nil || *s.UID != os.Getuid() || pid == os.Getpid() {
			continue
		}
		if _, err := executable.ReadBuild(proc.ExePath(pid)); err != nil {
			continue
		}
		command, err := proc.Cmdline(pid)
		if err != nil || len(command) == 0 {
			continue
		}
		command[0] = filepath.Base(command[0])
		out = append(out, fmt.Sprintf("%d\t%s", pid, console.Line(shortened(strings.Join(command, " ")))))
	}
	return out
}

// shortened is the beginning of a text, as a shell has room for.
func shortened(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return text
}
