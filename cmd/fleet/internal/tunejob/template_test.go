package tunejob

import (
	"strings"
	"testing"
)

// Variables that a Go program does not read as they are meant are refused before a Job is made.
func TestTemplateSettings(t *testing.T) {
	for env, want := range map[string]string{
		`{name: GOMEMLIMIT, value: 1024Mi}`: "container program: env GOMEMLIMIT=1024Mi: a Go program ends at its start with this value; write GOMEMLIMIT=1024MiB",
		`{name: GOGC, value: "200%"}`:       "container program: env GOGC=200%: Go ignores this value and uses 100; write GOGC=200",
		`{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}`:                                        `container program: env GOMEMLIMIT of limits.memory with divisor 1Mi: a Go program reads the number as bytes; write divisor: "1"`,
		`{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: "1"}}}`:                                        "",
		`{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}`:                                                      "",
		`{name: GOMEMLIMIT, value: 1GiB}, {name: GODEBUG, value: ofanewergo=1}, {name: GOMAXPROCS, value: "2"}, {name: GOGC, value: "off"}`: "",
	} {
		pod := "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: program\n      command: [/program]\n      env: [" + env + "]\n"
		_, err := ReadTemplate("pod.yaml", strings.NewReader(pod), "")
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", env, err)
		case want != "" && (err == nil || err.Error() != "pod.yaml: "+want):
			t.Errorf("%s:\n got %v\nwant pod.yaml: %s", env, err, want)
		}
	}
}
