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
	fs.StringVar(&o.URL, "prometheus", "http://127.0.0.1:9090", "`URL` of Prometheus, or of what answers its API: Thanos, Mimir (with /prometheus)")
	fs.StringVar(&o.TokenFile, "token-file", "", "`file` with a bearer token; read again for each request")
	fs.StringVar(&o.CAFile, "ca-file", "", "`file` with the certificates that the server's is checked against (default those of the system)")
	fs.StringVar(&o.CertFile, "cert-file", "", "`file` with a client certificate")
	fs.StringVar(&o.KeyFile, "key-file", "", "`file` with its key")
	fs.StringVar(&o.ServerName, "server-name", "", "`name` that the server's certificate must have (default that of the URL)")
	fs.StringArrayVar(&o.Headers, "header", nil, "a `header` of each request, such as 'X-Scope-OrgID: team'; repeatable")
	fs.StringVar(&o.Matcher, "matcher", "", "`matchers` of series, such as 'cluster=\"a\"', where the server has several clusters")
	fs.DurationVar(&o.Timeout, "timeout", 30*time.Second, "`duration` after which a request fails")
}
