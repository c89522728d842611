package act

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestLease(t *testing.T) {
	one, two := startProgram(t, 1), startProgram(t, 2)
	may(t, one)
	w := keeps(t)
	w.add(one, "a")
	w.add(two, "b")
	for _, s := range []*subject{one, two} {
		w.must(t, s.container, "536870912", 100)
	}
	p, err := parse([]byte("canary: folio.dev/settings=a\nsettings: [{label: folio.dev/settings=a, gogc: 200}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := w.actor(p, &log)
	defer a.Keeper.Close()
	hour := time.Now().Add(time.Hour)
	lend := func(l Lease) {
		for _, s := range []*subject{one, two} {
			w.leases[container(s.container)] = l.String()
		}
		look(t, a)
	}
	look(t, a)
	one.has(200, none)
	for _, c := range []struct {
		lease       Lease
		gogc, limit int64
	}{
		{Lease{GOGC: "300", Until: hour}, 300, none},
		{Lease{GOGC: "300", MemoryLimit: "300MiB", Until: hour}, 300, 300 * mib},
		{Lease{GOGC: "300", Container: "main", Until: hour.Add(time.Hour)}, 300, none},
		{Lease{GOGC: "300", Container: "other", Until: hour}, 200, none},
		{Lease{GOGC: "300", Until: time.Now().Add(-time.Second)}, 200, none},
		{Lease{GOGC: "400", Until: hour}, 400, none},
		{Lease{GOGC: "300", Until: hour.Add(24 * time.Hour)}, 200, none},
		{Lease{GOGC: "off", Until: hour}, 200, none},
		{Lease{GOGC: "400", Until: hour}, 400, none},
		{Lease{GOGC: "recommended", Until: hour}, 200, none},
	} {
		lend(c.lease)
		one.has(c.gogc, c.limit)
		two.has(100, none) // its pod has not the label
	}
	clear(w.leases)
	look(t, a)
	one.has(200, none)
	for _, want := range []string{"24h0m0s from now at most", "off without memoryLimit", "a lease has values of its own"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

func TestParseLease(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "EOF",
		`{"gogc":"200"}`:                   "until is missing",
		`{"until":"2026-11-28T00:00:00Z"}`: "want gogc, memoryLimit or both",
		`{"gogc":"x","until":"2026-11-28T00:00:00Z"}`:    "gogc",
		`{"gogc":"200","untill":"2026-11-28T00:00:00Z"}`: "unknown field",
	} {
		if _, err := ParseLease(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	l := Lease{"main", "off", "fit", time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)}
	if got, err := ParseLease(l.String()); err != nil || got != l {
		t.Errorf("%+v, %v", got, err)
	}
}
