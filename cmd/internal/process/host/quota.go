package host

import (
	"go/version"
	"os/exec"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// IgnoresQuota says why a Go program does not derive GOMAXPROCS from the CPU quota of its
// cgroup, as Go does since 1.25; "" if it does. The last word is that of GODEBUG in its
// environment. A path without a slash is searched in PATH.
func IgnoresQuota(path string, env []string) string {
	file, err := exec.LookPath(path)
	if err != nil {
		return "the program cannot be read"
	}
	build, err := goruntime.ReadBuild(file)
	if err != nil {
		return "the program cannot be read"
	}
	return ignoresQuota(build, env)
}

func ignoresQuota(build executable.Build, env []string) string {
	const key = "containermaxprocs"
	goVersion, _, _ := strings.Cut(build.GoVersion, " ")
	if version.IsValid(goVersion) && version.Compare(goVersion, "go1.25") < 0 {
		return goVersion + " does not know of it"
	}
	godebug := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "GODEBUG="); ok {
			godebug = v
		}
	}
	if debugSetting(godebug, key) == "0" {
		return "GODEBUG has " + key + "=0"
	}
	if debugSetting(godebug, key) == "" && debugSetting(build.GODEBUG, key) == "0" {
		return "it was built with " + key + "=0, as go.mod says go 1.24 or older"
	}
	return ""
}

// debugSetting returns the value of a key in a GODEBUG variable, the last one.
func debugSetting(godebug, key string) (value string) {
	for kv := range strings.SplitSeq(godebug, ",") {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			value = v
		}
	}
	return value
}
