package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/program/toolchain"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/internal/base/input"
)

// mostPGO is more than any profile has that a compiler should read.
const mostPGO = 1 << 30

// CheckPGO says whether the compiler can take a file for -pgo, and returns the SHA-256 of
// it.
func CheckPGO(path string) (hash string, err error) {
	f, info, err := input.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > mostPGO {
		return "", errors.New("larger than a profile should be")
	}
	data, err := io.ReadAll(io.LimitReader(f, mostPGO))
	if err != nil {
		return "", err
	}
	return hashOf(data), pgo(data)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// pgo says why the compiler would not take a profile.
func pgo(data []byte) error {
	if bytes.HasPrefix(data, []byte("GO PREPROFILE V1\n")) {
		return nil
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return fmt.Errorf("not a profile of CPU time that -pgo takes: %w", err)
	}
	values, lines := false, false
	for _, t := range p.SampleType {
		values = values || t.Type == "samples" && t.Unit == "count" || t.Type == "cpu" && t.Unit == "nanoseconds"
	}
	for _, f := range p.Function {
		lines = lines || f.StartLine != 0
	}
	switch {
	case len(p.Sample) == 0:
		return errors.New("the profile has no samples")
	case !values:
		return errors.New("not a profile of CPU time: want one of runtime/pprof, or of folio run --pprof")
	case !lines:
		return errors.New("it does not say where functions start, as profiles of Go 1.20 and later do")
	}
	return nil
}

// MergePGO makes one profile of several, in the format of pprof, and returns it with its
// SHA-256.
func MergePGO(profiles [][]byte) (data []byte, hash string, err error) {
	var all []*profile.Profile
	for _, d := range profiles {
		p, err := profile.ParseData(d)
		if err != nil {
			return nil, "", err
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, "", errors.New("no samples")
	}
	one, err := profile.Merge(all)
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	if err := one.Write(&b); err != nil {
		return nil, "", err
	}
	return b.Bytes(), hashOf(b.Bytes()), pgo(b.Bytes())
}

// KeepProfile makes the profile of [variant.PGOAuto] of several, and keeps it in folio's
// cache.
func (p *Plan) KeepProfile(taken [][]byte) error {
	data, hash, err := MergePGO(taken)
	if err != nil {
		return err
	}
	dir, err := scratch.Cache(toolchain.Profiles)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, hash[:16]+".pgo")
	if err := scratch.WriteFile(file, data); err != nil {
		return fmt.Errorf("keep the profile: %w", err)
	}
	p.profiles[variant.PGOAuto], p.hashes[variant.PGOAuto] = file, hash
	return nil
}
