// Command goversions says which releases of Go Folio is tested with, and warns when
// there are newer ones.
//
//	go run ./cmd/bench/goversions            warn when a newer release is out
//	go run ./cmd/bench/goversions -newest    print the newest release that tests use
//	go run ./cmd/bench/goversions -patches   print the releases that patches are for
//
// It asks the module proxy of the go command (GOPROXY). Without one, or without an
// answer in 20 seconds, it says so. It never fails for what is out there: a new release
// must not turn a change red that has nothing to do with it.
package main

import (
	"context"
	"flag"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

const patience = 20 * time.Second

func main() {
	newest := flag.Bool("newest", false, "print the newest release that tests use")
	patches := flag.Bool("patches", false, "print the releases that patches are for")
	flag.Parse()
	switch {
	case *newest:
		fmt.Println(goversion.Newest())
	case *patches:
		fmt.Println(strings.Join(goversion.SupportOf(goversion.Patches).Releases(), " "))
	default:
		fmt.Println(check())
	}
}

// check says what the proxy knows.
func check() string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-versions", "golang.org/toolchain")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Sprintf("warning: cannot ask for the releases of Go: %v", err)
	}
	return verdict(string(out))
}

// verdict says what a list of the versions of golang.org/toolchain means.
func verdict(list string) string {
	later := laterIn(list)
	if len(later) == 0 {
		return fmt.Sprintf("%s is the newest release", goversion.Newest())
	}
	return fmt.Sprintf("warning: %s: newer than %s, the newest release that tests use; docs/new-go-version.md says what to do",
		strings.Join(later, ", "), goversion.Newest())
}

// laterIn returns the releases in a list of versions, such as
// "v0.0.1-go1.27.4.linux-amd64", that are later than those of the table, in order.
func laterIn(list string) []string {
	var out []string
	for _, word := range strings.Fields(list) {
		release, ok := strings.CutSuffix(strings.TrimPrefix(word, "v0.0.1-"), "."+runtime.GOOS+"-"+runtime.GOARCH)
		if ok && goversion.Later(release) {
			out = append(out, release)
		}
	}
	slices.SortFunc(out, version.Compare)
	return slices.Compact(out)
}
