package goversion

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "73ec21c1aabbccddeeff00112233445566778899"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"", nil, "(devel)"},
		{"(devel)", nil, "(devel)"},
		{"(devel)", []debug.BuildSetting{commit}, "(devel) 73ec21c1aabb"},
		{"", []debug.BuildSetting{dirty, commit}, "(devel) 73ec21c1aabb+dirty"},
		{"(devel)", []debug.BuildSetting{dirty}, "(devel)"},
		{"v1.2.3", []debug.BuildSetting{commit, dirty}, "v1.2.3"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}
		if got := versionOf(info); got != c.want {
			t.Errorf("%q %v: %q, want %q", c.version, c.settings, got, c.want)
		}
	}
}
