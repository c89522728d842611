package console

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns a text of which a terminal obeys nothing, and of which what is seen
// is what is there: control characters, characters that turn the direction of what
// follows or that cannot be seen, and bytes that are not UTF-8, are written as \x1b,
// \u202e and the like. Ends of lines and tabs stay.
func Escape(s string) string { return escape(s, false) }

// Line is Escape for a text that must stay in its line and column: ends of lines and
// tabs are written as \n and \t.
func Line(s string) string { return escape(s, true) }

// Width returns how many columns a text takes that [Line] has returned.
func Width(s string) int { return utf8.RuneCountInString(s) }

// JSON escapes what JSON allows in strings and a terminal would obey. The document
// stays the same.
func JSON(data []byte) []byte {
	if clean(data, false) {
		return data
	}
	var b strings.Builder
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case !hidden(r) || r == utf8.RuneError && n == 1 || data[i] < ' ':
			b.Write(data[i : i+n])
		case r > 0xffff:
			high, low := (r-0x10000)>>10, (r-0x10000)&0x3ff
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+high, 0xdc00+low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return []byte(b.String())
}

func escape(s string, line bool) string {
	if clean(s, line) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t':
			if !line {
				b.WriteRune(r)
			} else if r == '\n' {
				b.WriteString(`\n`)
			} else {
				b.WriteString(`\t`)
			}
		case !hidden(r):
			b.WriteString(s[i : i+n])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// clean reports whether there is nothing to escape, as in nearly all texts.
func clean[T string | []byte](s T, line bool) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c == 0x7f || c < ' ' && (line || c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}

// hidden reports whether a character is one that is obeyed or that cannot be seen:
// controls (C0, DEL, C1), the format characters, and the separators of lines and
// paragraphs. Two format characters are needed to write Persian and to join emoji.
func hidden(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != nonJoiner && r != joiner
}
