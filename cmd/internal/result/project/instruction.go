package project

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// An instruction is one of a Dockerfile.
type instruction struct {
	word string // in upper case
	line int    // where it begins, from 1
	span        // its lines, without a heredoc
	args span   // what follows the word
}

// A stage is the instructions from one FROM on.
type stage []instruction

var (
	escapeDirective = regexp.MustCompile(`^\s*#\s*(?i:escape)\s*=\s*(\S)`)
	heredoc         = regexp.MustCompile(`<<(-?)["']?([A-Za-z_]\w*)["']?`)
)

// instructions reads a Dockerfile. plain is the text with comments and ends of line within
// instructions as spaces.
func instructions(text []byte) (plain []byte, list []instruction) {
	plain = bytes.Clone(text)
	escape, directives := byte('\\'), true
	open := false // an instruction goes on
	var until string
	var tabs bool // of the heredoc
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			plain[i] = ' '
		}
	}
	at, number := 0, 0
	var waiting [][][]byte // heredocs that follow
	for raw := range bytes.Lines(text) {
		from := at
		at += len(raw)
		number++
		line := bytes.TrimRight(raw, " \t\r\n")
		if until != "" {
			end := string(bytes.TrimRight(raw, "\r\n"))
			if tabs {
				end = strings.TrimLeft(end, "\t")
			}
			if end == until {
				until, tabs, waiting = nextHeredoc(waiting)
			}
			continue
		}
		text := bytes.TrimSpace(line)
		if m := escapeDirective.FindSubmatch(line); directives && m != nil {
			escape = m[1][0]
		}
		directives = directives && len(text) > 0 && text[0] == '#'
		if len(text) == 0 || text[0] == '#' {
			if open {
				blank(from, at)
			}
			continue
		}
		if !open {
			word, _, _ := bytes.Cut(bytes.ReplaceAll(text, []byte("\t"), []byte(" ")), []byte(" "))
			start := from + bytes.Index(raw, word)
			list = append(list, instruction{word: strings.ToUpper(string(word)), line: number, span: span{from, at}, args: span{start + len(word), at}})
		}
		last := &list[len(list)-1]
		last.to, last.args.to = at, at
		if open = line[len(line)-1] == escape; open {
			blank(from+len(line)-1, at)
			continue
		}
		if last.word == "RUN" || last.word == "COPY" || last.word == "ADD" {
			until, tabs, waiting = nextHeredoc(heredoc.FindAllSubmatch(plain[last.args.from:last.args.to], -1))
		}
	}
	return plain, list
}

func nextHeredoc(all [][][]byte) (until string, tabs bool, rest [][][]byte) {
	if len(all) == 0 {
		return "", false, nil
	}
	return string(all[0][2]), len(all[0][1]) > 0, all[1:]
}

// stages splits instructions; what stands before the first FROM is in none.
func stages(list []instruction) (out []stage) {
	for _, i := range list {
		if i.word == "FROM" {
			out = append(out, nil)
		}
		if len(out) > 0 {
			out[len(out)-1] = append(out[len(out)-1], i)
		}
	}
	return out
}

// last returns the last instruction of a word, which is the one that counts.
func (s stage) last(word string) *instruction {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].word == word {
			return &s[i]
		}
	}
	return nil
}

// An element is a string of an exec form.
type element struct {
	value string
	span
}

// elements returns the strings of an exec form; ok is false for a shell form.
func elements(plain []byte, args span) (list []element, ok bool) {
	raw := plain[args.from:args.to]
	var all []string
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		from := int(dec.InputOffset())
		t, err := dec.Token()
		if err != nil {
			return list, true
		}
		if value, ok := t.(string); ok {
			from += bytes.IndexByte(raw[from:], '"')
			list = append(list, element{value, span{args.from + from, args.from + int(dec.InputOffset())}})
		}
	}
}
