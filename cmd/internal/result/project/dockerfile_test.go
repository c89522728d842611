package project

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

func TestDockerfile(t *testing.T) {
	set := Options{Setting: trial.Setting{THP: trial.THPHeap, GOGC: "400"}, Image: "registry.example/folio:0.1.0"}
	const (
		build = "FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS build\nCOPY . .\nRUN go build -o /out/server .\n\n"
		block = "# BEGIN folio init\nCOPY --from=registry.example/folio:0.1.0 /folio /usr/local/bin/folio\n# END folio init\n"
		exec  = `"folio", "exec", "--thp", "heap", "--gogc", "400", "--", `
	)
	for name, c := range map[string]struct {
		o     Options
		file  string // @ is where folio exec goes, % the block; of none, it stays
		notes []string
	}{
		"multi-stage": {set, "# syntax=docker/dockerfile:1\n" + build + "# what runs\nFROM scratch\nCOPY --from=build /out/server /server\nUSER 1000\n%ENTRYPOINT [@\"/server\"]\nCMD [\"--port\", \"80\"]\n",
			[]string{"Dockerfile:10: ENTRYPOINT: /server is built by Go in stage build"}},
		"comments and continuation, without a last newline": {set, build + "FROM scratch\n" + "COPY --from=0 \\\n  # all of it [\"\n\n  /out/ \\\n  /usr/bin/\n%entrypoint [ \\\n # \"not this\"\n  @\"/usr/bin/server\", \\\n  \"a\"]",
			[]string{"Dockerfile:11: ENTRYPOINT: /usr/bin/server is built by Go in stage 0"}},
		"CMD of one stage": {set, "FROM golang\nCOPY . .\nRUN go install ./...\n%CMD [@\"server\"]\n",
			[]string{"Dockerfile:4: CMD: server is taken for a Go program: its stage builds with Go"}},
		"a stage that begins from another": {set, "FROM docker.io/library/golang:1 as base\nFROM base AS Build\nRUN make\nFROM alpine\nCOPY --from=build --chown=1 [\"/x/srv\", \"/bin/srv\"]\n%CMD [@\"/bin/srv\"]\n",
			[]string{"Dockerfile:6: CMD: /bin/srv is built by Go in stage build"}},
		"an init process": {set, build + "FROM alpine\nCOPY --from=build /out/server /\nENTRYPOINT [\"tini\", \"-g\", \"--\"]\n%CMD [@\"/server\"]\n",
			[]string{"Dockerfile:8: CMD: /server is built by Go in stage build"}},
		"an init process before it": {set, build + "FROM alpine\nCOPY --from=build /out/server /\n%ENTRYPOINT [\"tini\", \"--\", @\"/server\"]\n",
			[]string{"Dockerfile:7: ENTRYPOINT: /server is built by Go in stage build"}},
		"the last one counts": {set, build + "ENTRYPOINT [\"x\"]\nFROM scratch\nCOPY --from=build /out/server /server\nENTRYPOINT [\"/server\"]\nHEALTHCHECK CMD [\"/server\"]\n%ENTRYPOINT [@\"/server\", \"a\"]\n",
			[]string{"Dockerfile:10: ENTRYPOINT: /server is built by Go in stage build"}},
		"heredocs": {set, "FROM golang\nRUN <<A cat <<-\"B\"\nENTRYPOINT [\"a\"]\nA\n\tCMD [\"b\"]\n\tB\n%CMD [@\"c\"]\n",
			[]string{"Dockerfile:7: CMD: c is taken for a Go program"}},
		"another escape": {set, "# escape=`\nFROM golang\nRUN a `\n CMD [\"x\"]\nRUN \\\n%CMD [`\n@\"c:\\\\s\"]\n",
			[]string{"Dockerfile:6: CMD: "}},
		"shell form": {set, build + "FROM scratch\nCOPY --from=build /out/server /server\nENTRYPOINT exec /server --port $PORT\n",
			[]string{`Dockerfile:7: ENTRYPOINT: not changed: shell form; write it as exec form: ENTRYPOINT ["folio", "exec", "--thp", "heap", "--gogc", "400", "--", "/server", "--port", "$PORT"]`}},
		"shell form of what is not Go": {set, "FROM node\nCMD npm start\n",
			[]string{"Dockerfile:2: CMD: not changed: shell form; npm is not known to be a Go program: no COPY of the last stage brings it"}},
		"not Go": {set, "FROM node AS n\nFROM x\nCOPY --from=n /a /a\nCMD [\"/a\"]\n",
			[]string{"Dockerfile:4: CMD: not changed: /a is not known to be a Go program: stage or image n does not build with Go"}},
		"a script": {set, build + "FROM alpine\nCOPY start.sh /\nCOPY --from=build /out/server /bin/\nENTRYPOINT [\"/start.sh\"]\nCMD [\"/bin/server\"]\n",
			[]string{"Dockerfile:8: ENTRYPOINT: not changed: /start.sh is not known to be a Go program: it is copied in line 6"}},
		"no image": {Options{Setting: heap}, "FROM golang\nCMD [\"a\"]\n",
			[]string{"Dockerfile:2: not changed: name your image of folio, such as --image registry.example/folio:0.1.0"}},
		"nothing to start": {set, "FROM golang\nRUN a\n", []string{"Dockerfile:1: not changed: the last stage has no ENTRYPOINT and no CMD"}},
		"no stage":         {set, "# FROM golang\n", []string{"Dockerfile: not changed: it has no FROM"}},
		"by hand":          {set, "FROM golang\nCMD [\"/folio\", \"exec\", \"--\", \"a\"]\n", []string{"Dockerfile:2: CMD has folio exec already, not by folio init"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := strings.NewReplacer("@", "", "%", "").Replace(c.file)
			after := strings.NewReplacer("@", exec, "%", block).Replace(c.file)
			for _, newline := range []string{"\n", "\r\n"} {
				dir := t.TempDir()
				file := filepath.Join(dir, "Dockerfile")
				write := func(text string) string { return strings.ReplaceAll(text, "\n", newline) }
				if err := os.WriteFile(file, []byte(write(before)), 0o644); err != nil {
					t.Fatal(err)
				}
				p := must(t, dir, c.o)
				if got, _ := os.ReadFile(file); string(got) != write(after) {
					t.Errorf("got\n%s\nwant\n%s", got, write(after))
				}
				if len(p.Notes) != len(c.notes) || !strings.HasPrefix(p.Notes[0], c.notes[0]) {
					t.Errorf("notes: %q\nwant %q", p.Notes, c.notes)
				}
				if again := must(t, dir, c.o); len(again.Changes) > 0 {
					t.Errorf("again:\n%s", again.diff())
				}
				must(t, dir, Options{Remove: true})
				if got, _ := os.ReadFile(file); string(got) != write(before) {
					t.Errorf("after removal\n%s\nwant\n%s", got, write(before))
				}
			}
		})
	}
}

// A program of the build context is looked at.
func TestDockerfileOfProgram(t *testing.T) {
	dir := directory(t, t.TempDir(), "-- Dockerfile --\nFROM scratch\nCOPY bin/server /srv\nCMD [\"/srv\"]\n-- bin/other --\n#!/bin/sh\n")
	goProgram(t, filepath.Join(dir, "bin", "server"))
	p, err := Look(dir, Options{Setting: heap, Image: "i"})
	if err != nil || len(p.Changes) != 1 || !strings.HasPrefix(p.Notes[0], "Dockerfile:3: CMD: /srv is "+filepath.Join(dir, "bin", "server")+", built with go1.") {
		t.Errorf("%+v, %v", p, err)
	}
	directory(t, dir, "-- Dockerfile --\nFROM scratch\nCOPY bin/other /srv\nCMD [\"/srv\"]\n")
	if p, err = Look(dir, Options{Setting: heap, Image: "i"}); err != nil || len(p.Changes) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Other settings take the place of the old ones; the image stays if no other one is named.
func TestDockerfileUpdate(t *testing.T) {
	const before = "-- Containerfile --\nFROM golang\nCMD [\"a\", \"b\"]\n"
	dir := directory(t, t.TempDir(), before)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Setting: trial.Setting{THP: trial.THPHeap, GOGC: "50", GOMAXPROCS: 2}, Image: "i"},
			"COPY --from=i /folio /usr/local/bin/folio\nENV GOMAXPROCS=2\n# END folio init\nCMD [\"folio\", \"exec\", \"--thp\", \"heap\", \"--gogc\", \"50\", \"--\", \"a\", \"b\"]\n"},
		{Options{Setting: heap}, "COPY --from=i /folio /usr/local/bin/folio\n# END folio init\nCMD [\"folio\", \"exec\", \"--thp\", \"heap\", \"--\", \"a\", \"b\"]\n"},
		{Options{Setting: trial.Setting{GOGC: "200", MemLimit: 1 << 30}}, "ENV GOGC=200 GOMEMLIMIT=1GiB\n# END folio init\nCMD [\"a\", \"b\"]\n"},
	} {
		must(t, dir, c.o)
		if got, want := files(t, dir), "-- Containerfile --\nFROM golang\n# BEGIN folio init\n"+c.want; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	// Edits meanwhile are kept.
	file := filepath.Join(dir, "Containerfile")
	data, _ := os.ReadFile(file)
	if err := os.WriteFile(file, append(data, "EXPOSE 80\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, Options{Remove: true})
	if got := files(t, dir); got != before+"EXPOSE 80\n" {
		t.Errorf("got\n%s", got)
	}
}

// What is put in comes out again, byte for byte.
func FuzzDockerfile(f *testing.F) {
	for _, s := range []string{"FROM golang\nCMD [\"a\"]\n", "FROM golang AS b\r\nFROM b\r\nENTRYPOINT [ \\\r\n#\r\n\"a\",\"--\",\"b\"]", "# escape=`\nFROM golang\nRUN <<E\nE\ncmd [`\n\"\"]",
		"FROM golang\nCMD []\nCMD [\"\\u0061\", \"--\"]\nCMD a", "FROM golang\n\\\nCMD [\"a\"]\\"} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, huge bool) {
		if bytes.Contains(text, []byte("folio")) {
			return // what the user wrote may be taken out also
		}
		s := trial.Setting{GOGC: "400"}
		if huge {
			s.THP = trial.THPHeap
		}
		add := func(text []byte) []byte {
			without, image := withoutFolio(text)
			d := &dockerfile{planner: &planner{Options: Options{Setting: s}, Plan: Plan{dir: dir}}, name: "Dockerfile", image: image, text: without}
			if d.image == "" {
				d.image = "i"
			}
			return d.edit()
		}
		added := add(text)
		if added == nil {
			return
		}
		if again := add(added); !bytes.Equal(again, added) {
			t.Fatalf("again:\n%q\n%q", added, again)
		}
		if removed, _ := withoutFolio(added); !bytes.Equal(removed, text) {
			t.Fatalf("removed:\n%q\n%q\nof\n%q", text, removed, added)
		}
	})
}
