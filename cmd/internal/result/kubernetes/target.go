package kubernetes

import (
	"fmt"
	"slices"
	"strings"
)

// A Target is the container that a patch is for.
type Target struct {
	Kind      Kind
	Name      string
	Container string
	Init      bool // it is an init container: a native sidecar, which goes on beside the others
}

// A Kind is a kind of object that has containers.
type Kind struct {
	Name, APIVersion string
	short            []string
	path             []string // of keys, to the pod's spec
}

var (
	inTemplate = []string{"spec", "template", "spec"}
	kinds      = []Kind{
		{"Deployment", "apps/v1", []string{"deployment", "deploy"}, inTemplate},
		{"StatefulSet", "apps/v1", []string{"statefulset", "sts"}, inTemplate},
		{"DaemonSet", "apps/v1", []string{"daemonset", "ds"}, inTemplate},
		{"CronJob", "batch/v1", []string{"cronjob", "cj"}, append([]string{"spec", "jobTemplate"}, inTemplate...)},
	}
)

// Lengths of names (RFC 1123), as Kubernetes checks them.
const (
	maxName  = 253
	maxLabel = 63
)

// ParseTarget reads [KIND/]NAME[:CONTAINER]. The kind is a Deployment where none is given,
// and the container is called as the object is.
func ParseTarget(s string) (Target, error) {
	bad := func(format string, args ...any) (Target, error) {
		return Target{}, fmt.Errorf("%q: %s: want [KIND/]NAME[:CONTAINER], such as deployment/checkout:server", s, fmt.Sprintf(format, args...))
	}
	t := Target{Kind: kinds[0]}
	kind, rest, ok := strings.Cut(s, "/")
	if !ok {
		rest = s
	} else {
		i := slices.IndexFunc(kinds, func(k Kind) bool { return slices.Contains(k.short, strings.ToLower(kind)) })
		switch strings.ToLower(kind) {
		case "job", "pod", "replicaset":
			return Target{}, fmt.Errorf("%q: the containers of a %s cannot be changed: name the object that makes it, such as cronjob/NAME or deployment/NAME", s, kind)
		}
		if i < 0 {
			return bad("%q is not deployment, statefulset, daemonset or cronjob", kind)
		}
		t.Kind = kinds[i]
	}
	t.Name, t.Container, ok = strings.Cut(rest, ":")
	if !ok {
		t.Container = t.Name
	}
	for _, part := range strings.Split(t.Name, ".") {
		if !isLabel(part) || len(t.Name) > maxName {
			return bad("%q is not a name: letters a to z, digits, - and . between them", t.Name)
		}
	}
	if !isLabel(t.Container) || len(t.Container) > maxLabel {
		return bad("%q is not a container: letters a to z, digits, and - between them, at most %d", t.Container, maxLabel)
	}
	return t, nil
}

func isLabel(s string) bool {
	for i, c := range []byte(s) {
		alnum := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !alnum && (c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != ""
}

// resource names the object as kubectl wants it.
func (t Target) resource() string { return t.Kind.short[0] + "/" + t.Name }
