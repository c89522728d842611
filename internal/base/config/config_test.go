package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for env, want := range map[string][]Setting{
		"":                     nil,
		" , ,":                 nil,
		"off":                  {{Key: "off"}},
		" Heap = collapse ,x=": {{"heap", "collapse", true}, {"x", "", true}},
		"a=b=c,=d":             {{"a", "b=c", true}, {"", "d", true}},
	} {
		if got := Parse(env); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v", env, got)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "4096": 4096, "1B": 1, "3KiB": 3 << 10, "4GiB": 4 << 30,
		"1.5GiB": 3 << 29, "8388607TiB": 8388607 << 40} {
		if n, err := (Setting{"reserve", text, true}).Size(); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "-1", "0MiB", "GiB", "4G", "4GB", "8388608TiB", "9223372036854775808", "1KiBB"} {
		if n, err := (Setting{"reserve", text, true}).Size(); err == nil ||
			!strings.HasPrefix(err.Error(), "FOLIO: reserve="+text+": want a size") {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for text, want := range map[string]string{"on": "true <nil>", "ON": "true <nil>",
		"off": "false <nil>", "1": "false FOLIO: log=1: want on or off", "true": "false FOLIO: log=true: want on or off", "": "false FOLIO: log=: want on or off", "2": "false FOLIO: log=2: want on or off"} {
		b, err := (Setting{"log", text, true}).Bool()
		if got := strings.TrimSpace(strings.Join([]string{map[bool]string{true: "true", false: "false"}[b], errText(err)}, " ")); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if b, err := (Setting{Key: "log"}).Bool(); !b || err != nil {
		t.Errorf("log: %v, %v", b, err)
	}
	for text, want := range map[string]float64{"0.5": 0.5, "1": 1, "0.25": 0.25} {
		if v, err := (Setting{"budget", text, true}).Share(0.25); v != want || err != nil {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "0.2", "1.1", "NaN", "x"} {
		if v, err := (Setting{"budget", text, true}).Share(0.25); err == nil {
			t.Errorf("%s: %v", text, v)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

func FuzzParse(f *testing.F) {
	f.Add("heap=collapse,reserve=4GiB,log=on")
	f.Add("off")
	f.Fuzz(func(t *testing.T, env string) {
		for _, s := range Parse(env) {
			again := Parse(s.String())
			if strings.Contains(s.String(), ",") || len(again) > 1 || len(again) == 1 && again[0] != s {
				t.Errorf("%q has %+v, which is %+v", env, s, again)
			}
			if n, err := s.Size(); n < 0 || err != nil && n != 0 {
				t.Errorf("%+v: %d, %v", s, n, err)
			}
			if v, err := s.Share(0); err == nil && !(v >= 0 && v <= 1) {
				t.Errorf("%+v: %v", s, v)
			}
		}
	})
}
