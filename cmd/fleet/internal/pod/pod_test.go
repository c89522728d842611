package pod

import (
	"strings"
	"testing"
)

const (
	uid    = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	static = "d1b2c3d4e5f60718293a4b5c6d7e8f90"
	id     = "4fa6e1a8c1a3e6c2b1f4a6e1a8c1a3e6c2b1f4a6e1a8c1a3e6c2b1f4a6e1a8c1"
	other  = "aaaaaaaac1a3e6c2b1f4a6e1a8c1a3e6c2b1f4a6e1a8c1a3e6c2b1f4a6e1a8c1"
)

func TestParse(t *testing.T) {
	under := strings.ReplaceAll(uid, "-", "_")
	for _, c := range []struct {
		name, file string
		want       ID
	}{
		{"containerd, version 2, systemd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope\n", ID{uid, id}},
		{"guaranteed", "0::/kubepods.slice/kubepods-pod" + under + ".slice/cri-containerd-" + id + ".scope", ID{uid, id}},
		{"cri-o", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under + ".slice/crio-" + id + ".scope/container\n", ID{uid, id}},
		{"cri-o's monitor", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under + ".slice/crio-conmon-" + id + ".scope\n", ID{uid, ""}},
		{"docker, version 1, kubelet", "12:memory:/kubepods/besteffort/pod" + uid + "/" + id + "\n1:name=systemd:/kubepods/besteffort/pod" + uid + "/" + id + "\n0::/\n", ID{uid, id}},
		{"docker, version 1, systemd", "4:memory:/kubepods.slice/kubepods-pod" + under + ".slice/docker-" + id + ".scope\n", ID{uid, id}},
		{"old containerd", "5:memory:/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + id + "\n", ID{uid, id}},
		{"the hierarchies of version 1 differ", "3:rdma:/\n2:cpu:/kubepods/pod" + uid + "\n1:memory:/kubepods/pod" + uid + "/" + id + "\n", ID{uid, id}},
		{"kind", "0::/docker/" + other + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice/cri-containerd-" + id + ".scope\n", ID{uid, id}},
		{"k3d, cgroupfs", "0::/docker/" + other + "/kubepods/burstable/pod" + uid + "/" + id + "\n", ID{uid, id}},
		{"another cgroup namespace", "0::/../../kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope\n", ID{uid, id}},
		{"a neighbor in the same pod", "0::/../cri-containerd-" + id + ".scope\n", ID{"", id}},
		{"a static pod", "0::/kubepods/burstable/pod" + static + "/" + id + "\n", ID{static, id}},
		{"a cgroup of the container's own", "0::/kubepods/pod" + uid + "/" + id + "/inner/" + other + "\n", ID{uid, id}},
		{"docker without Kubernetes", "0::/system.slice/docker-" + id + ".scope\n", ID{"", id}},
		{"podman", "0::/machine.slice/libpod-" + id + ".scope/container\n", ID{"", id}},
		{"docker, version 1", "9:memory:/docker/" + id + "\n0::/system.slice/docker.service\n", ID{"", id}},
		{"a service", "0::/system.slice/kubelet.service\n", ID{}},
		{"a session", "0::/user.slice/user-1000.slice/session-3.scope\n", ID{}},
		{"the root", "0::/\n", ID{}},
		{"nothing", "", ID{}},
		{"no cgroup file", "podpodpod\x00::::\n", ID{}},
		{"a name that only begins like a pod", "0::/kubepods/podium/" + id + "\n", ID{"", id}},
		{"digits that are none", "0::/kubepods/pod" + strings.Repeat("g", 32) + "/" + strings.Repeat("z", 64) + "\n", ID{}},
	} {
		if got := Parse([]byte(c.file)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Whatever a cgroup is called, what comes out is an ID or nothing: it becomes a label.
func FuzzParse(f *testing.F) {
	f.Add([]byte("0::/kubepods/pod" + uid + "/" + id))
	f.Add([]byte("0::/a.slice:b:" + id))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Parse(data)
		if got.UID != "" && !isUID(got.UID) || got.Container != "" && !isContainer(got.Container) || len(got.Short()) > 12 {
			t.Errorf("%q: %+v", data, got)
		}
	})
}
