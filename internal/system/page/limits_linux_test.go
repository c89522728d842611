package page

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
	"golang.org/x/sys/unix"
)

func TestAddressLimit(t *testing.T) { testenv.RunRole(t, "addressLimit") }

// addressLimitRole may have little more address space than it has.
func addressLimitRole() error {
	used, ok := addressSpace(host)
	if !ok {
		return errors.New("cannot tell how much address space is used")
	}
	limit := used + 512<<20 // the runtime needs some as well
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	_, err := Map(1<<30, &Options{Name: "large"})
	want := []string{`map 1GiB of base pages "large": `, "RLIMIT_AS", "ulimit -v", "cannot allocate memory"}
	for _, w := range want {
		if err == nil || !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), w) {
			return fmt.Errorf("error is %v, want one with %q", err, w)
		}
	}
	m, err := Map(1<<20, nil)
	if err != nil {
		return fmt.Errorf("a small one: %w", err)
	}
	return m.Close()
}

func TestTHPDisabledForTheProcess(t *testing.T) {
	needTHP(t)
	testenv.RunRole(t, "thpDisabled")
}

// thpDisabledRole may have no huge pages, whatever the system allows.
func thpDisabledRole() error {
	if err := Allowed(THP, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := Allowed(THP, 0); err == nil || !strings.Contains(err.Error(), "PR_SET_THP_DISABLE") {
		return fmt.Errorf("Allowed: %v", err)
	}
	m, err := Map(HugeSize(), &Options{Kind: THP, Commit: Touch})
	if err != nil {
		return err
	}
	defer m.Close()
	res, err := m.Residency(nil)
	if err != nil || res.Huge != 0 || res.Resident != uint64(m.Len()) {
		return fmt.Errorf("residency %+v, %v", res, err)
	}
	if haveCollapse() != nil {
		return nil
	}
	c, err := m.Collapse(0, m.Len(), nil)
	if err != nil || c.Refused != 1 || !strings.Contains(c.Reason.Error(), "PR_SET_THP_DISABLE") {
		return fmt.Errorf("collapse %+v, %v", c, err)
	}
	return nil
}
