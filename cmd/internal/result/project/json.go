package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A member is a member of a JSON object, by where it is in the text.
type member struct {
	name       string
	key, value span
}

var errNotObject = errors.New("not a JSON object")

// members returns the members of an object in valid JSON.
func members(text []byte, object span) (list []member, err error) {
	dec := json.NewDecoder(bytes.NewReader(text[object.from:object.to]))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotObject
	}
	end := func() int { return object.from + int(dec.InputOffset()) }
	for dec.More() {
		from := end()
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: t.(string)}
		m.key = span{from + bytes.IndexByte(text[from:], '"'), end()}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		m.value = span{end() - len(bytes.TrimLeft(text[m.key.to:end()], " \t\r\n:")), end()}
		list = append(list, m)
	}
	return list, nil
}

// find returns the member of a name: the last one counts.
func find(list []member, name string) (member, bool) {
	for _, m := range slices.Backward(list) {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// rawOffset returns where in a JSON string, with its quotes, an offset of its value is.
func rawOffset(raw []byte, offset int) int {
	at := 1
	for offset > 0 && at < len(raw)-1 {
		size := 1
		switch {
		case raw[at] != '\\':
			_, size = utf8.DecodeRune(raw[at:])
		case raw[at+1] != 'u':
			size = 2
		default:
			size = 6
			if pair := raw[at:min(at+12, len(raw)-1)]; len(pair) == 12 && utf8.RuneCountInString(decode(pair)) == 1 {
				size = 12
			}
		}
		offset -= len(decode(raw[at : at+size]))
		at += size
	}
	return at
}

// decode returns the value of what is between the quotes of a JSON string.
func decode(raw []byte) (s string) {
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &s) // it is valid
	return s
}

// spaceBefore is the white space in front of an offset.
func spaceBefore(text []byte, at int) string {
	return string(text[len(bytes.TrimRight(text[:at], " \t\r\n")):at])
}

// line returns a member that is written as another one.
func line(text []byte, like member, name, value string) string {
	return fmt.Sprintf("%q%s%s", name, text[like.key.to:like.value.from], value)
}

// addMember adds npmPackage to list, the members of dev, where npm sorts it.
func addMember(text []byte, dev member, list []member, version string) edit {
	version = fmt.Sprintf("%q", version)
	if len(list) == 0 {
		return edit{span{dev.value.from + 1, dev.value.from + 1}, line(text, dev, npmPackage, version)}
	}
	for _, m := range list {
		if m.name > npmPackage {
			return edit{span{m.key.from, m.key.from}, line(text, m, npmPackage, version) + "," + spaceBefore(text, m.key.from)}
		}
	}
	m := list[len(list)-1]
	return edit{span{m.value.to, m.value.to}, "," + spaceBefore(text, m.key.from) + line(text, m, npmPackage, version)}
}

// addObject adds an object with npmPackage behind the last member. There is space in it, by which
// removeMember knows it.
func addObject(text []byte, last member, name, version string) edit {
	space := spaceBefore(text, last.key.from)
	inner, outer := space+strings.TrimLeft(space, "\r\n"), space
	if space == "" {
		inner, outer = " ", " "
	}
	object := "{" + inner + line(text, last, npmPackage, fmt.Sprintf("%q", version)) + outer + "}"
	return edit{span{last.value.to, last.value.to}, "," + space + line(text, last, name, object)}
}

// removeMember removes list[i], a member of dev, and dev if addObject added it.
func removeMember(text []byte, top []member, dev member, list []member, i int) edit {
	m := list[i]
	switch {
	case i < len(list)-1:
		return edit{span: span{m.key.from, list[i+1].key.from}}
	case i > 0:
		return edit{span: span{list[i-1].value.to, m.value.to}}
	case spaceBefore(text, m.key.from) == "":
		return edit{span: span{m.key.from, m.value.to}}
	}
	k := slices.Index(top, dev)
	switch {
	case k > 0:
		return edit{span: span{top[k-1].value.to, dev.value.to}}
	case k < len(top)-1:
		return edit{span: span{dev.key.from, top[k+1].key.from}}
	}
	return edit{span: span{dev.key.from, dev.value.to}}
}
