package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeFlags say which cluster is meant.
type kubeFlags struct{ kubeconfig, context string }

func (f *kubeFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default that of kubectl)")
	fs.StringVar(&f.context, "context", "", "`name` of a context of the kubeconfig (default the current one)")
}

func (f *kubeFlags) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find the Kubernetes API: %w; give --kubeconfig, or set KUBECONFIG", err)
	}
	config.UserAgent, config.Timeout = "folio-fleet", 0
	return config, nil
}
