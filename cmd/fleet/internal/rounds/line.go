package rounds

import (
	"bufio"
	"encoding/json"
	"io"
)

// A Line is one of the log of a pod.
type Line struct {
	Kind Kind   `json:"folio"`
	Node string `json:"node,omitempty"` // of Begin
	CPU  string `json:"cpu,omitempty"`  // of Begin: the model
	// Round counts from 1. Runs are of a round that is whole: of each setting that is not
	// left out, the default first.
	Round int   `json:"round,omitempty"`
	Runs  []Run `json:"runs,omitempty"`
	// Setting is the index of the setting that Running, Killed and Out are about.
	Setting int    `json:"setting,omitempty"`
	Reason  string `json:"reason,omitempty"` // of Lost, Out, Failed
}

// A Kind says what a line is about.
type Kind string

const (
	Begin   Kind = "begin"
	Running Kind = "running" // a run begins; in the file only
	Killed  Kind = "killed"  // the container ended while a setting ran
	Round   Kind = "round"   // one is whole
	Lost    Kind = "lost"    // the default failed in a round: nothing can be compared in it
	Out     Kind = "out"     // a setting is left out from now on
	Failed  Kind = "failed"  // nothing more can be run in this pod
	End     Kind = "end"
)

// A Run is one run of a setting.
type Run struct {
	Setting int     `json:"setting"`
	Failure string  `json:"failure,omitempty"`
	Wall    float64 `json:"wall_seconds"`
	CPU     float64 `json:"cpu_seconds"`
	Memory  float64 `json:"peak_rss_bytes"` // 0 where it is not known
	Faults  int64   `json:"page_faults"`
	Metric  float64 `json:"metric"`
}

// maxLine bounds a line that is read: 32 runs with a reason each are 16 KiB.
const maxLine = 1 << 20

// Read reads lines, and passes over what is none. It returns when r ends.
func Read(r io.Reader, each func(Line)) error {
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		data, err := lines.ReadSlice('\n')
		var l Line
		// A last line without its end is of a write that was cut.
		if err == nil && len(data) > 2 && data[0] == '{' && json.Unmarshal(data, &l) == nil && l.Kind != "" {
			each(l)
		}
		switch err {
		case nil, bufio.ErrBufferFull:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// encode returns a line with its end.
func (l Line) encode() []byte {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // it has numbers and strings only, and no NaN: see run
	}
	return append(data, '\n')
}
