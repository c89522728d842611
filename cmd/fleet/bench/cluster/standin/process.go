//go:build unix

package standin

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// command makes the process of a container, with a new log.
func (k *Kubelet) command(r *running, c *corev1.Container, root string) (*exec.Cmd, *log, error) {
	out := newLog()
	k.mu.Lock()
	r.logs[c.Name] = append(r.logs[c.Name], out)
	k.mu.Unlock()
	at := k.paths(r, c, root)
	words := append([]string{}, c.Command...)
	words = append(words, c.Args...)
	for i, w := range words {
		words[i] = at(strings.ReplaceAll(w, "$$", "$"))
	}
	if len(words) == 0 {
		return nil, out, errors.New("the container has no command")
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = r.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "HOSTNAME=" + r.pod.Name}, k.Env...)
	for _, e := range c.Env {
		value := strings.ReplaceAll(e.Value, "$$", "$")
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "spec.nodeName" {
			value = k.Node
		}
		cmd.Env = append(cmd.Env, e.Name+"="+at(value))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for children that hold the log
	return cmd, out, nil
}

// wait returns the exit code of a process, which it ends when ctx does.
func wait(ctx context.Context, cmd *exec.Cmd) int {
	const grace = 2 * time.Second
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(grace)
		_ = killGroup(cmd.Process.Pid)
	})
	defer stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal())
		}
		return exit.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return 1
	}
	return 0
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
