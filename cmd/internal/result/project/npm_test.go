package project

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

const packages = `
-- node_modules/typescript/package.json --
{"name": "typescript", "optionalDependencies": {"@typescript/typescript-any": "7", "@typescript/typescript-none": "7"}}
-- node_modules/typescript/bin/tsc --
#!/usr/bin/env node
import "../lib/tsc.js";
-- node_modules/@typescript/typescript-any/package.json --
{}
-- node_modules/hugo-bin/package.json --
{}
-- node_modules/hugo-bin/cli.js --
#!/usr/bin/env node
-- node_modules/vite/package.json --
{"dependencies": {"esbuild": "1", "rollup": "1"}}
-- node_modules/vite/bin/vite.js --
#!/usr/bin/env node
-- node_modules/rollup/package.json --
{}
-- node_modules/rollup/dist/bin/rollup --
#!/usr/bin/env node
-- node_modules/esbuild/package.json --
{}
-- node_modules/.bin/tsgo --
#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\,/,g')")
exec node  "$basedir/../typescript/bin/tsc" "$@"
`

// npmProject returns a directory below packages as npm installs them.
func npmProject(t testing.TB) string {
	t.Helper()
	top := directory(t, t.TempDir(), packages)
	modules := filepath.Join(top, "node_modules")
	goProgram(t, filepath.Join(modules, "esbuild", "bin", "esbuild"))
	goProgram(t, filepath.Join(modules, "hugo-bin", "vendor", "hugo"))
	goProgram(t, filepath.Join(modules, "@typescript", "typescript-any", "lib", "tsc"))
	for name, to := range map[string]string{"tsc": "../typescript/bin/tsc", "esbuild": "../esbuild/bin/esbuild", "hugo": "../hugo-bin/cli.js",
		"vite": "../vite/bin/vite.js", "rollup": "../rollup/dist/bin/rollup"} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(modules, ".bin", name)); err != nil {
			testenv.Missing(t, "a symbolic link: %v", err)
		}
	}
	dir := filepath.Join(top, "app")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPackageJSON(t *testing.T) {
	const release = "v0.1.0"
	plain := Options{Setting: heap, Version: release}
	for name, c := range map[string]fileCase{
		"tsc": {plain, `-- package.json --
{
  "name": "app",
  "scripts": {
    "build": "tsc -p .",
    "test": "node --test"
  },
  "devDependencies": {
    "typescript": "^7.0.0"
  }
}
`, `-- package.json --
{
  "name": "app",
  "scripts": {
    "build": "folio-exec tsc -p .",
    "test": "node --test"
  },
  "devDependencies": {
    "@foliomem/folio": "~0.1.0",
    "typescript": "^7.0.0"
  }
}
`, []string{"package.json: script build: tsc starts ../node_modules/@typescript/typescript-any/lib/tsc, built with go1."}},
		"tabs, settings, and keys in their order": {
			Options{Setting: trial.Setting{THP: trial.THPHeap, GOGC: "400", MemLimit: 2 << 30}, Version: release},
			"-- package.json --\n{\n\t\"devDependencies\" : {\n\t\t\"@a/b\" : \"1\"\n\t},\n\n\t\"scripts\":{\"b\" :\"esbuild a.ts\" ,\"a\":\"\"}\n}",
			"-- package.json --\n{\n\t\"devDependencies\" : {\n\t\t\"@a/b\" : \"1\",\n\t\t\"@foliomem/folio\" : \"~0.1.0\"\n\t},\n\n\t\"scripts\":{\"b\" :\"folio-exec --gogc 400 --memlimit 2GiB -- esbuild a.ts\" ,\"a\":\"\"}\n}\n",
			[]string{"package.json: script b: esbuild is ../node_modules/esbuild/bin/esbuild, built with go1."}},
		"no huge pages": {Options{Setting: trial.Setting{GOGC: "off", MemLimit: 1 << 30}},
			`-- package.json --
{"scripts":{"a":"hugo"},"dependencies":{"@foliomem/folio":"^0.1.0"}}
`, `-- package.json --
{"scripts":{"a":"folio-exec --thp system --gogc off --memlimit 1GiB -- hugo"},"dependencies":{"@foliomem/folio":"^0.1.0"}}
`, []string{"package.json: script a: hugo starts ../node_modules/hugo-bin/vendor/hugo, built with"}},
		"shell": {plain, `-- package.json --
{"scripts": {
  "a": "NODE_ENV=production npx tsc -b && (cd x; esbuild \"a b\" | tee \u006cog) ; tsgo",
  "b": "npm exec -- tsc; npm run tsc; cross-env A=1 tsc; echo tsc; 'tsc'; $tsc",
  "c": "if true; then\n\ttsc\nfi", "d": "ä\ud83d\ude00\\\" && tsc", "e": 7, "f": "rollup -c"
}, "devDependencies": {}}
`, `-- package.json --
{"scripts": {
  "a": "NODE_ENV=production folio-exec npx tsc -b && (cd x; folio-exec esbuild \"a b\" | tee \u006cog) ; folio-exec tsgo",
  "b": "folio-exec npm exec -- tsc; npm run tsc; folio-exec cross-env A=1 tsc; echo tsc; 'tsc'; $tsc",
  "c": "if true; then\n\tfolio-exec tsc\nfi", "d": "ä\ud83d\ude00\\\" && folio-exec tsc", "e": 7, "f": "rollup -c"
}, "devDependencies": {"@foliomem/folio": "~0.1.0"}}
`, nil},
		"escapes": {plain, `-- package.json --
{"scripts": {"d": "echo ä\ud83d\ude00\\\\ \"\/\" \u00e4 && tsc"}}
`, `-- package.json --
{"scripts": {"d": "echo ä\ud83d\ude00\\\\ \"\/\" \u00e4 && folio-exec tsc"},"devDependencies": { "@foliomem/folio": "~0.1.0" }}
`, nil},
		"new object": {Options{Setting: heap, Version: "(devel)"}, `-- package.json --
{
    "scripts": {
        "a": "tsc"
    }
}
`, `-- package.json --
{
    "scripts": {
        "a": "folio-exec tsc"
    },
    "devDependencies": {
        "@foliomem/folio": "*"
    }
}
`, nil},
		"a Go program behind another": {plain, `-- package.json --
{"scripts": {"dev": "vite", "bad": "tsc ${"}}
`, `-- package.json --
{"scripts": {"dev": "vite", "bad": "tsc ${"}}
`, []string{"package.json: script dev: not changed: vite depends on esbuild, which has a Go program; if it starts that, put folio-exec before it",
			"package.json: script bad: not changed: cannot be read as a shell command: "}},
		"no flag": {Options{Setting: trial.Setting{GOMAXPROCS: 2, GOGC: "400"}}, `-- package.json --
{"scripts": {"a": "tsc"}}
`, `-- package.json --
{"scripts": {"a": "tsc"}}
`, []string{"package.json: not changed: folio-exec has no flag for GOMAXPROCS=2"}},
		"no scripts": {plain, "-- package.json --\n{}\n", "-- package.json --\n{}\n", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.check(t, npmProject(t))
			c.before, c.after = crlf(c.before), crlf(c.after)
			c.check(t, npmProject(t))
		})
	}
}

// What the user wrote stays.
func TestPackageJSONOfUsers(t *testing.T) {
	dir := npmProject(t)
	const text = `-- package.json --
{"scripts": {"a": "folio-exec --gogc 400 -- tsc", "b": "folio-exec --verbose -- tsc", "c": "folio-exec node build.mjs"}, "devDependencies": {"@foliomem/folio": "^0.1.0"}}
`
	directory(t, dir, text)
	if p := must(t, dir, Options{Setting: heap}); p.Set != 3 {
		t.Errorf("%d places", p.Set)
	}
	if got, want := files(t, dir), strings.Replace(text, "--gogc 400 -- ", "", 1); got != want {
		t.Errorf("got\n%s", got)
	}
	must(t, dir, Options{Remove: true})
	if got, want := files(t, dir), `-- package.json --
{"scripts": {"a": "tsc", "b": "tsc", "c": "node build.mjs"}, "devDependencies": {"@foliomem/folio": "^0.1.0"}}
`; got != want {
		t.Errorf("got\n%s", got)
	}
	// Edits meanwhile are kept.
	directory(t, dir, "-- package.json --\n{\n  \"scripts\": {\n    \"a\": \"tsc\"\n  }\n}\n")
	must(t, dir, Options{Setting: heap})
	file := filepath.Join(dir, "package.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`tsc"`), []byte(`tsc -b", "x": "y"`), 1)
	data = bytes.Replace(data, []byte(`"*"`), []byte(`"*",`+"\n    \"z\": \"1\""), 1)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, Options{Remove: true})
	if got, want := files(t, dir), `-- package.json --
{
  "scripts": {
    "a": "tsc -b", "x": "y"
  },
  "devDependencies": {
    "z": "1"
  }
}
`; got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestPackageJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": }":       "package.json: line 2: invalid character '}'",
		"":                  "package.json: line 1: unexpected end of JSON input",
		"[]":                "package.json: not a JSON object",
		`{"scripts": []}`:   "package.json: scripts: not a JSON object",
		`{"scripts": {}} x`: "package.json: line 1: invalid character 'x'",
		`{"scripts": {"a": "tsc"}, "devDependencies": 1}`: "package.json: devDependencies: not a JSON object",
	} {
		dir := npmProject(t)
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if p, err := Look(dir, Options{Setting: heap}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	dir := directory(t, t.TempDir(), "-- package.json --\n{\"scripts\": {\"a\": \"tsc\"}}\n")
	if p, err := Look(dir, Options{Setting: heap}); err != nil || len(p.Changes) != 0 || len(p.Notes) != 1 ||
		p.Notes[0] != "package.json: no packages are installed (node_modules): install them, then run folio init again" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNPMRange(t *testing.T) {
	for version, want := range map[string]string{"v0.1.0": "~0.1.0", "v1.2.3-rc.1": "~1.2.3-rc.1", "(devel)": "*", "v0.1.1-0.20261128082550-1bc61de62c0f": "*",
		"v0.1.0+dirty": "*", "": "*"} {
		if got := npmRange(version); got != want || !fromInit(got) {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}

// What is put in comes out again, byte for byte, whatever is in the file; and the file says the
// same as before but for that.
func FuzzPackageJSON(f *testing.F) {
	for _, s := range []string{`{"scripts":{"a":"tsc"}}`, `{ "scripts" : { "a" : "A=1 tsc; npx esbuild|tsc&&tsc" , "b":"(tsc)" } , "devDependencies" : { } }`,
		"\xef\xbb\xbf{\n\t\"scripts\": {\n\t\t\"a\": \"tsc \\u0041\\ud83d\\ude00 && esbuild\"\n\t},\n\t\"devDependencies\": {\n\t\t\"a\": \"1\"\n\t}\n}\n",
		`{"scripts":{"a":"env tsc\n\\\ntsc #tsc\ntsc"},"scripts":{"b":"$(tsc) ` + "`tsc`" + ` <<x\ntsc\nx\n"},"devDependencies":{"@a/b":"1","z":"2"}}`,
		`{"scripts":{"a":"tsc\r\ntsc\ttsc\u0000 tsc","b":"\ud800 tsc","c":"` + "\xff" + `tsc;tsc"},"devDependencies":null}`} {
		f.Add([]byte(s), "", false)
	}
	for _, s := range []string{"tsc", "a && b | tsc; esbuild", "if tsc; then esbuild; fi", "f() { tsc; }; f", "$(tsc) `esbuild`", "cat <<x\n$(tsc)\nx\ntsc",
		"tsc\\\n -b", "\r\ntsc\r\n", "env -i tsc", "case x in x) tsc ;; esac", "A=$(tsc) tsc >x 2>&1 &", "! tsc", "${a:-$(tsc)}", "t\\sc", "\xfftsc; tsc", "\x00 tsc"} {
		f.Add([]byte("{\n  \"scripts\": {\"s\": SCRIPT, \"a\": \"tsc\"}\n}"), s, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, script string, flags bool) {
		quoted, err := json.Marshal(script)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("SCRIPT"), quoted, 1)
		if bytes.Contains(text, []byte("folio")) || bytes.Contains(text, []byte(`\u`)) && bytes.Contains(text, []byte("lio")) {
			return // what the user wrote may be taken out also
		}
		s := heap
		if flags {
			s.GOGC, s.MemLimit = "off", 1<<30
		}
		words, _ := s.Exec()
		edit := func(text []byte, remove bool) ([]byte, *npmFile, error) {
			n := &npmFile{prefix: npmPrefix(words), version: "~0.1.0", remove: remove, starts: func(name string) (string, string) {
				if name == "tsc" || name == "esbuild" {
					return name, ""
				}
				return "", ""
			}}
			out, err := n.edit(text)
			return out, n, err
		}
		added, n, err := edit(text, false)
		if err != nil {
			return
		}
		if (n.set > 0) != bytes.Contains(added, []byte("folio-exec")) || n.set == 0 && !bytes.Equal(added, text) {
			t.Fatalf("%d commands are set:\n%q", n.set, added)
		}
		if !json.Valid(bytes.TrimPrefix(added, []byte(bom))) {
			t.Fatalf("not JSON:\n%q", added)
		}
		if again, m, err := edit(added, false); err != nil || !bytes.Equal(again, added) || m.set != n.set {
			t.Fatalf("again, %v:\n%q\n%q", err, added, again)
		}
		if removed, _, err := edit(added, true); err != nil || !bytes.Equal(removed, text) {
			t.Fatalf("removed, %v:\n%q\n%q\nof\n%q", err, text, removed, added)
		}
	})
}
