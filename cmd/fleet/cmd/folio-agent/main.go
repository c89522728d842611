// Command folio-agent measures what memory costs the Go processes of a node, and serves
// it as Prometheus metrics. Run "folio-agent --help".
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/command"
)

const name = "folio-agent"

const long = `folio-agent measures what memory costs the Go processes of a node, by pod and container.

  folio-agent serve     Prometheus metrics, and profiles on demand; reads only
  folio-agent act       huge pages, GOGC and GOMEMLIMIT by a policy, for pods that opted in

Both run as containers of a DaemonSet with hostPID: see
https://github.com/foliomem/folio/blob/main/docs/fleet.md`

func main() { os.Exit(command.Main(name, os.Args[1:], newRoot)) }

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	return command.Root(name, "Measure what memory costs the Go processes of a node", long, stdout, stderr,
		newServe(stderr), newAct(stderr))
}
