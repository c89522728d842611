//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// A cluster is a control plane that runs.
type cluster struct {
	*options
	dir    string
	config *rest.Config
	client *kubernetes.Clientset
	cmds   []*exec.Cmd
	begun  time.Time
}

func (c *cluster) say(format string, args ...any) {
	fmt.Printf("%6.1f s  %s\n", time.Since(c.begun).Seconds(), fmt.Sprintf(format, args...))
}

// start starts the control plane, and waits until it answers.
func start(ctx context.Context, o *options) (*cluster, error) {
	dir, err := os.MkdirTemp("", "folio-cluster-")
	if err != nil {
		return nil, err
	}
	c := &cluster{options: o, dir: dir, begun: time.Now()}
	ports, err := freePorts(3)
	if err != nil {
		return c, err
	}
	etcd, peers := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	server := "https://127.0.0.1:" + ports[2]
	if err := c.files(server); err != nil {
		return c, err
	}
	if err := c.begin(ctx, "etcd", "--data-dir", c.file("etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers,
		"--unsafe-no-fsync", "--quota-backend-bytes", "4294967296", "--log-level", "warn"); err != nil {
		return c, err
	}
	if err := c.begin(ctx, "kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", ports[2],
		"--cert-dir", c.file("certs"), "--token-auth-file", c.file("tokens"), "--authorization-mode", "RBAC",
		"--service-account-key-file", c.file("key"), "--service-account-signing-key-file", c.file("key"),
		"--service-account-issuer", "https://folio.example", "--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged",
		"--max-requests-inflight", "2000", "--max-mutating-requests-inflight", "1000"); err != nil {
		return c, err
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig()); err != nil {
		return c, err
	}
	c.config.QPS, c.config.Burst = 2000, 2000
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return c, err
	}
	if err := c.await(ctx, 2*time.Minute, "the API server", func() (bool, error) {
		text, err := c.client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil && string(text) == "ok", c.alive()
	}); err != nil {
		return c, err
	}
	c.say("kube-apiserver %s answers", versionOf(filepath.Join(o.bin, "kube-apiserver")))
	if err := c.begin(ctx, "kube-controller-manager", "--kubeconfig", c.kubeconfig(), "--leader-elect=false", "--secure-port", "0",
		"--service-account-private-key-file", c.file("key"), "--kube-api-qps", "500", "--kube-api-burst", "500",
		"--node-monitor-grace-period", "120s", "--controllers",
		"job-controller,node-lifecycle-controller,namespace-controller,garbage-collector-controller,serviceaccount-controller,daemonset-controller,pod-garbage-collector-controller,ttl-after-finished-controller,root-ca-certificate-publisher-controller"); err != nil {
		return c, err
	}
	if err := c.begin(ctx, "kube-scheduler", "--kubeconfig", c.kubeconfig(), "--leader-elect=false", "--secure-port", "0"); err != nil {
		return c, err
	}
	if err := c.begin(ctx, "kwok", "--kubeconfig", c.kubeconfig(), "--config", filepath.Join(c.bin, "kwok.yaml"), "--manage-nodes-with-annotation-selector", kwokAnnotation+"=fake",
		"--manage-all-nodes=false", "--server-address", "", "--node-lease-duration-seconds", "40"); err != nil {
		return c, err
	}
	return c, c.await(ctx, time.Minute, "the account of the namespace default", func() (bool, error) {
		_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, c.alive()
	})
}

// versionOf is the version of Kubernetes that a program was built from.
func versionOf(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "of an unknown version"
	}
	for _, m := range info.Deps {
		if m.Path == "k8s.io/kubernetes" {
			return m.Version
		}
	}
	return info.Main.Version
}

func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }
func (c *cluster) kubeconfig() string      { return c.file("kubeconfig") }

// files writes what the programs read.
func (c *cluster) files(server string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	token := rand.Text()
	return errors.Join(
		os.WriteFile(c.file("key"), data, 0o600),
		os.WriteFile(c.file("tokens"), []byte(token+",admin,admin,system:masters\n"), 0o600),
		writeKubeconfig(c.kubeconfig(), server, token))
}

// writeKubeconfig writes a kubeconfig for a server with a certificate of its own making.
func writeKubeconfig(path, server, token string) error {
	k := api.NewConfig()
	k.Clusters["local"] = &api.Cluster{Server: server, InsecureSkipTLSVerify: true}
	k.AuthInfos["user"] = &api.AuthInfo{Token: token}
	k.Contexts["local"] = &api.Context{Cluster: "local", AuthInfo: "user"}
	k.CurrentContext = "local"
	return clientcmd.WriteToFile(*k, path)
}

func freePorts(n int) (out []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		out = append(out, port)
	}
	return out, nil
}

// begin starts a program that ends with this one. Its log is kept for errors.
func (c *cluster) begin(_ context.Context, name string, args ...string) error {
	log, err := os.Create(c.file(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmds = append(c.cmds, cmd)
	go func() { _ = cmd.Wait() }()
	return nil
}

// alive is the error of a program that ended.
func (c *cluster) alive() error {
	for _, cmd := range c.cmds {
		if cmd.Process.Signal(syscall.Signal(0)) != nil {
			name := filepath.Base(cmd.Path)
			log, _ := os.ReadFile(c.file(name + ".log"))
			lines := strings.Split(strings.TrimSpace(string(log)), "\n")
			return fmt.Errorf("%s ended: %s", name, strings.Join(lines[max(0, len(lines)-5):], "\n"))
		}
	}
	return nil
}

// await waits until ok.
func (c *cluster) await(ctx context.Context, most time.Duration, what string, ok func() (bool, error)) error {
	for end := time.Now().Add(most); time.Now().Before(end); {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("not within %v: %s", most, what)
}

// stop ends all programs, the last one first, and removes their files.
func (c *cluster) stop() error {
	for i := len(c.cmds) - 1; i >= 0; i-- {
		p := c.cmds[i].Process
		_ = p.Signal(syscall.SIGTERM)
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && p.Signal(syscall.Signal(0)) == nil; {
			time.Sleep(20 * time.Millisecond)
		}
		_ = p.Kill()
	}
	if os.Getenv("FOLIO_CLUSTER_KEEP") != "" {
		fmt.Println("logs are in", c.dir)
		return nil
	}
	return os.RemoveAll(c.dir)
}

// kubectl runs kubectl and returns what it prints.
func (c *cluster) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "kubectl"), append([]string{"--kubeconfig", c.kubeconfig()}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
