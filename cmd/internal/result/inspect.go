package result

import (
	"encoding/json"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/page"
)

// An Inspect is what was seen, as JSON has it: of one process, or of all.
type Inspect struct {
	Header
	Process   *Process       `json:"process,omitempty"`
	Processes *[]ProcessLine `json:"processes,omitempty"`
	Unseen    *Unseen        `json:"unseen,omitempty"`
	// WindowBytes is the size of a window: of one huge page.
	WindowBytes uint64 `json:"window_bytes"`
}

// Unseen counts the processes that a list leaves out. Hidden says why there may be more of
// which nothing is known.
type Unseen struct {
	Small       int    `json:"small"`
	Denied      int    `json:"denied"`
	DeniedBytes uint64 `json:"denied_anonymous_bytes"`

	Hidden *string `json:"hidden" redact:"keep"`
}

// ProcessID says which process it is.
type ProcessID struct {
	PID       int      `json:"pid"`
	Command   []string `json:"command" redact:"command"`
	Name      string   `json:"name" redact:"keep"`
	UID       *int     `json:"uid"`
	IsGo      *bool    `json:"is_go"`
	GoVersion *string  `json:"go_version" redact:"keep"`
	Module    *string  `json:"module" redact:"file"`
	// Maker is who made the program where that is not go build alone: UPX, gccgo, TinyGo,
	// garble.
	Maker string `json:"maker,omitempty" redact:"keep"`
}

// Makers of programs that say it otherwise than "built with".
const (
	MadeByUPX    = executable.UPX
	MadeByGarble = executable.Garble
)

// A ProcessLine is a process in a list.
type ProcessLine struct {
	ProcessID
	Resident uint64   `json:"resident_bytes"`
	Windows  *Windows `json:"windows"`
}

// Process is a process. What could not be seen is null, and a note says why.
type Process struct {
	ProcessID
	// Memfd says that the program was executed from memory (memfd_create), not from a file.
	Memfd   bool     `json:"executed_from_memory,omitempty"`
	Patches []string `json:"patches,omitempty" redact:"keep"` // of Go's runtime, as name@hash
	// Where its heap was made to ask for huge pages: "memory" (folio exec) or "copy"
	// (folio patch).
	HeapPatch string  `json:"heap_patch,omitempty" redact:"keep"`
	Resident  *uint64 `json:"resident_bytes"`
	Swapped   *uint64 `json:"swapped_bytes"`
	// Of the process itself, not of files; and whether that is what folio doctor
	// calls heap-on-base-pages.
	Anonymous     *uint64 `json:"anonymous_bytes"`
	AnonymousHuge *uint64 `json:"anonymous_huge_bytes"`
	OnBasePages   *bool   `json:"on_base_pages"`

	Limit *MemoryLimit `json:"limit"` // null for none

	Waterfall *Waterfall `json:"waterfall"`
	OverTime  *OverTime  `json:"over_time,omitempty"`

	Memory  []Memory `json:"memory"`
	Of      *string  `json:"windows_of" redact:"keep"`
	Windows *Windows `json:"windows"`
	// Collapse is the command that puts the dense windows on huge pages, for the user who looked.
	Collapse string   `json:"collapse_command,omitempty" redact:"prose"`
	Bloat    *Bloat   `json:"bloat"`
	Faults   *Faults  `json:"faults"`
	Policy   Policy   `json:"policy"`
	Hazards  []string `json:"hazards" redact:"prose"`
	Notes    []string `json:"notes" redact:"prose"`
}

// RSS is that of which the parts are shares, where they were read: a program that goes on has
// another at each moment.
func (p *Process) RSS() *uint64 {
	if p.Waterfall != nil && p.Waterfall.RSS > 0 {
		return &p.Waterfall.RSS
	}
	return p.Resident
}

// GainsLittle says that huge pages could hold too little more for them to save much time.
func (p *Process) GainsLittle() bool { return p.Windows == nil || p.Windows.GainLittle() }

// GainLittle says that huge pages could hold too little of them to save much time.
func (w *Windows) GainLittle() bool { return w.Gain < inspect.LittleHeap }

// LittleGain says below what huge pages save little time.
var LittleGain = inspect.LittleGain

// A MemoryLimit is that of the memory cgroup of which the least is left.
type MemoryLimit struct {
	Cgroup string `json:"cgroup" redact:"drop"`
	Bytes  uint64 `json:"limit_bytes"`
	// Used is by all its processes, with their page cache and the kernel's memory for them;
	// of it the kernel takes InactiveFile back easily.
	Used         uint64 `json:"used_bytes"`
	InactiveFile uint64 `json:"inactive_file_bytes"`
}

// InUse is what is used but for InactiveFile.
func (l *MemoryLimit) InUse() uint64 { return l.Used - min(l.Used, l.InactiveFile) }

// Memory is what there is of one kind.
type Memory struct {
	Kind     string  `json:"kind" redact:"keep"`
	Mappings int     `json:"mappings"`
	Size     uint64  `json:"mapped_bytes"`
	Resident uint64  `json:"resident_bytes"`
	Huge     uint64  `json:"huge_bytes"`
	Swapped  *uint64 `json:"swapped_bytes"`
}

// Windows are windows, added up.
type Windows struct {
	Size     uint64            `json:"window_bytes"`
	Count    int               `json:"count"`
	Huge     int               `json:"huge"`
	Unknown  int               `json:"huge_unknown"`
	Dense    int               `json:"dense"`
	Sparse   int               `json:"sparse"`
	OptedOut *int              `json:"opted_out"` // null: not known, and part of Dense
	Density  [inspect.Bins]int `json:"density"`
	Resident uint64            `json:"resident_bytes"`
	HugeSize uint64            `json:"huge_bytes"`
	Cut      uint64            `json:"outside_bytes"`
	Coverage float64           `json:"coverage"`
	Gain     uint64            `json:"gain_bytes"`
	Fill     uint64            `json:"fill_bytes"`
}

// Bloat is how much of huge pages nobody needs.
type Bloat struct {
	Most  uint64 `json:"most_bytes"`
	Read  int    `json:"huge_pages_read"`
	Pages int    `json:"huge_pages"`
}

// Faults are page faults over a time.
type Faults struct {
	Seconds float64 `json:"seconds"`
	Minor   uint64  `json:"minor"`
	Major   uint64  `json:"major"`
}

// Policy is what system and program want about huge pages.
type Policy struct {
	Enabled     *string `json:"thp_enabled" redact:"keep"`
	Defrag      *string `json:"thp_defrag" redact:"keep"`
	MaxPtesNone *int    `json:"thp_max_ptes_none"`
	Allowed     *bool   `json:"process_allows"`
	Advised     *uint64 `json:"advised_bytes"`
	Against     *uint64 `json:"advised_against_bytes"`
	Means       string  `json:"means" redact:"prose"`
}

// NewInspect begins a file. Process or Processes are to be set.
func NewInspect(folio string) *Inspect {
	return &Inspect{Header: NewHeader(InspectSchema, "", folio), WindowBytes: uint64(page.WindowSize())}
}

// SetProcess makes it the file of one process.
func (f *Inspect) SetProcess(p *inspect.Process) { f.Kind, f.Process = KindProcess, newProcess(p) }

func newProcess(p *inspect.Process) *Process {
	out := &Process{
		ProcessID: ProcessID{PID: p.PID, Command: list(p.Command), Name: p.Name, UID: p.UID, IsGo: p.IsGo,
			GoVersion: text(p.GoVersion), Module: text(p.Module), Maker: p.Maker},
		Memfd:     p.Memfd,
		Patches:   p.Patches,
		HeapPatch: p.HeapPatch,
		Resident:  p.Resident, Swapped: p.Swapped, Hazards: list(p.Hazards), Notes: list(p.Notes),
		Policy: Policy{
			Enabled: text(p.Policy.System.Enabled.Selected), Defrag: text(p.Policy.System.Defrag.Selected), MaxPtesNone: p.Policy.System.MaxPtesNone,
			Allowed: p.Policy.Allowed, Advised: p.Policy.Advised, Against: p.Policy.Against, Means: p.Policy.Means(),
		},
	}
	if p.Anonymous != nil && p.AnonymousHuge != nil {
		base := inspect.OnBasePages(*p.Anonymous, *p.AnonymousHuge)
		out.Anonymous, out.AnonymousHuge, out.OnBasePages = p.Anonymous, p.AnonymousHuge, &base
	}
	if l := p.Limit; l != nil {
		out.Limit = &MemoryLimit{l.Dir, l.Bytes, l.Used, l.Cache}
	}
	for _, m := range p.Memory {
		out.Memory = append(out.Memory, Memory{m.Kind.String(), m.Mappings, m.Size, m.Resident, m.Huge, m.Swapped})
	}
	if p.Windows != nil {
		out.Windows, out.Of, out.Collapse = newWindows(*p.Windows), text(p.Of.String()), p.Collapse
		if p.Policy.Against == nil && !p.Policy.Disabled() {
			out.Windows.OptedOut = nil
		}
	}
	if b := p.Bloat; b != nil {
		out.Bloat = &Bloat{b.Most, b.Read, b.Pages}
	}
	out.Faults, out.Waterfall = newFaults(p.Faults), newWaterfall(p.Waterfall, p.Remedies)
	return out
}

// SetList makes it the file of all processes.
func (f *Inspect) SetList(l *inspect.List) {
	lines := []ProcessLine{}
	for _, r := range l.Rows {
		isGo := r.GoVersion != ""
		lines = append(lines, ProcessLine{
			ProcessID: ProcessID{PID: r.PID, Command: list(r.Command), Name: r.Name, UID: r.UID, IsGo: &isGo, GoVersion: text(r.GoVersion)},
			Resident:  r.Resident, Windows: newWindows(r.Windows),
		})
	}
	f.Kind, f.Processes = KindList, &lines
	f.Unseen = &Unseen{Small: l.Small, Denied: l.Denied, DeniedBytes: l.DeniedBytes, Hidden: text(l.Hidden)}
}

func newWindows(w inspect.Windows) *Windows {
	return &Windows{
		Size: w.Size, Count: w.Count, Huge: w.Huge, Unknown: w.HugeUnknown, Dense: w.Dense, Sparse: w.Sparse, OptedOut: new(w.OptedOut),
		Density: w.Density, Resident: w.Resident, HugeSize: w.HugeSize, Cut: w.Cut, Coverage: w.Coverage(), Gain: w.Gain, Fill: w.Fill,
	}
}

func newFaults(f *inspect.Faults) *Faults {
	if f == nil {
		return nil
	}
	return &Faults{f.Over.Seconds(), f.Minor, f.Major}
}

// JSON returns the file's text; Line returns it in one line.
func (f *Inspect) JSON() ([]byte, error) { return indented(f) }
func (f *Inspect) Line() ([]byte, error) { return inLine(f) }

func inLine(f any) ([]byte, error) {
	data, err := json.Marshal(f)
	data = console.JSON(data)
	return append(data, '\n'), err
}

// text returns nil for what is not known.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// list returns an empty list for none: it is known that there is none.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}
