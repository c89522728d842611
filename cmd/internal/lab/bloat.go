package lab

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

var bloat = &Experiment{
	Name:     "bloat",
	Question: "How much memory stays when a program frees most objects and keeps a few in its huge pages?",
	Source:   "Evan Jones (2023), after Go issue 8832 (2015): what was released in parts, khugepaged makes huge again; Go since releases whole huge pages only",
	Figures: []Figure{
		{Key: "resident_bytes", Label: "resident at the end", Unit: "resident-bytes"},
		{Key: "live_bytes", Label: "of it live", Unit: "live-bytes"},
		{Key: "freed_resident_bytes", Label: "right after freeing", Unit: "freed-resident-bytes"},
		{Key: "huge_bytes", Label: "huge at the end", Unit: "huge-bytes"},
		{Key: "release_seconds", Label: "to release", Unit: "release-sec"},
	},
	defaults: Params{Size: 256 << 20, Count: 1, Rounds: 7},
	quick:    Params{Size: 64 << 20, Count: 1, Rounds: 5},
	arms:     bloatArms,
	work:     bloatWork,
	meaning:  bloatMeaning,
	charts: []Chart{ // it is about memory
		armsChart("Memory", linear, "resident_bytes", "live_bytes", "freed_resident_bytes", "huge_bytes"),
		armsChart("Times", log, "release_seconds"),
	},
}

// How an arm of bloat frees, and what happens then.
const (
	freeParts      = "parts"      // each free base page is released
	freeWhole      = "windows"    // only windows without a live object are
	freeKhugepaged = "khugepaged" // parts, and khugepaged has time to undo it
)

func bloatArms(m *Machine, p Params) []*Arm {
	arms := []*Arm{
		m.memoryArm("base", "base pages, each one released", page.Base, 0, p.Size),
		m.memoryArm("thp-parts", "huge pages, what is free in them released in base pages", page.THP, 0, p.Size),
		m.memoryArm("thp-windows", "huge pages, released only when all of one is free", page.THP, 0, p.Size),
	}
	for i, how := range []string{freeParts, freeParts, freeWhole} {
		arms[i].Task.How = how
	}
	for _, none := range []int{m.window()/m.BasePage - 1, 0} {
		a := m.memoryArm("khugepaged-"+strconv.Itoa(none),
			fmt.Sprintf("as thp-parts, then khugepaged with max_ptes_none = %d", none), page.THP, 0, p.Size)
		a.Task.How = freeKhugepaged
		dir := m.file(thpDir, "khugepaged")
		a.Changes = append(a.Changes, settings.Change{Path: filepath.Join(dir, "max_ptes_none"), Value: strconv.Itoa(none)},
			settings.Change{Path: filepath.Join(dir, "scan_sleep_millisecs"), Value: "10"}, // it would take minutes otherwise
			settings.Change{Path: filepath.Join(dir, "pages_to_scan"), Value: strconv.FormatUint(max(4096, p.Size/uint64(m.BasePage)), 10)})
		arms = append(arms, a)
	}
	return arms
}

func bloatWork(p *probe, t Task) error {
	m, err := p.mapping(t.Size, page.Populate)
	if err != nil {
		return err
	}
	window, small := page.WindowSize(), page.Size()
	touch(start(m), t.Size, uint64(small)) // pages of zeros would be released by themselves
	// Objects live in every other window: one, in the middle of it.
	live := uint64(0)
	begin := time.Now()
	for at := 0; at+window <= m.Len(); at += window {
		lives := at/window%2 == 0
		switch {
		case !lives:
			_, err = m.Release(at, window, page.ReleaseDontNeed, &page.ReleaseOptions{Split: true})
		case t.How == freeWhole:
		default:
			middle := at + window/2
			_, err1 := m.Release(at, middle-at, page.ReleaseDontNeed, &page.ReleaseOptions{Split: true})
			_, err2 := m.Release(middle+small, at+window-middle-small, page.ReleaseDontNeed, &page.ReleaseOptions{Split: true})
			err = errors.Join(err1, err2)
		}
		if lives {
			live += uint64(small)
		}
		if err != nil {
			return err
		}
	}
	release := time.Since(begin)
	freed, _, err := huge(m)
	if err == nil && t.How == freeKhugepaged {
		err = awaitKhugepaged()
	}
	resident, isHuge, herr := huge(m)
	if err = errors.Join(err, herr); err != nil {
		return err
	}
	p.point(t.Size, value{"resident_bytes", float64(resident)}, value{"live_bytes", float64(live)},
		value{"freed_resident_bytes", float64(freed)}, value{"huge_bytes", float64(isHuge)}, value{"release_seconds", release.Seconds()})
	return m.Close()
}

// awaitKhugepaged waits until khugepaged has looked at all memory twice since
// now: at least one of these looks began after the memory was freed.
func awaitKhugepaged() error {
	const file = "/" + thpDir + "khugepaged/full_scans"
	scans := func() (uint64, error) {
		text, err := settings.Read(file)
		if err != nil {
			return 0, err
		}
		return strconv.ParseUint(text, 10, 64)
	}
	first, err := scans()
	for deadline := time.Now().Add(time.Minute); err == nil; {
		var now uint64
		if now, err = scans(); err == nil && now >= first+3 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("khugepaged did not look at all memory within a minute (%s)", file)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func bloatMeaning(o *Outcome) []string {
	size := o.Params.Size
	parts, windows := o.Arm("thp-parts"), o.Arm("thp-windows")
	p, w, live := o.at(parts, size, "resident_bytes"), o.at(windows, size, "resident_bytes"), o.at(parts, size, "live_bytes")
	if live == 0 || w == 0 {
		return nil
	}
	hp, hw := o.at(parts, size, "huge_bytes"), o.at(windows, size, "huge_bytes")
	out := []string{fmt.Sprintf("With one live base page in every other huge page, releasing all that is free leaves %s resident, %s of it huge; releasing whole huge pages only leaves %s, %s of it huge.", unit.Bytes(p), unit.Bytes(hp), unit.Bytes(w), unit.Bytes(hw))}
	for _, a := range o.Arms {
		r := o.at(a, size, "resident_bytes")
		if a.Arm.Task.How != freeKhugepaged || r == 0 {
			continue
		}
		none := a.Arm.changed("max_ptes_none")
		if r > 1.5*p {
			out = append(out, fmt.Sprintf("With max_ptes_none = %s, khugepaged makes that memory resident again: %s, %s what lives. Where programs release parts of huge pages, set it to 0.", none, unit.Bytes(r), unit.Ratio(r/live)))
		} else {
			out = append(out, fmt.Sprintf("With max_ptes_none = %s it stays at %s.", none, unit.Bytes(r)))
		}
	}
	return out
}
