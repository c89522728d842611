package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

// Names of folio's caches, below its directory in the user's cache.
const (
	Toolchains = "toolchains" // a module cache that has nothing but toolchains
	Builds     = "builds"     // a build cache of go
	Profiles   = "profiles"   // that --pgo auto made
)

// oldest is the oldest release that is built with: older ones cannot be chosen by
// GOTOOLCHAIN in every module.
const oldest = "go1.21"

var release = regexp.MustCompile(`^go1\.[0-9]+(\.[0-9]+|(rc|beta)[0-9]+)$`)

// Parse reads a release of Go, with go before it or without.
func Parse(s string) (string, error) {
	v := s
	if !strings.HasPrefix(v, "go") {
		v = "go" + v
	}
	switch {
	case version.IsValid(v) && version.Compare(v, oldest) < 0: // before it, go1.20 was a release, too
		return "", fmt.Errorf("%s is too old: want %s or later", v, oldest+".0")
	case version.IsValid(v) && version.Lang(v) == v:
		return "", fmt.Errorf("%q is a version of the language: want a release, such as %s", s, releaseOf(v))
	case !release.MatchString(v):
		return "", fmt.Errorf("%q is not a release of Go: use one such as go1.27.4", s)
	}
	return v, nil
}

// releaseOf returns a release of a version of the language, the newest that Folio knows if
// it knows none of it.
func releaseOf(lang string) string {
	for _, r := range goversion.Releases {
		if version.Lang(r) == lang {
			return r
		}
	}
	return goversion.Newest()
}

// A Finder finds toolchains.
type Finder struct {
	Dir string // folio's module cache of toolchains

	goCommand   string
	local, root string // the go command's own version and GOROOT
	modules     string // the user's module cache
	proxy       string // GOPROXY
	os, arch    string
}

// NewFinder asks the go command of PATH what it has.
func NewFinder(ctx context.Context) (*Finder, error) {
	f := &Finder{}
	var err error
	if f.Dir, err = scratch.Cache(Toolchains); err != nil {
		return nil, err
	}
	if f.goCommand, err = exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("%w: install Go, or put it into PATH", err)
	}
	var got struct{ GOROOT, GOVERSION, GOHOSTOS, GOHOSTARCH, GOMODCACHE, GOPROXY string }
	out, err := f.run(ctx, []string{"GOTOOLCHAIN=local"}, "env", "-json", "GOROOT", "GOVERSION", "GOHOSTOS", "GOHOSTARCH", "GOMODCACHE", "GOPROXY")
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	f.local, _, _ = strings.Cut(got.GOVERSION, " ")
	f.root, f.modules, f.proxy, f.os, f.arch = got.GOROOT, got.GOMODCACHE, got.GOPROXY, got.GOHOSTOS, got.GOHOSTARCH
	return f, nil
}

// run runs the go command in folio's own directory, where no go.mod chooses a toolchain.
func (f *Finder) run(ctx context.Context, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, f.goCommand, args...)
	cmd.Dir = f.Dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=", "PWD="+f.Dir), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = errors.New(text)
	}
	return out, err
}

// Have returns the GOROOT of a release that is there already: the go command's own, in
// the user's module cache or in folio's; "" for none.
func (f *Finder) Have(release string) string {
	if release == f.local {
		return f.root
	}
	module := fmt.Sprintf("v0.0.1-%s.%s-%s", release, f.os, f.arch)
	for _, dir := range []string{f.modules, f.Dir} {
		root := filepath.Join(dir, "golang.org", "toolchain@"+module)
		info, err := os.Stat(filepath.Join(root, "bin", "go"))
		if err != nil || info.Mode()&0o111 == 0 {
			continue // not there, or the go command was ended before it was done
		}
		if _, err := os.Stat(filepath.Join(dir, "cache", "download", "golang.org", "toolchain", "@v", module+".partial")); err == nil {
			continue
		}
		return root
	}
	return ""
}

// Download downloads a release as the go command does, checked against the checksum
// database, and returns its GOROOT.
func (f *Finder) Download(ctx context.Context, release string) (root string, err error) {
	out, err := f.run(ctx, []string{"GOTOOLCHAIN=" + release, "GOMODCACHE=" + f.Dir, "GOROOT="}, "env", "GOROOT")
	if ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", f.why(release, err.Error())
	}
	if root = strings.TrimSpace(string(out)); root == "" {
		return "", fmt.Errorf("the go command downloaded %s and does not say where it is", release)
	}
	return root, nil
}

// why says in a line why a release could not be downloaded, and what to do.
func (f *Finder) why(release, said string) error {
	lines := strings.Split(said, "\n")
	last := lines[0]
	for _, l := range lines {
		if !strings.HasPrefix(l, "go: downloading ") && !strings.HasPrefix(l, "\t") {
			last = strings.TrimPrefix(l, "go: ")
		}
	}
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(said, t) {
				return true
			}
		}
		return false
	}
	const fix = "install it with the network on, or leave it out"
	switch {
	case IsFull(said):
		return fmt.Errorf("%s cannot be downloaded: the disk of %s is full: remove something ('folio cache clean'), or set XDG_CACHE_HOME to another disk", release, f.Dir)
	case f.proxy == "off":
		return fmt.Errorf("%s is not on this machine, and GOPROXY=off forbids to download it: unset GOPROXY, or leave it out", release)
	case has("dial tcp", "no such host", "connection refused", "i/o timeout", "network is unreachable", "TLS handshake"):
		return fmt.Errorf("%s is not on this machine, and the network does not answer (%s): %s", release, tail(last), fix)
	case has("toolchain not available", "404 Not Found", "410 Gone", "403 Forbidden"):
		return fmt.Errorf("%s does not exist for %s/%s, or GOPROXY does not have it: see https://go.dev/dl/", release, f.os, f.arch)
	}
	return fmt.Errorf("%s cannot be downloaded: %s", release, last)
}

// tail returns what a chain of errors ends with: the reason.
func tail(chain string) string {
	if i := strings.LastIndex(chain, "dial tcp"); i >= 0 {
		return chain[i:]
	}
	parts := strings.Split(chain, ": ")
	return parts[len(parts)-1]
}

// IsFull says whether an error of the go command is that of a full disk.
func IsFull(said string) bool {
	return strings.Contains(said, "no space left on device") || strings.Contains(said, "disk quota exceeded")
}
