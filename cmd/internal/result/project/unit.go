package project

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial"
)

const (
	dropIn  = "folio.conf" // in UNIT.d
	service = "[Service]\n"
)

// units gives each systemd unit of the directory a drop-in.
func (p *planner) units() error {
	pattern := "*.service"
	if p.Remove {
		pattern = "*.service.d/" + dropIn // a unit may be gone
	}
	names, err := filepath.Glob(filepath.Join(p.dir, pattern))
	if err != nil {
		return err
	}
	for _, path := range names {
		name := filepath.Base(path)
		if p.Remove {
			name = strings.TrimSuffix(filepath.Base(filepath.Dir(path)), ".d")
		}
		if err := p.unit(name); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) unit(name string) error {
	file := filepath.Join(name+".d", dropIn)
	old, err := p.read(file)
	if err != nil {
		return err
	}
	at, own := findBlock(old)
	if p.Remove {
		if own {
			rest := apply(old, edit{span: at})
			if text := strings.TrimSpace(string(rest)); text == "" || text+"\n" == service {
				rest = nil
			}
			p.change(file, old, rest)
		}
		return nil
	}
	if old != nil && !own {
		p.note("%s: not changed: %s exists, and is not by folio init", name, file)
		return nil
	}
	unit, err := p.read(name)
	if err != nil {
		return err
	}
	lines := p.serviceLines(name, string(unit))
	if lines == nil {
		return nil
	}
	p.Set++
	text := block("\n", lines...)
	if own {
		p.change(file, old, apply(old, edit{at, text}))
	} else {
		p.change(file, old, []byte(service+text))
	}
	return nil
}

// start is an ExecStart=: prefixes that systemd knows, the program, and its arguments.
var start = regexp.MustCompile(`^([-@:+!|]*)("[^"]*"|'[^']*'|[^\s"']+)(\s[\s\S]*)?$`)

// serviceLines returns the lines for a unit; nil if nothing is to be done, which has been said.
func (p *planner) serviceLines(name, unit string) []string {
	starts := execStarts(unit)
	if len(starts) == 0 {
		p.note("%s: not changed: it has no ExecStart=", name)
		return nil
	}
	words, vars := p.Setting.Exec()
	if p.Setting.THP != trial.THPHeap {
		vars = p.Setting.Vars()
	}
	lines := []string{"ExecStart="}
	goes := 0
	for _, value := range starts {
		m := start.FindStringSubmatch(value)
		if m == nil || strings.Contains(m[1], "@") {
			p.note("%s: not changed: ExecStart=%s is not a plain command", name, value)
			return nil
		}
		program := strings.Trim(m[2], `"'`)
		if args := strings.Fields(m[3]); filepath.Base(program) == "folio" && len(args) > 0 && args[0] == "exec" {
			p.Set++
			p.note("%s: not changed: ExecStart= has folio exec already", name)
			return nil
		}
		why, ok := p.goProgram(program)
		if !ok {
			p.note("%s: not changed: %s", name, why)
		} else {
			p.note("%s: ExecStart=%s: %s", name, program, why)
			goes++
			value = m[1] + strings.Join(words, " ") + " " + m[2] + m[3]
		}
		lines = append(lines, "ExecStart="+value)
	}
	if goes == 0 {
		return nil
	}
	if p.Setting.THP != trial.THPHeap {
		lines = nil
	} else if strings.Contains(unit, "\nSystemCallFilter=") {
		p.note("%s: folio exec needs ptrace, which SystemCallFilter= may deny; the program then runs unchanged", name)
	}
	for _, v := range vars {
		lines = append(lines, "Environment="+v)
	}
	return lines
}

// execStarts returns the values of ExecStart= in the section Service, with the ends of line that
// they have.
func execStarts(unit string) (values []string) {
	section, open := "", false
	for line := range strings.Lines(unit) {
		text := strings.TrimSpace(line)
		comment := strings.HasPrefix(text, "#") || strings.HasPrefix(text, ";")
		switch value, ok := strings.CutPrefix(text, "ExecStart"); {
		case open && (comment || text == ""):
			continue
		case open:
			values[len(values)-1] += "\n" + strings.TrimRight(line, " \t\r\n")
		case strings.HasPrefix(text, "["):
			section = text
			continue
		case section != "[Service]" || !ok || !strings.HasPrefix(strings.TrimSpace(value), "="):
			continue
		default:
			value = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(value), "="))
			if value == "" {
				values = nil
				continue
			}
			values = append(values, value)
		}
		open = strings.HasSuffix(text, `\`)
	}
	return values
}
