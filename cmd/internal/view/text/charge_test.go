package text

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

func chargeText(t *testing.T, f *result.Charge, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Render(&b, document.Text(f), o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCharge(t *testing.T) {
	f := resulttest.Charge("prog")
	golden(t, "charge.txt", chargeText(t, f, Options{}))
	golden(t, "charge-full.txt", chargeText(t, f, Options{Full: true}))
	data, err := f.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "charge.json", data)
	line, err := f.Line()
	var a any
	if err != nil || bytes.Count(line, []byte("\n")) != 1 || json.Unmarshal(line, &a) != nil {
		t.Errorf("%q, %v", line, err)
	}
	// The parts and what is not explained are all that is charged.
	sum := f.Unexplained - f.Excess
	for _, p := range f.Parts {
		sum += p.Bytes
	}
	if back, stays := f.Back(); sum != f.Charged || back != 233<<20 || stays != 443<<20 {
		t.Errorf("%d of %d; %d come back, %d stay", sum, f.Charged, back, stays)
	}
}

// With --watch each part says by how much it changed, one that is gone as well.
func TestChargeSince(t *testing.T) {
	first, f := resulttest.Charge("prog"), resulttest.Charge("prog")
	f.Parts = f.Parts[1:]
	f.Parts[0].Bytes += 5 << 20
	f.Since(first)
	if p := f.Part("go_live"); p == nil || p.Bytes != 0 || *p.Change != -150<<20 || *f.Part("go_unused").Change != 5<<20 || *f.Part("unsplit").Change != 0 {
		t.Errorf("%+v", f.Parts)
	}
	if text := string(chargeText(t, f, Options{})); !strings.Contains(text, "change") || !strings.Contains(text, "-150.0MiB") {
		t.Errorf("%s", text)
	}
	// A part that is new grew from nothing.
	f = resulttest.Charge("prog")
	first.Parts = first.Parts[1:]
	if f.Since(first); *f.Part("go_live").Change != 150<<20 {
		t.Errorf("%+v", f.Parts[0])
	}
}

// A redacted charge names neither the cgroup nor mounts.
func TestChargeRedacted(t *testing.T) {
	f, err := result.Redacted(resulttest.Charge("bob"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.JSON()
	if err != nil || f.Cgroup != "" || bytes.Contains(data, []byte("cache-of-bob")) || bytes.Contains(data, []byte("kubepods")) {
		t.Errorf("%s, %v", data, err)
	}
	if len(f.Parts) != 10 || f.Parts[5].Bytes != 240<<20 {
		t.Errorf("%+v", f.Parts)
	}
}
