package usage

import (
	"errors"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestNearest(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range []string{"json", "metric", "gomaxprocs", "ready", "ready-timeout", "a"} {
		fs.String(name, "", "")
	}
	for name, want := range map[string]string{"jsn": "json", "metrics": "metric", "gomaxproc": "gomaxprocs",
		"xyzzy": "", "q": "", "ready-time": "ready-timeout"} {
		if got := nearest(fs, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Each mistake is a usage.Error, in one line that does not name the program.
func TestStrict(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--limit", "abc"}, `--limit "abc": want a whole number`},
		{[]string{"run", "--limit", "99999999999999999999"}, "--limit 99999999999999999999: the number is too large"},
		{[]string{"run", "--limit", "1", "--limit", "2"}, "--limit 1 and --limit 2: give one"},
		{[]string{"run", "--wait", "5"}, `--wait "5": want a duration, such as 30s or 5m`},
		{[]string{"run", "--sort="}, "--sort: the value is empty"},
		{[]string{"run", "--sort", "--limit"}, "--sort: no value given before --limit"},
		{[]string{"run", "--sort"}, "--sort: no value given: see 'prog run --help'"},
		{[]string{"run", "--list", `a"b`}, `--list "a\"b": want names with commas, such as a,b`},
		{[]string{"run", "--limt", "1"}, "unknown flag --limt: did you mean --limit?"},
		{[]string{"run", "-x"}, "unknown flag -x: see 'prog run --help'"},
		{[]string{"run", "-limit", "1"}, "unknown flag -limit: did you mean --limit?"},
		{[]string{"run", "-limit=1"}, "unknown flag -limit=1: did you mean --limit=1?"},
		{[]string{"nosuch", "-x"}, "unknown command nosuch: see 'prog --help'"},
		{[]string{"-x"}, "unknown flag -x: see 'prog --help'"},
		{[]string{"run", "x"}, "run takes no arguments: got x"},
		{[]string{"rum"}, "unknown command rum: did you mean run?"},
		{[]string{"nosuch"}, "unknown command nosuch: see 'prog --help'"},
		{[]string{"help", "nosuch"}, "unknown command nosuch: see 'prog --help'"},
		{[]string{"completion", "nosuch"}, "completion nosuch: want bash, zsh, fish or powershell"},
		{[]string{"completion", "bahs"}, "unknown command bahs: did you mean bash?"},
	} {
		root := &cobra.Command{Use: "prog", Args: OnlyCommands, SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
		run := &cobra.Command{Use: "run", Args: NoArgs, RunE: func(*cobra.Command, []string) error { return nil }}
		run.Flags().Int("limit", 0, "")
		run.Flags().Duration("wait", time.Second, "")
		run.Flags().String("sort", "", "")
		run.Flags().StringSlice("list", nil, "")
		root.AddCommand(run)
		Strict(root)
		root.SetArgs(c.args)
		err := root.Execute()
		var wrong *Error
		if !errors.As(err, &wrong) || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
}
