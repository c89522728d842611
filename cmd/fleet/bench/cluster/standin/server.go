//go:build unix

package standin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Serve listens on a loopback address for the API server, which asks for logs there, and
// registers the node, with its address. It returns when it is ready; the server ends with
// ctx.
func (k *Kubelet) Serve(ctx context.Context) error {
	cert, err := selfSigned()
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: k, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() { _ = server.Serve(listener) }()
	if err := k.register(ctx, int32(listener.Addr().(*net.TCPAddr).Port)); err != nil {
		server.Close()
		return err
	}
	go k.beat(ctx)
	return nil
}

// ServeHTTP serves /containerLogs/NAMESPACE/POD/CONTAINER.
func (k *Kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 4 || parts[0] != "containerLogs" {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	log, err := k.Logs(r.Context(), parts[2], &corev1.PodLogOptions{Container: parts[3], Follow: q.Get("follow") == "true", Previous: q.Get("previous") == "true"})
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer log.Close()
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := log.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			_ = flush.Flush()
		}
		if err != nil {
			return
		}
	}
}

// register makes the node known.
func (k *Kubelet) register(ctx context.Context, port int32) error {
	node := &corev1.Node{}
	node.Name = k.Node
	node.Labels = map[string]string{corev1.LabelHostname: k.Node, corev1.LabelOSStable: "linux"}
	maps.Copy(node.Labels, k.Labels)
	nodes := k.Client.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return k.status(ctx, func(s *corev1.NodeStatus) {
		s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
		s.DaemonEndpoints.KubeletEndpoint.Port = port
		list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"),
			corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi")}
		s.Capacity, s.Allocatable = list, list
	})
}

// status changes the status of the node, and says that it is ready.
func (k *Kubelet) status(ctx context.Context, change func(*corev1.NodeStatus)) error {
	var err error
	for range 5 {
		var node *corev1.Node
		if node, err = k.Client.CoreV1().Nodes().Get(ctx, k.Node, metav1.GetOptions{}); err != nil {
			return err
		}
		change(&node.Status)
		now := metav1.Now()
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "StandIn",
			LastHeartbeatTime: now, LastTransitionTime: now}}
		if _, err = k.Client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// beat says again and again that the node is there, until it is lost.
func (k *Kubelet) beat(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
		}
		k.mu.Lock()
		lost := k.lost
		k.mu.Unlock()
		if !lost {
			_ = k.status(ctx, func(*corev1.NodeStatus) {})
		}
	}
}

// selfSigned makes a certificate: the API server does not check that of a kubelet unless it
// is told to.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
