#!/usr/bin/env bash
# Builds the parts of a Kubernetes control plane from the Go proxy: etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler, kubectl and kwok, and prints the directory where
# they are. What was built is kept: a second call takes no time.
#
#   fleet/bench/cluster/build.sh [directory]     default: ~/.cache/folio-cluster
#
# k8s.io/kubernetes cannot be installed by its module path, because its go.mod replaces the
# modules that are below its staging directory; kubernetes/go.mod replaces them by the
# published versions instead.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/folio-cluster}
mkdir -p "$dir"
export GOWORK=off GOFLAGS=-mod=readonly
build() { # module package program
  local version
  version=$(cksum <"$here/$1/go.mod" | cut -d' ' -f1)
  if [[ ! -x $dir/$3 || $(cat "$dir/$3.of" 2>/dev/null) != "$version" ]]; then
    echo "building $3" >&2
    (cd "$here/$1" && go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$dir/$3" "$2")
    echo "$version" >"$dir/$3.of"
  fi
}
build etcd go.etcd.io/etcd/server/v3 etcd
for program in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
  build kubernetes "k8s.io/kubernetes/cmd/$program" "$program"
done
build kwok sigs.k8s.io/kwok/cmd/kwok kwok
# What kwok does with nodes and pods: its own stages, from its module.
stages=$(cd "$here/kwok" && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
for stage in "$stages"/{node/fast/node,node/heartbeat-with-lease/node,pod/fast/pod}-*.yaml; do
  echo ---
  cat "$stage"
done >"$dir/kwok.yaml"
echo "$dir"
