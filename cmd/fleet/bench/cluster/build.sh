#!/usr/bin/env bash
# Builds the parts of a Kubernetes control plane from the Go proxy: etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler, kubectl and kwok, and prints the directory where
# they are. What was built is kept: a second call takes no time. From nothing it takes some
# 17 minutes of CPU time, and 6 GB: 0.5 GB of programs, 1.0 GB of modules and 4.6 GB in the
# build cache, which "go clean -cache" frees.
#
#   cmd/fleet/bench/cluster/build.sh [directory]     default: ~/.cache/folio-cluster
#
# k8s.io/kubernetes cannot be installed by its module path, because its go.mod replaces the
# modules that are below its staging directory; kubernetes/go.mod replaces them by the
# published versions instead.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/folio-cluster}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd) # also for the builds, which are elsewhere
export GOWORK=off GOFLAGS=-mod=readonly
stale() { # module file: it is missing, or of another version of the module
	[[ ! -e $dir/$2 || $(cat "$dir/$2.of" 2>/dev/null) != "$(version "$1")" ]]
}
version() { cksum <"$here/$1/go.mod" | cut -d' ' -f1; }
build() { # module package program
	stale "$1" "$3" || return 0
	echo "building $3" >&2
	(cd "$here/$1" && go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$dir/$3" "$2")
	version "$1" >"$dir/$3.of"
}
build etcd go.etcd.io/etcd/server/v3 etcd
for program in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
	build kubernetes "k8s.io/kubernetes/cmd/$program" "$program"
done
build kwok sigs.k8s.io/kwok/cmd/kwok kwok
# What kwok does with nodes and pods: its own stages, from its module.
if stale kwok kwok.yaml; then
	stages=$(cd "$here/kwok" && go mod download sigs.k8s.io/kwok >&2 && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
	for stage in "$stages"/{node/fast/node,node/heartbeat-with-lease/node,pod/fast/pod}-*.yaml; do
		echo ---
		cat "$stage"
	done >"$dir/kwok.yaml.new"
	mv "$dir/kwok.yaml.new" "$dir/kwok.yaml"
	version kwok >"$dir/kwok.yaml.of"
fi
echo "$dir"
