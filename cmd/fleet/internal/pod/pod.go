// Package pod tells which pod and which container a process is in, by the path of its
// cgroup: those of containerd, CRI-O and Docker, with cgroups of version 1 and 2, named by
// systemd or by the kubelet itself, also in clusters that run in containers (kind, k3d).
package pod

import (
	"strings"
)

// An ID is where a process is. The zero value is a process of the host.
type ID struct {
	UID       string // of the pod, with dashes; empty outside pods, or if it cannot be seen
	Container string // ID of the container: 64 hexadecimal digits; empty outside containers
}

// A Name is what a container is called.
type Name struct{ Namespace, Pod, Container string }

// A Workload is what a pod belongs to, as a Deployment.
type Workload struct{ Kind, Name string }

// Short is the first 12 digits of the container's ID, as tools print it.
func (id ID) Short() string { return id.Container[:min(len(id.Container), 12)] }

// Parse reads a /proc/PID/cgroup. It believes nothing: what has not the form of an ID is
// none.
func Parse(data []byte) (id ID) {
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		found := path(fields[2])
		// The hierarchies of version 1 agree; some may be those of the host.
		if id.UID == "" && found.UID != "" || id.Container == "" && found.Container != "" && id.UID == found.UID {
			id = found
		}
	}
	return id
}

// path reads a path such as
//
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid with _>.slice/cri-containerd-<id>.scope
//	/kubepods/besteffort/pod<uid>/<id>
//	/system.slice/containerd.service/kubepods-burstable-pod<uid>.slice:cri-containerd:<id>
//	/docker/<id>/kubelet/kubepods/pod<uid>/<id>
//	/../../kubepods-pod<uid>.slice/crio-<id>.scope
//
// The innermost pod counts, and the outermost container in it: what a container makes of
// its own cgroup is below.
func path(p string) (id ID) {
	for part := range strings.SplitSeq(p, "/") {
		if slice, rest, ok := strings.Cut(part, ":"); ok {
			if uid, ok := podUID(slice); ok {
				_, container, _ := strings.Cut(rest, ":")
				id = ID{UID: uid}
				if isContainer(container) {
					id.Container = container
				}
			}
			continue
		}
		if uid, ok := podUID(part); ok {
			id = ID{UID: uid}
			continue
		}
		if id.Container == "" {
			if c, ok := container(part); ok {
				id.Container = c
			}
		}
	}
	return id
}

// podUID reads the name of a pod's directory.
func podUID(part string) (string, bool) {
	part, systemd := strings.CutSuffix(part, ".slice")
	at := strings.LastIndex(part, "pod")
	switch {
	case at < 0, systemd && (at == 0 || part[at-1] != '-'), !systemd && at > 0 && part[at-1] != '-':
		return "", false
	}
	uid := part[at+len("pod"):]
	if systemd {
		uid = strings.ReplaceAll(uid, "_", "-")
	}
	// Those of static pods are a hash without dashes.
	if !isUID(uid) {
		return "", false
	}
	return uid, true
}

// isUID is a test for 32 hexadecimal digits, with dashes or without.
func isUID(s string) bool {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	return len(s) == 32 && hex(s)
}

// container reads the name of a container's directory: the ID, or runtime-ID.scope.
func container(part string) (string, bool) {
	if name, ok := strings.CutSuffix(part, ".scope"); ok {
		at := strings.LastIndexByte(name, '-')
		// crio-conmon-<id> is the monitor of a container, on the host.
		if at < 0 || strings.HasSuffix(name[:at], "conmon") {
			return "", false
		}
		part = name[at+1:]
	}
	return part, isContainer(part)
}

func isContainer(s string) bool { return len(s) == 64 && hex(s) }

func hex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
