//go:build linux && (amd64 || arm64)

package launch

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/launch/killtest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestKills kills launcher, helper and program at random moments. A thousand
// times: cmd/bench/exec/kills.
func TestKills(t *testing.T) {
	testenv.Long(t)
	r, err := killtest.Test{
		Command: launched(t, "role:sum", "32"), Env: []string{isChild + "=1"}, Says: "sum ", Longest: 30 * time.Millisecond,
		Random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
	}.Run(50)
	t.Logf("%+v", r)
	if err != nil {
		t.Error(err)
	}
}
