package prom

import (
	"time"

	"github.com/spf13/pflag"
)

// Options say which server is asked, and how.
type Options struct {
	URL        string
	TokenFile  string
	CAFile     string
	CertFile   string
	KeyFile    string
	ServerName string
	Headers    []string
	Matcher    string // of every selector: cluster="a"
	Timeout    time.Duration
}

// Add adds the flags of the options.
func (o *Options) Add(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "prometheus", "http://127.0.0.1:9090", "`URL` of Prometheus, or of a server with its API: Thanos, Mimir (with /prometheus)")
	fs.StringVar(&o.TokenFile, "token-file", "", "bearer token: a `file`, read again for each request")
	fs.StringVar(&o.CAFile, "ca-file", "", "CA certificates to verify the server with: a `file` (default those of the system)")
	fs.StringVar(&o.CertFile, "cert-file", "", "client certificate: a `file`")
	fs.StringVar(&o.KeyFile, "key-file", "", "key of the client certificate: a `file`")
	fs.StringVar(&o.ServerName, "server-name", "", "`name` in the certificate of the server (default that of the URL)")
	fs.StringArrayVar(&o.Headers, "header", nil, "request `header`, such as 'X-Scope-OrgID: team' (repeatable)")
	fs.StringVar(&o.Matcher, "matcher", "", "only series with these `labels`, such as 'cluster=\"a\"' on a server of several clusters")
	fs.DurationVar(&o.Timeout, "timeout", 30*time.Second, "fail requests that take longer than this `duration`")
}
