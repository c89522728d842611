package console

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/foliomem/folio/internal/test/property"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain text, 12 µs ± 3%": "plain text, 12 µs ± 3%",
		"two\nlines\tand tabs":   "two\nlines\tand tabs",
		"\x1b]0;title\a":         `\x1b]0;title\x07`,
		"a\rb\bc\x7f\x00":        `a\x0db\x08c\x7f\x00`,
		"\u0085\u009b31m":        `\u0085\u009b31m`,
		"evil\u202efdp.exe":      `evil\u202efdp.exe`,
		"\u200e\u200f\u061c\u2066\u2067\u2068\u2069\u202a\u202b\u202c\u202d": `\u200e\u200f\u061c\u2066\u2067\u2068\u2069\u202a\u202b\u202c\u202d`,
		"\u2028\u2029\ufeff\U000e0041":                                       `\u2028\u2029\ufeff\U000e0041`,
		"cut \xe2\x80 here \xff":                                             `cut \xe2\x80 here \xff`,
		"日本語 é 👩\u200d💻 می\u200cخواهم █▏":                                    "日本語 é 👩\u200d💻 می\u200cخواهم █▏",
		"\xef\xbf\xbd": "\ufffd", // written out, it is a character like others
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Line("a\nb\tc\x1b"); got != `a\nb\tc\x1b` {
		t.Errorf("got %q", got)
	}
	if n := Width(Line("\x1b[1m")); n != 7 {
		t.Errorf("%d columns", n)
	}
}

// obeyed reports whether a text has what a terminal obeys, or cannot show.
func obeyed(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// Whatever is printed, in whatever pieces, nothing is obeyed, and nothing is lost.
func TestPrinterInPieces(t *testing.T) {
	property.Check(t, func(t *property.T) {
		var text []byte
		for _, part := range t.Strings("text", 40, "a", "\n", "\t", "\x1b[31m", "\a", "\u202e",
			"\u009b", "é", "日", "👩", "\xff", "\xe2\x80", "\xf0\x9f", "\x80", "\u2069") {
			text = append(text, part...)
		}
		var b bytes.Buffer
		p := New(&b)
		for rest := text; len(rest) > 0; {
			n := t.Int("n", 1, len(rest))
			if written, err := p.Write(rest[:n]); written != n || err != nil {
				t.Fatalf("%d, %v", written, err)
			}
			rest = rest[n:]
		}
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != Escape(string(text)) || obeyed(got) {
			t.Fatalf("%q: got %q", text, got)
		}
		if Escape(b.String()) != b.String() {
			t.Fatal("what is escaped is escaped again")
		}
		if line := Line(string(text)); strings.ContainsAny(line, "\n\t") || obeyed(line) {
			t.Fatalf("%q: in a line %q", text, line)
		}
	})
}

func TestPrinter(t *testing.T) {
	var b bytes.Buffer
	p := New(&b)
	if New(p) != p {
		t.Error("a printer of a printer is another")
	}
	if p.File() != nil {
		t.Error("a buffer is a file")
	}
	_, _ = p.Raw().Write([]byte("\x1b["))
	if err := p.ClearLine(); err != nil {
		t.Error(err)
	}
	if got := b.String(); got != "\x1b[\r\x1b[K" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	property.Check(t, func(t *property.T) {
		parts := []string{"\x1b", "\u202e\x7f", "\u0080", "\U000e0041", "plain", "👩", "\ufeff\"", ""}
		list := make([]any, 0)
		for _, part := range t.Strings("list", 20, parts...) {
			list = append(list, part)
		}
		want := map[string]any{strings.Join(t.Strings("key", 5, parts...), ""): list}
		data, err := json.MarshalIndent(want, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		got := JSON(data)
		if obeyed(string(got)) {
			t.Fatalf("%q", got)
		}
		var back, plain any
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if err := json.Unmarshal(data, &plain); err != nil || !reflect.DeepEqual(back, plain) {
			t.Fatalf("%q became %q", data, got)
		}
	})
}
