package usage

import (
	"strings"

	"github.com/foliomem/folio/internal/base/console"
)

// asRoot begins the list of ways to get a capability in errors.
const asRoot = "(sudo; or "

// Message is an error as it is printed: in one line, or for a terminal of that width in several.
// Where root may do what was not permitted, the last of them is the command line as root.
func Message(text, command string, width int) []string {
	if width == 0 {
		return []string{"folio: " + text}
	}
	lines := console.Wrap("folio: ", "  ", strings.ReplaceAll(text, asRoot, "("), width)
	if strings.Contains(text, asRoot) {
		lines = append(lines, "  As root:", "    sudo folio "+command)
	}
	return lines
}
