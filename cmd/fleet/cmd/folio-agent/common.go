package main

import (
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/fleet/internal/kube"
	"github.com/foliomem/folio/cmd/internal/base/usage"
)

// common are the flags of both commands.
type common struct {
	node, kubernetes, kubeconfig string
	logFormat, logLevel          string
}

func (c *common) add(fs *pflag.FlagSet) {
	fs.StringVar(&c.node, "node", "", "`name` of the node (default $NODE_NAME, else the host name)")
	fs.StringVar(&c.kubernetes, "kubernetes", "auto", "use the Kubernetes API for the names of pods: `mode` auto, on or off; auto is on in a pod")
	fs.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default the service account of the pod)")
	fs.StringVar(&c.logFormat, "log-format", "text", "log `format`: text or json")
	fs.StringVar(&c.logLevel, "log-level", "info", "log `level`: debug, info, warn or error")
}

func (c *common) logger(w io.Writer) (*slog.Logger, error) {
	return command.Logger(w, c.logFormat, c.logLevel)
}

// nodeName is the node's name, by flag, environment or host.
func (c *common) nodeName() string {
	if c.node == "" {
		c.node = os.Getenv("NODE_NAME")
	}
	if c.node == "" {
		c.node, _ = os.Hostname() // without a name the label is empty
	}
	return c.node
}

// openCgroups says when there are none: a wrong flag, or a volume that is missing.
func openCgroups(dir string, log *slog.Logger) *cgroups.Root {
	root := cgroups.Open(dir)
	if !root.Found() {
		log.Warn("no cgroups: memory limits and page cache of containers are not known", "cgroup-root", dir)
	}
	return root
}

// directory opens the API; nil where it is not used.
func (c *common) directory(log *slog.Logger) (*kube.Directory, error) {
	switch c.kubernetes {
	case "on":
	case "off":
		return nil, nil
	case "auto":
		if c.kubeconfig == "" && !kube.InCluster() {
			return nil, nil
		}
	default:
		return nil, usage.Errorf("--kubernetes %q: want auto, on or off", c.kubernetes)
	}
	config, err := kube.Config(c.kubeconfig)
	if err != nil {
		return nil, err
	}
	return kube.NewDirectory(config, c.nodeName(), log)
}

// Bounds of the agent's own heap: it is small, and a GC cycle of it costs little.
const (
	ownGOGC  = 50
	ownLimit = 40 << 20
)

func boundMemory() {
	runtime.MemProfile(nil, false) // else the linker switches the heap profile off, which folio inspect --heap reads
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(ownGOGC)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(ownLimit)
	}
}
