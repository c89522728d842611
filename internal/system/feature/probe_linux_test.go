package feature

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// built reports whether the running kernel was built with an option; known is
// false if it does not say.
func built(t *testing.T, option string) (yes, known bool) {
	t.Helper()
	var config []byte
	if f, err := os.Open("/proc/config.gz"); err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if config, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	} else if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err != nil {
		return false, false
	} else if config, err = os.ReadFile("/boot/config-" + string(bytes.TrimSpace(release))); err != nil {
		return false, false
	}
	return bytes.Contains(config, []byte("\n"+option+"=y\n")), true
}

// A kernel that is new enough, and built for it, must be found to have each
// feature: else the probe is wrong.
func TestNewKernelsHaveAllFeatures(t *testing.T) {
	running, ok := Running()
	if !ok {
		t.Fatal("the kernel's version is unknown")
	}
	for _, f := range all() {
		t.Run(f.String(), func(t *testing.T) {
			err := Have(f)
			since, config := f.Since()
			switch {
			case err == nil && running.Less(since):
				t.Logf("Linux %v has what came with %v", running, since) // distributions take things over
			case err == nil:
			case !errors.Is(err, ErrNotSupported):
				t.Errorf("cannot tell: %v", err)
			case running.Less(since):
				testenv.Missing(t, "%v", err)
			case config == "":
				t.Errorf("Linux %v: %v", running, err)
			default:
				if yes, known := built(t, config); yes || !known {
					t.Errorf("Linux %v, built with it: %v, %v: %v", running, yes, known, err)
				}
			}
			if err == nil && config != "" {
				if yes, known := built(t, config); known && !yes {
					t.Errorf("found although the kernel is built without %s", config)
				}
			}
			if again := Have(f); (again == nil) != (err == nil) {
				t.Errorf("%v, then %v", err, again)
			}
		})
	}
}

func TestUnknownAdviceIsNotSupported(t *testing.T) {
	if err := advice(0x7ffffff0); !errors.Is(err, ErrNotSupported) {
		t.Errorf("an advice that no kernel has: %v", err)
	}
}

func TestADirectoryThatIsMissing(t *testing.T) {
	if _, err := os.ReadDir(kernelMM); err != nil {
		testenv.Missing(t, "%v", err)
	}
	if err := directory("no-such-thing"); !errors.Is(err, ErrNotSupported) {
		t.Errorf("%v", err)
	}
}
