// Package commandtest tests what holds of every command of Folio: which command lines it
// refuses, and what its help says of flags.
package commandtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// badValues are values that no flag of a type takes.
var badValues = map[string][]string{
	"int":         {"", "x", "1.5", "1e9", "0x", "99999999999999999999", "1 2"},
	"uint64":      {"", "x", "-1", "1.5", "99999999999999999999"},
	"float64":     {"", "x", "1,5"},
	"duration":    {"", "x", "5", "-", "1h1", "99999999999999h"},
	"window":      {"", "x", "5", "-1d", "1m", "93d", "99999999999999h"},
	"bool":        {"maybe", "2"},
	"intSlice":    {"", "a", "1,,2", "1,x", "99999999999999999999"},
	"stringSlice": {`a"b`},
	"string":      {"", " ", "--", "--json"},
}

// goodValues are two values of each type: a flag with both is refused.
var goodValues = map[string][2]string{
	"int": {"1", "2"}, "uint64": {"1", "2"}, "float64": {"0.9", "0.8"}, "duration": {"1s", "2s"}, "window": {"1h", "2h"}, "string": {"a", "b"},
}

// A Program is a command line program.
type Program struct {
	Name string
	Root *cobra.Command
	Run  func(args []string) (code int, stdout, stderr string)
}

// Flags checks the help of each flag of each command: it says its default once, and none
// where that is nothing, and the name of its value is not a type of Go. It returns how
// many flags there are.
func (p Program) Flags(t *testing.T) int {
	t.Helper()
	return flags(t, p.Root)
}

func flags(t *testing.T, cmd *cobra.Command) (n int) {
	t.Helper()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		n++
		one := pflag.NewFlagSet(f.Name, pflag.ContinueOnError)
		one.AddFlag(f)
		text := strings.Join(strings.Fields(one.FlagUsages()), " ")
		if strings.Count(text, "(default") > 1 || strings.Contains(text, "(default )") {
			t.Errorf("%s: %s", cmd.CommandPath(), text)
		}
		if name, _ := pflag.UnquoteUsage(f); slices.Contains([]string{"string", "strings", "stringArray", "int", "ints", "uint", "float"}, name) {
			t.Errorf("%s: the value is called %s: %s", cmd.CommandPath(), name, text)
		}
	})
	for _, c := range cmd.Commands() {
		n += flags(t, c)
	}
	return n
}

// BadFlags checks that each bad value of each flag of each command is refused.
func (p Program) BadFlags(t *testing.T) {
	t.Helper()
	p.badFlags(t, p.Root, nil)
}

func (p Program) badFlags(t *testing.T, cmd *cobra.Command, path []string) {
	t.Helper()
	if cmd.DisableFlagParsing || cmd.Hidden || cmd.Name() == "completion" {
		return
	}
	with := func(args ...string) []string { return append(path[:len(path):len(path)], args...) }
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, value := range badValues[f.Value.Type()] {
			p.Refused(t, with("--"+f.Name+"="+value), "--"+f.Name)
		}
		if v, ok := goodValues[f.Value.Type()]; ok {
			p.Refused(t, with("--"+f.Name+"="+v[0], "--"+f.Name+"="+v[1]), "--"+f.Name+" "+v[0]+" and --"+f.Name+" "+v[1]+": give one")
		}
	})
	p.Refused(t, with("--nosuch"), "unknown flag --nosuch: see '"+p.Name)
	p.Refused(t, with("-%"), "unknown flag -%: see '"+p.Name)
	for _, c := range cmd.Commands() {
		p.badFlags(t, c, with(c.Name()))
	}
}

// Refused checks that a command line is refused with exit code 2 and one line that has
// the text want, names the program once, and has no words of the libraries that read flags.
func (p Program) Refused(t *testing.T, args []string, want string) {
	t.Helper()
	code, out, text := p.Run(args)
	switch {
	case code != 2 || out != "":
		t.Errorf("%q: exit code %d, standard output %q, %s", args, code, out, text)
	case !strings.HasPrefix(text, p.Name+": ") || strings.Count(text, "\n") != 1 || strings.HasPrefix(text, p.Name+": "+p.Name):
		t.Errorf("%q: not one line of %s: %q", args, p.Name, text)
	case !strings.Contains(text, want):
		t.Errorf("%q: %q does not say %q", args, text, want)
	}
	for _, words := range []string{"strconv", "invalid argument", "invalid syntax", "time: ", "shorthand", "parse error", "\x1b"} {
		if strings.Contains(text, words) {
			t.Errorf("%q: the words of a library: %q", args, text)
		}
	}
}
