package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Choice is a policy file that lists its words with the chosen one in
// brackets: "always [madvise] never". The zero value means unknown.
type Choice struct {
	Selected string
	Options  []string // in the kernel's order, Selected among them
}

// THP is the system's policy for transparent huge pages. It says what the
// kernel may do, never what a process has: that is [SmapsRollup].
// See Documentation/admin-guide/mm/transhuge.rst.
type THP struct {
	// Present is false when the kernel is built or booted without THP, or when
	// the system is not Linux. Then everything else is unknown.
	Present bool
	Enabled Choice // always, madvise, never
	Defrag  Choice // what a fault does when no huge page is free
	// HugePageBytes is the size of a huge page: 2 MiB on amd64; 2, 32 or
	// 512 MiB on arm64, by the size of the base page.
	HugePageBytes *uint64
	// MaxPtesNone is how many base pages of a window may be missing when
	// khugepaged makes a huge page of it. At 511 (the default with 4 KiB base
	// pages) one page of data is enough: memory that a program returned comes back.
	MaxPtesNone *int
}

const thpDir = "sys/kernel/mm/transparent_hugepage/"

// THP reads the policy for transparent huge pages. A kernel without them is no
// error. A file that cannot be read leaves its field unknown, and the error
// joins what went wrong.
func (f FS) THP() (THP, error) {
	var t THP
	if _, err := os.Stat(f.path(thpDir)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return t, nil
		}
		return t, err
	}
	t.Present = true
	var errs [4]error
	t.Enabled, errs[0] = load(f.path(thpDir+"enabled"), parseChoice)
	t.Defrag, errs[1] = load(f.path(thpDir+"defrag"), parseChoice)
	t.HugePageBytes, errs[2] = load(f.path(thpDir+"hpage_pmd_size"), parseNumber)
	var none *uint64
	none, errs[3] = load(f.path(thpDir+"khugepaged/max_ptes_none"), parseNumber)
	if none != nil {
		t.MaxPtesNone = new(int(*none))
	}
	return t, errors.Join(errs[:]...)
}

func parseChoice(data []byte) (Choice, error) {
	var c Choice
	for _, word := range strings.Fields(string(data)) {
		if inner, ok := strings.CutPrefix(word, "["); ok {
			if inner, ok = strings.CutSuffix(inner, "]"); !ok || inner == "" || c.Selected != "" {
				return Choice{}, fmt.Errorf("want one [word] in %q", data)
			}
			word = inner
			c.Selected = inner
		}
		c.Options = append(c.Options, word)
	}
	if c.Selected == "" {
		return Choice{}, fmt.Errorf("no [word] in %q", data)
	}
	return c, nil
}

// parseNumber parses a file that holds one number.
func parseNumber(data []byte) (*uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 63)
	if err != nil {
		return nil, err
	}
	return &n, nil
}
