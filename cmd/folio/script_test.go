//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/test/testenv"
)

// scriptCommands are the scripts' own commands.
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"code":      cmdCode,
	"folioline": cmdFolioLine,
	"json":      cmdJSON,
	"order":     cmdOrder,
	"bench":     cmdBench,
	"noleft":    cmdNoLeft,
	"pid":       cmdPID,
	"need":      cmdNeed,
	"tinydisk":  cmdTinyDisk,
}

func scriptUsage(ts *testscript.TestScript, neg bool, args []string, least int, text string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", text)
	}
}

// cmdCode runs a command that must end with an exit code.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	scriptUsage(ts, neg, args, 2, "code N command args...")
	err, got := ts.Exec(args[1], args[2:]...), 0
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		got = ee.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// cmdFolioLine checks that exactly one line of standard error is folio's, and
// with -alone that there is no other.
func cmdFolioLine(ts *testscript.TestScript, neg bool, args []string) {
	alone := len(args) > 0 && args[0] == "-alone"
	if alone {
		args = args[1:]
	}
	scriptUsage(ts, neg, args, 1, "folioline [-alone] pattern")
	text := ts.ReadFile("stderr")
	var own []string
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "folio: ") {
			own = append(own, l)
		}
	}
	if len(own) != 1 || !regexp.MustCompile(args[0]).MatchString(own[0]) {
		ts.Fatalf("lines of folio: %q; want one that matches %s", own, args[0])
	}
	if alone && text != own[0]+"\n" {
		ts.Fatalf("there is more on standard error:\n%s", text)
	}
}

// cmdJSON checks a value in a JSON file: keys are joined by dots, a number is an
// index, * is every element (of at least one), and len the length.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	scriptUsage(ts, neg, args, 3, "json file path ==|!=|>|<|matches|is value")
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	var doc any
	ts.Check(dec.Decode(&doc))
	if dec.More() {
		ts.Fatalf("%s: more than one JSON value", args[0])
	}
	values, err := lookup(doc, strings.Split(args[1], "."))
	if err != nil {
		ts.Fatalf("%s: %s: %v", args[0], args[1], err)
	}
	for _, v := range values {
		if err := judge(v, args[2], strings.Join(args[3:], " ")); err != nil {
			ts.Fatalf("%s: %s: %v", args[0], args[1], err)
		}
	}
}

type absent struct{}

func lookup(v any, path []string) ([]any, error) {
	if len(path) == 0 {
		return []any{v}, nil
	}
	key, rest := path[0], path[1:]
	switch v := v.(type) {
	case map[string]any:
		if key == "len" {
			return []any{json.Number(strconv.Itoa(len(v)))}, nil
		}
		e, ok := v[key]
		if !ok {
			return []any{absent{}}, nil
		}
		return lookup(e, rest)
	case []any:
		if key == "len" {
			return []any{json.Number(strconv.Itoa(len(v)))}, nil
		}
		if key == "*" {
			var out []any
			for _, e := range v {
				more, err := lookup(e, rest)
				if err != nil {
					return nil, err
				}
				out = append(out, more...)
			}
			if len(out) == 0 {
				return nil, errors.New("no element")
			}
			return out, nil
		}
		i, err := strconv.Atoi(key)
		if err != nil || i >= len(v) {
			return nil, fmt.Errorf("no element %s of %d", key, len(v))
		}
		return lookup(v[i], rest)
	}
	return nil, fmt.Errorf("no %s in %v", key, v)
}

func judge(v any, op, want string) error {
	text := fmt.Sprint(v)
	ok := false
	switch op {
	case "==":
		ok = text == want
	case "!=":
		ok = text != want
	case "matches":
		ok = regexp.MustCompile(want).MatchString(text)
	case ">", "<":
		x, err1 := strconv.ParseFloat(text, 64)
		y, err2 := strconv.ParseFloat(want, 64)
		ok = err1 == nil && err2 == nil && (op == ">" && x > y || op == "<" && x < y)
	case "is":
		kind := "object"
		switch v.(type) {
		case nil:
			kind = "null"
		case absent:
			kind = "absent"
		case json.Number:
			kind = "number"
		case string:
			kind = "string"
		case bool:
			kind = "bool"
		case []any:
			kind = "array"
		}
		ok = kind == want
	default:
		return fmt.Errorf("unknown operator %q", op)
	}
	if !ok {
		return fmt.Errorf("is %#v, want %s %s", v, op, want)
	}
	return nil
}

// cmdOrder checks that two searches ran the same settings in the same order.
func cmdOrder(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] order file file")
	}
	var orders [2][]string
	for i, name := range args {
		var doc struct {
			Arms []struct {
				Name    string
				Samples []struct{ Sequence int }
			}
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &doc))
		type run struct {
			seq  int
			name string
		}
		var runs []run
		for _, a := range doc.Arms {
			for _, s := range a.Samples {
				runs = append(runs, run{s.Sequence, a.Name})
			}
		}
		slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.seq, b.seq) })
		for j, r := range runs {
			if r.seq != j+2 { // the first is the warm-up
				ts.Fatalf("%s: run %d has sequence %d", name, j, r.seq)
			}
			orders[i] = append(orders[i], r.name)
		}
	}
	if same := slices.Equal(orders[0], orders[1]); same == neg {
		ts.Fatalf("orders:\n%q\n%q", orders[0], orders[1])
	}
}

// cmdBench checks a file in the Go benchmark format with the reader that
// benchstat uses.
func cmdBench(ts *testscript.TestScript, neg bool, args []string) {
	scriptUsage(ts, neg, args, 3, "bench file results|key|unit|name value [pattern]")
	r := benchfmt.NewReader(strings.NewReader(ts.ReadFile(args[0])), args[0])
	n, found := 0, false
	for r.Scan() {
		res, ok := r.Result().(*benchfmt.Result)
		if !ok {
			if _, units := r.Result().(*benchfmt.UnitMetadata); units {
				continue
			}
			ts.Fatalf("%v", r.Result())
		}
		n++
		switch args[1] {
		case "key":
			v := res.GetConfig(args[2])
			if v == "" || len(args) > 3 && !regexp.MustCompile(args[3]).MatchString(v) {
				ts.Fatalf("%s: %s: key %s is %q", args[0], res.Name, args[2], v)
			}
			found = true
		case "unit":
			_, ok := res.Value(args[2])
			found = found || ok
		case "name":
			found = found || res.Name.String() == args[2]
		}
	}
	ts.Check(r.Err())
	switch {
	case args[1] == "results":
		if strconv.Itoa(n) != args[2] {
			ts.Fatalf("%s: %d results, want %s", args[0], n, args[2])
		}
	case !found:
		ts.Fatalf("%s: no %s %s in %d results", args[0], args[1], args[2], n)
	}
}

// cmdNoLeft checks that no process of the script is left.
func cmdNoLeft(ts *testscript.TestScript, neg bool, args []string) {
	scriptUsage(ts, neg, args, 0, "noleft")
	if left := processesWith("WORK=" + ts.Getenv("WORK")); len(left) > 0 {
		ts.Fatalf("processes left: %q", left)
	}
}

// scriptT is the key of a script's testscript.T.
const scriptT = "T"

// cmdNeed skips the rest of a script where root, sampling, collapse or tree is not to be had, or
// fails it, as testenv.Missing does.
func cmdNeed(ts *testscript.TestScript, neg bool, args []string) {
	scriptUsage(ts, neg, args, 1, "need root|sampling|collapse|tree")
	var err error
	switch args[0] {
	case "root":
		if os.Geteuid() != 0 {
			err = errors.New("needs root")
		}
	case "sampling":
		err = perf.Check()
	case "collapse":
		err = trial.MayCollapse()
	case "tree":
		err = errors.Join(trial.SeesTree(), trial.MayTrace())
	default:
		ts.Fatalf("unknown need %q", args[0])
	}
	if err == nil {
		return
	}
	if testenv.NoSkip() && !testenv.AsRoot("TestScripts/"+ts.Name()) {
		ts.Fatalf("needed here: %v", err)
	}
	ts.Value(scriptT).(testscript.T).Skip(err)
}

// cmdTinyDisk mounts a file system that its only file fills: need root.
func cmdTinyDisk(ts *testscript.TestScript, neg bool, args []string) {
	scriptUsage(ts, neg, args, 1, "tinydisk dir")
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8k"))
	ts.Defer(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	ts.Check(os.WriteFile(dir+"/old.json", bytes.Repeat([]byte("old\n"), 2048), 0o644))
}
