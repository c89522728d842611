package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// goFlags are the values of the flags that set variables of Go's runtime, in the order of
// [trial.GoVariables]; those of folio exec are fewer.
type goFlags [len(trial.GoVariables)]string

func (f *goFlags) add(fs *pflag.FlagSet, exec bool, otherwise string) {
	for i, v := range trial.GoVariables {
		if v.Exec || !exec {
			fs.StringVar(&f[i], v.Flag, "", v.Name+": "+v.Help+" (default "+otherwise+")")
		}
	}
}

// setting returns the setting of the flags.
func (f *goFlags) setting() (s trial.Setting, err error) {
	for i, v := range trial.GoVariables {
		if err := v.Set(&s, f[i]); err != nil {
			return s, fmt.Errorf("--%s: %w", v.Flag, err)
		}
	}
	return s, nil
}

// setting returns the setting of the flags, which no --env may contradict.
func (f *runFlags) setting() (trial.Setting, error) {
	s, err := f.runtime.setting()
	for i, v := range trial.GoVariables {
		if kv := f.envOf(v.Name); err == nil && kv != "" && f.runtime[i] != "" {
			err = fmt.Errorf("--env %s and --%s %s both set %s: give one", kv, v.Flag, f.runtime[i], v.Name)
		}
	}
	return s, err
}

// A tried is the values of flags of folio tune that are to be tried, in the order of
// [trial.GoVariables]; none of those that it searches itself.
type tried [len(trial.GoVariables)][]string

func (t *tried) add(cmd *cobra.Command) {
	cmd.Annotations = make(map[string]string) // of unknown flags
	for i, v := range trial.GoVariables {
		if v.Searched {
			cmd.Annotations["--"+v.Flag] = fmt.Sprintf("tune searches %s itself; folio run takes --%s", v.Name, v.Flag)
		} else {
			cmd.Flags().StringSliceVar(&t[i], v.Flag, nil, "also try "+v.Name+" "+v.Help+", or several, such as 1,2,4")
		}
	}
}

// settings returns one setting a value.
func (t *tried) settings() (out []trial.Setting, err error) {
	for i, v := range trial.GoVariables {
		for _, value := range t[i] {
			var s trial.Setting
			if value == "" {
				return nil, fmt.Errorf("--%s %q: a value is empty", v.Flag, strings.Join(t[i], ","))
			}
			if err := v.Set(&s, value); err != nil {
				return nil, fmt.Errorf("--%s: %w", v.Flag, err)
			}
			out = append(out, s)
		}
	}
	return out, nil
}
