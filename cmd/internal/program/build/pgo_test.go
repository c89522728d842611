package build

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"

	_ "github.com/foliomem/folio/internal/test/testenv"
)

// profileOf returns a profile of one sample of a function.
func profileOf(t *testing.T, unit string, start, value int64) []byte {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.f", SystemName: "main.f", Filename: "main.go", StartLine: start}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 12}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: unit}}, Function: []*profile.Function{f},
		Location: []*profile.Location{l}}
	if value > 0 {
		p.Sample = []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{value}}}
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCheckPGO(t *testing.T) {
	good := profileOf(t, "nanoseconds", 10, 1)
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"good", good, ""},
		{"made by go tool preprofile", []byte("GO PREPROFILE V1\n"), ""},
		{"no profile", []byte("package main"), "not a profile of CPU time that -pgo takes: parsing profile: unrecognized profile format"},
		{"of memory", profileOf(t, "bytes", 10, 1), "not a profile of CPU time: want one of runtime/pprof, or of folio run --pprof"},
		{"no lines", profileOf(t, "nanoseconds", 0, 1), "it does not say where functions start, as profiles of Go 1.20 and later do"},
		{"empty", profileOf(t, "nanoseconds", 10, 0), "the profile has no samples"},
	} {
		file := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(file, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		hash, err := CheckPGO(file)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || len(hash) != 64 || hash != hashOf(tt.data) {
			t.Errorf("%s: %q, want %q; hash %s", tt.name, got, tt.want, hash)
		}
	}
	if _, err := CheckPGO(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestMergePGO: samples of several runs add up, and functions keep their lines.
func TestMergePGO(t *testing.T) {
	data, hash, err := MergePGO([][]byte{profileOf(t, "nanoseconds", 10, 3), profileOf(t, "nanoseconds", 10, 4)})
	if err != nil || hash != hashOf(data) {
		t.Fatal(err, hash)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) != 1 || p.Sample[0].Value[0] != 7 || p.Function[0].StartLine != 10 {
		t.Errorf("%v", p)
	}
	if _, _, err := MergePGO(nil); err == nil {
		t.Error("a profile of nothing")
	}
}
