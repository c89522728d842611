package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
)

func kubernetesFlag(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "kubernetes", "", "print a patch of this `container`: [KIND/]NAME[:CONTAINER]")
}

func kubernetesTarget(s string) (kubernetes.Target, error) {
	t, err := kubernetes.ParseTarget(s)
	if err != nil {
		return t, misusef("--kubernetes %v", err)
	}
	return t, nil
}

// kubernetesPatch prints the patch that a result of tune recommends. name is what an error
// calls the result.
func (a *app) kubernetesPatch(out io.Writer, f *result.File, t kubernetes.Target, name string) error {
	p, err := kubernetes.OfTune(f)
	if err != nil {
		return fmt.Errorf("--kubernetes: %s: %w", name, err)
	}
	text, err := p.YAML(t)
	if err != nil {
		return fmt.Errorf("--kubernetes: %s: %w", name, err)
	}
	_, err = io.WriteString(out, text)
	return err
}
