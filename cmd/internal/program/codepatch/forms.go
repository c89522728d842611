package codepatch

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

// The directory forms has the listings of the functions, as the releases that
// are named above each have them. cmd/bench/exec/versions writes it.
//
//go:embed forms/*.txt
var formFiles embed.FS

// A form is one known listing of a function.
type form struct {
	function string
	releases string
	text     string
}

var readForms = sync.OnceValues(func() (map[string][]form, error) {
	out := map[string][]form{}
	for _, p := range processors {
		data, err := formFiles.ReadFile("forms/" + p.name + ".txt")
		if err != nil {
			return nil, err
		}
		if out[p.name], err = parseForms(string(data)); err != nil {
			return nil, fmt.Errorf("forms/%s.txt: %w", p.name, err)
		}
	}
	return out, nil
})

// parseForms reads a file of forms: each begins with "func NAME: RELEASES" and
// ends with an empty line.
func parseForms(data string) (out []form, err error) {
	for i, line := range strings.Split(data, "\n") {
		head, isHead := strings.CutPrefix(line, "func ")
		switch {
		case isHead:
			name, releases, ok := strings.Cut(head, ": ")
			if !ok {
				return nil, fmt.Errorf("line %d: %q", i+1, line)
			}
			out = append(out, form{function: name, releases: releases})
		case line == "" || line[0] == '#':
		case len(out) == 0:
			return nil, fmt.Errorf("line %d: %q before the first function", i+1, line)
		default:
			out[len(out)-1].text += line + "\n"
		}
	}
	return out, nil
}

// match returns "" if the listing of this function is known, else how it
// differs from the known form that begins like it for longest.
func match(arch, function string, l listing) (difference string, err error) {
	forms, err := readForms()
	if err != nil {
		return "", err
	}
	text := l.String()
	best := -1
	for _, f := range forms[arch] {
		if f.function != function {
			continue
		}
		if f.text == text {
			return "", nil
		}
		if n, how := differ(f, text); n > best {
			best, difference = n, how
		}
	}
	if best < 0 {
		return "none is known for " + arch, nil
	}
	return difference, nil
}

// differ tells how many instructions of a text are those of a form, and what
// comes then.
func differ(f form, text string) (n int, how string) {
	known, found := strings.Split(f.text, "\n"), strings.Split(text, "\n")
	for n < len(known) && n < len(found) && known[n] == found[n] {
		n++
	}
	line := func(l []string) string {
		if n < len(l) && l[n] != "" {
			return l[n]
		}
		return "the end"
	}
	return n, fmt.Sprintf("instruction %d is %q, in %s %q", n, line(found), f.releases, line(known))
}
