package trial

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/foliomem/folio/cmd/internal/program/gosetting"
)

// tailBytes is how much output is kept to explain a failure, beside the line that begins the
// report of a crash, of which crashBytes are.
const (
	tailBytes  = 4 << 10
	crashBytes = 1 << 10
)

// reasons are lines that say why a program failed, the best first. The first crashes of them begin
// reports of crashes, which may be long: the stacks of all goroutines.
var reasons = []*regexp.Regexp{
	regexp.MustCompile(`^(?:panic|fatal error): `),
	regexp.MustCompile(`^(?:runtime|SIG[A-Z]+): `),
	// Of other languages and of go test, and of commands that print their usage after it.
	regexp.MustCompile(`^\s*--- FAIL: |^(?i:error)(?:\[\w+\])?: |^(?:Uncaught )?[\w.$]*(?:Error|Exception)\b(?:: |$)|^Exception in thread |^thread '.*' .*panicked at `),
}

const crashes = 2

// around are lines that explain nothing: of stacks, as Go, Java, JavaScript and Python print them,
// of registers, and what go run and go test say after a failure.
var around = regexp.MustCompile(`^(?:goroutine \d+.* \[.*\]:|runtime stack:|created by .*|\S+\.\S+\(.*\)|\t\S+:\d+(?: \+0x.*)?|` +
	`\s+at .*|\s+File ".*", line \d+.*|\t?\.\.\. .*|(?:r\w+|[cfg]s|e?flags) +0x[0-9a-f]+|exit status \d+|FAIL(?:\t.*)?|PASS|-----)$`)

// rank is the index in reasons of the first that line matches; len(reasons) for none.
func rank(line []byte) int {
	for i, re := range reasons {
		if re.Match(line) {
			return i
		}
	}
	return len(reasons)
}

// Reason returns the line of a failed program's output that says why, for a one-line error: where
// none is known to, the last that is not of a stack.
func (s *Sample) Reason() string {
	line, _ := reasonIn(s.Tail)
	line = cmp.Or(gosetting.Died(s.Tail), line)
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "..."
	}
	return line
}

// IgnoreExit is what the error of a comparison that ends of an exit code adds to it: how to count
// such runs; "" where the program crashed, or ended in another way.
func (s *Sample) IgnoreExit() string {
	if _, best := reasonIn(s.Tail); !strings.HasPrefix(s.Failure, "exit code ") || s.Tail != "" && best < crashes {
		return ""
	}
	return "; --ignore-exit counts such runs, too"
}

// reasonIn returns the line of text that says why, and its rank.
func reasonIn(text string) (reason string, best int) {
	last, best := "", len(reasons)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n\r\t ")
		if n := rank([]byte(line)); n < len(reasons) && n <= best {
			reason, best = line, n
		}
		if line != "" && (last == "" || !around.MatchString(line)) {
			last = line
		}
	}
	return strings.TrimSpace(cmp.Or(reason, last)), best
}

// tail keeps the last tailBytes that were written to it, and the line that begins the report of
// a crash before them.
type tail struct {
	mu    sync.Mutex
	buf   []byte
	line  []byte // the beginning of the current one
	crash []byte
	rank  int // of crash
}

// String returns the end, after the line of a crash where that is not in it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes.Contains(t.buf, t.crash) {
		return string(t.buf)
	}
	return string(t.crash) + "\n...\n" + string(t.buf)
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	t.find(p)
	if len(p) > tailBytes {
		p = p[len(p)-tailBytes:]
	}
	if over := len(t.buf) + len(p) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// find looks for the line of a crash.
func (t *tail) find(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		t.line = append(t.line, line[:min(len(line), crashBytes-len(t.line))]...)
		if !ended {
			return
		}
		if n := rank(t.line); n < crashes && (t.crash == nil || n <= t.rank) {
			t.crash, t.rank = bytes.Clone(t.line), n
		}
		t.line, p = t.line[:0], rest
	}
}
