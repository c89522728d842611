package trial

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSettingString(t *testing.T) {
	for _, c := range []struct {
		setting Setting
		want    string
	}{
		{Setting{}, "default"},
		{Setting{GOGC: "200"}, "GOGC=200"},
		{Setting{GOGC: Off}, "GOGC=off"},
		{Setting{MemLimit: 512 << 20}, "GOMEMLIMIT=512MiB"},
		{Setting{MemLimit: 1000}, "GOMEMLIMIT=1000B"},
		{Setting{GOMAXPROCS: 2}, "GOMAXPROCS=2"},
		{Setting{THP: THPOff}, "thp=off"},
		{Setting{Env: []string{"A=1", "B=x y"}}, "A=1 B=x y"},
		{
			Setting{GOGC: "50", MemLimit: 1 << 30, GOMAXPROCS: 4, THP: THPOff, Env: []string{"A=1"}},
			"GOGC=50 GOMEMLIMIT=1GiB GOMAXPROCS=4 A=1 thp=off",
		},
	} {
		if got := c.setting.String(); got != c.want {
			t.Errorf("%#v: name %q, want %q", c.setting, got, c.want)
		}
		if got := NewArm(c.setting).Name; got != c.want {
			t.Errorf("%#v: name of the arm %q, want %q", c.setting, got, c.want)
		}
		if got, want := c.setting.IsZero(), c.want == "default"; got != want {
			t.Errorf("%#v: IsZero is %v", c.setting, got)
		}
	}
}

func TestSettingJSON(t *testing.T) {
	// What the environment decides is spelled out, what is rarely used is left out.
	got, err := json.Marshal(Setting{})
	if err != nil || string(got) != `{"gogc":"","gomemlimit_bytes":0}` {
		t.Errorf("zero setting is %s, %v", got, err)
	}
	full := Setting{GOGC: "50", MemLimit: 1 << 30, GOMAXPROCS: 4, THP: THPOff, Env: []string{"A=1"}}
	data, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var back Setting
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, full) {
		t.Errorf("%s became %#v, %v", data, back, err)
	}
}

func TestSettingEnviron(t *testing.T) {
	base := []string{"GOGC=1", "HOME=/h", "GOGC=2", "GOGCX=3", "EMPTY=", "GOGC=4"}
	for _, c := range []struct {
		name    string
		setting Setting
		want    []string
	}{
		{"zero", Setting{}, base},
		{"all earlier definitions go", Setting{GOGC: "50"}, []string{"HOME=/h", "GOGCX=3", "EMPTY=", "GOGC=50"}},
		{"own variables", Setting{Env: []string{"HOME=/x", "NEW=1"}},
			[]string{"GOGC=1", "GOGC=2", "GOGCX=3", "EMPTY=", "GOGC=4", "HOME=/x", "NEW=1"}},
		{"the last word wins", Setting{GOGC: "50", Env: []string{"GOGC=7", "GOGC=8"}}, []string{"HOME=/h", "GOGCX=3", "EMPTY=", "GOGC=8"}},
		{"a value with =", Setting{Env: []string{"EMPTY=a=b"}}, []string{"GOGC=1", "HOME=/h", "GOGC=2", "GOGCX=3", "GOGC=4", "EMPTY=a=b"}},
	} {
		before := slices.Clone(base)
		if got := c.setting.Environ(base); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if !slices.Equal(base, before) {
			t.Errorf("%s: the base was changed to %q", c.name, base)
		}
	}
}

// Some programs take the first definition of a variable, some the last: there
// must be one.
func TestEnvironDefinesOnce(t *testing.T) {
	key := rapid.SampledFrom([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "A", "B", "AB"})
	pair := rapid.Custom(func(t *rapid.T) string { return key.Draw(t, "key") + "=" + rapid.StringN(0, 4, 8).Draw(t, "value") })
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(pair, 0, 12).Draw(t, "base")
		s := Setting{
			GOGC: rapid.SampledFrom([]string{"", "off", "50"}).Draw(t, "gogc"), MemLimit: rapid.SampledFrom([]uint64{0, 1 << 20}).Draw(t, "limit"),
			Env: rapid.SliceOfN(pair, 0, 4).Draw(t, "env"),
		}
		env := s.Environ(base)
		for _, v := range s.Vars() {
			n := 0
			for _, e := range env {
				if envKey(e) == envKey(v) {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("%d definitions of %s in %q", n, envKey(v), env)
			}
		}
		for _, e := range base { // the others stay
			if !slices.ContainsFunc(s.Vars(), func(v string) bool { return envKey(v) == envKey(e) }) && !slices.Contains(env, e) {
				t.Fatalf("%q is gone from %q", e, env)
			}
		}
	})
}

func TestParseGOGC(t *testing.T) {
	for in, want := range map[string]string{"": "", "off": "off", "0": "0", "100": "100", "007": "7", "2147483647": "2147483647"} {
		if got, err := ParseGOGC(in); err != nil || got != want {
			t.Errorf("ParseGOGC(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"OFF", "-1", "1.5", "100%", " 100", "1e2", "2147483648", "99999999999999999999", "x\ny"} {
		got, err := ParseGOGC(in)
		if err == nil {
			t.Errorf("ParseGOGC(%q) = %q, want an error", in, got)
			continue
		}
		checkMessage(t, err, "GOGC", "off")
	}
}

func TestParseTHP(t *testing.T) {
	for in, want := range map[string]THP{"": THPSystem, "system": THPSystem, "off": THPOff, "collapse": THPCollapse, "heap": THPHeap} {
		if got, err := ParseTHP(in); err != nil || got != want {
			t.Errorf("ParseTHP(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"on", "always", "Off", "never"} {
		if _, err := ParseTHP(in); err == nil {
			t.Errorf("ParseTHP(%q) gave no error", in)
		} else {
			checkMessage(t, err, "--thp", "off")
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": "''", "plain-_./=:,+@%^9": "plain-_./=:,+@%^9", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'", "~": "'~'", "ä": "'ä'",
		"a\nb": "'a\nb'", "*": "'*'", "#": "'#'", "!": "'!'", "\xff": "'\xff'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		setting Setting
		want    string
	}{
		{Setting{}, "./prog 'a b'"},
		{Setting{GOGC: "200", MemLimit: 1 << 30}, "GOGC=200 GOMEMLIMIT=1GiB ./prog 'a b'"},
		{Setting{Env: []string{"A=x y", "B="}}, "A='x y' B='' ./prog 'a b'"},
		// No variable does what this does.
		{Setting{THP: THPHeap}, "folio exec --thp heap -- ./prog 'a b'"},
		{Setting{GOGC: "off", MemLimit: 1 << 30, THP: THPHeap}, "folio exec --thp heap --gogc off --memlimit 1GiB -- ./prog 'a b'"},
		{Setting{GOGC: "50", GOMAXPROCS: 2, Env: []string{"a.b=c"}, THP: THPHeap},
			"env GOMAXPROCS=2 a.b=c folio exec --thp heap --gogc 50 -- ./prog 'a b'"},
		{Setting{GOGC: "50", THP: THPOff}, "GOGC=50 folio run --thp=off -- ./prog 'a b'"},
	} {
		if got := c.setting.Line([]string{"./prog", "a b"}); got != c.want {
			t.Errorf("%v: %s, want %s", c.setting, got, c.want)
		}
	}
}

// A line that builds says all by flags: variables would be those of the build, too.
func TestBuildLine(t *testing.T) {
	for _, c := range []struct {
		setting Setting
		args    []string
		want    string
	}{
		{Setting{}, nil, "folio run --build ./cmd/x --thp=system"},
		{Setting{THP: THPHeap}, []string{"-n", "a b"}, "folio run --build ./cmd/x --thp=heap -- -n 'a b'"},
		{
			Setting{GOGC: "off", MemLimit: 1 << 30, GOMAXPROCS: 4, THP: THPHeap, Env: []string{"A=x y"}}, []string{"y"},
			"folio run --build ./cmd/x --gogc=off --memlimit=1GiB --gomaxprocs=4 --thp=heap --env 'A=x y' -- y",
		},
	} {
		if got := c.setting.BuildLine("./cmd/x", c.args); got != c.want {
			t.Errorf("%v: %s, want %s", c.setting, got, c.want)
		}
	}
	if got := (Setting{}).BuildLine("a.go b.go", nil); got != "folio run --build 'a.go b.go' --thp=system" {
		t.Errorf("of files: %s", got)
	}
}

func TestCommandName(t *testing.T) {
	for want, command := range map[string][]string{"": nil, "go": {"/usr/bin/go", "test"}, "x": {"./x"}, "prog": {"prog"}} {
		if got := CommandName(command); got != want {
			t.Errorf("CommandName(%q) = %q, want %q", command, got, want)
		}
	}
}

func TestBaseline(t *testing.T) {
	for _, key := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS"} {
		t.Setenv(key, "")
	}
	if got := Baseline(); got != nil {
		t.Errorf("an empty environment gives %q", got)
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	t.Setenv("GOGC", "50")
	t.Setenv("GOMAXPROCS", "1.5")
	if got, want := strings.Join(Baseline(), " "), "GOGC=50 GOMEMLIMIT=1GiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := BaselineSetting(), (Setting{GOGC: "50", MemLimit: 1 << 30}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	t.Setenv("GOMEMLIMIT", "off")
	t.Setenv("GOGC", "-1")
	t.Setenv("GOMAXPROCS", "0")
	if got := BaselineSetting(); !reflect.DeepEqual(got, Setting{GOGC: got.GOGC}) {
		t.Errorf("what sets nothing gives %+v", got)
	}
}

// checkMessage checks that an error is one line that says all of words.
func checkMessage(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one that says %q", words)
		return
	}
	if text := err.Error(); text == "" || strings.ContainsAny(text, "\n\r") {
		t.Errorf("the error is not one line: %q", text)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestTreeLine(t *testing.T) {
	for want, s := range map[string]Setting{
		"folio exec --tree --thp heap --gogc 400 -- npx tsc": {GOGC: "400", THP: THPHeap},
		"GOGC=400 npx tsc": {GOGC: "400"},
	} {
		if got := s.TreeLine([]string{"npx", "tsc"}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
