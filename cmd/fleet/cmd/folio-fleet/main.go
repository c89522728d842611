// Command folio-fleet answers from Prometheus what services lose to memory, and what they
// should set. Run "folio-fleet --help".
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/command"
)

const name = "folio-fleet"

const long = `folio-fleet reads from Prometheus what the services of a fleet lose to memory, recommends
settings for them, and compares settings, on several nodes or on pods that serve. It changes
no workload, except during a canary.`

func main() { os.Exit(command.Main(name, os.Args[1:], newRoot)) }

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	return command.Root(name, "What services lose to memory, and what they should set", long, stdout, stderr,
		newRules(stdout),
		newTop(stdout),
		newRecommend(stdout),
		newDashboard(stdout),
		newTune(stdout, stderr),
		newCanary(stdout, stderr),
		newRounds(stdout),
	)
}
