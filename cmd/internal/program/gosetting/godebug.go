package gosetting

import (
	"fmt"
	"go/version"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/spelling"
)

// known are the settings of GODEBUG, by the minor versions of Go that have them. Its test makes
// it again of the sources of each version.
var known = []struct {
	from, to int    // 0: all that the table knows; those before Go 1.21 are not told apart
	number   bool   // the runtime reads it itself, as a whole number; others are text
	names    string // separated by space
}{
	{0, 0, true, `adaptivestackstart asyncpreemptoff cgocheck clobberfree disablethp dontfreezetheworld efence gccheckmark
		gcpacertrace gcshrinkstackoff gcstoptheworld gctrace harddecommit inittrace invalidptr madvdontneed
		memprofilerate panicnil sbrk scavtrace scheddetail schedtrace tracebackancestors tracefpunwindoff`},
	{0, 22, true, `allocfreetrace`},
	{22, 0, true, `traceadvanceperiod`},
	{22, 24, true, `runtimecontentionstacks`},
	{23, 0, true, `profstackdepth traceallocfree tracecheckstackownership`},
	{23, 26, true, `asynctimerchan`},
	{24, 0, true, `dataindependenttiming`},
	{25, 0, true, `checkfinalizers containermaxprocs decoratemappings updatemaxprocs`},
	{26, 0, true, `tracebacklabels`},
	{0, 0, false, `execerrdot gocachehash gocachetest gocacheverify http2client http2debug http2server installgoroot
		jstmpllitinterp multipartmaxheaders multipartmaxparts multipathtcp netdns netedns0 randautoseed
		tarinsecurepath tlsmaxrsasize x509usefallbackroots zipinsecurepath`},
	{0, 23, false, `x509sha1`},
	{22, 0, false, `httplaxcontentlength httpmuxgo121 x509usepolicies`},
	{22, 26, false, `gotypesalias tls10server tlsrsakex tlsunsafeekm`},
	{23, 0, false, `allowmultiplevcs httpservecontentkeepheaders winreadlinkvolume winsymlink x509negativeserial`},
	{23, 23, false, `tlskyber`},
	{23, 26, false, `tls3des x509keypairleaf`},
	{24, 0, false, `fips140 gotestjsonbuildtext httpcookiemaxnum randseednop rsa1024min tlsmlkem urlmaxqueryparams x509rsacrt`},
	{25, 0, false, `embedfollowsymlinks tlssha1 x509sha256skid`},
	{26, 0, false, `cryptocustomrand fips140ems htmlmetacontenturlescape tlssecpmlkem urlstrictcolons`},
	{27, 0, false, `httpservecontentmaxranges x509sslcertoverrideplatform`},
	// Not in the tables of Go: these read GODEBUG themselves.
	{0, 0, false, `fuzzdebug fuzzseed goindex http2xconnect quiclogpackets`},
}

// oldest is the first minor version that known tells apart.
const oldest = 21

// godebug returns the settings of a value of GODEBUG that are not read: the runtime passes over
// them without a word.
func godebug(value, release string) (out []*Problem) {
	for field := range strings.SplitSeq(value, ",") {
		if field == "" {
			continue
		}
		name, v, ok := strings.Cut(field, "=")
		if p := checkField(name, v, ok, release); p != nil {
			p.Variable = "GODEBUG=" + field
			out = append(out, p)
		}
	}
	return out
}

func checkField(name, value string, ok bool, release string) *Problem {
	if strings.HasPrefix(name, "cpu.") {
		return nil // of this CPU: the runtime prints those that it does not know
	}
	var names []string
	for _, k := range known {
		for n := range strings.FieldsSeq(k.names) {
			if n != name {
				names = append(names, n)
				continue
			}
			switch minor := minorOf(release); {
			case !ok:
				return &Problem{Does: "a Go program ignores a setting without a value", Want: "NAME=VALUE, such as GODEBUG=" + name + "=1"}
			case minor >= oldest && k.from > minor:
				return &Problem{Unknown: true, Does: fmt.Sprintf("%s does not know this setting: Go 1.%d and later do", release, k.from)}
			case k.to > 0 && minor > k.to:
				return &Problem{Unknown: true, Does: fmt.Sprintf("%s does not know this setting: Go 1.%d was the last that did", release, k.to)}
			case k.number && !readsNumber(value):
				p := &Problem{Does: "a Go program ignores this value", Want: "a whole number, such as GODEBUG=" + name + "=1"}
				if between := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ';' }); len(between) > 1 && strings.Contains(between[1], "=") {
					p.Meant = "GODEBUG=" + name + "=" + strings.Join(between, ",")
				}
				return p
			}
			return nil
		}
	}
	p := &Problem{Unknown: true, Does: "no version of Go has this setting of GODEBUG"}
	if trimmed := strings.TrimSpace(name); trimmed != name && slices.Contains(names, trimmed) {
		p.Meant = "GODEBUG=" + trimmed + "=" + value
	} else if near := spelling.Nearest(name, names); near != "" {
		p.Meant = "GODEBUG=" + near + "=" + value
	}
	return p
}

// minorOf is the minor version of a release of Go; 0 for what is not a release.
func minorOf(release string) int {
	release, _, _ = strings.Cut(release, " ") // behind it are experiments
	n, _ := strconv.Atoi(strings.TrimPrefix(version.Lang(release), "go1."))
	return n
}
