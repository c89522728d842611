// Package kube knows the pods of one node by the Kubernetes API: it lists and watches those
// with spec.nodeName of its node alone, and keeps of each only what names it. The cache is
// bounded by the pods that the kubelet runs, not by the cluster.
package kube
