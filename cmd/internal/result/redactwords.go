package result

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// prose leaves out of a sentence what the result has elsewhere and must not say, paths,
// addresses, and what a program printed that failed, which ends the sentence.
func (r *redactor) prose(s string) string {
	// What stands for a secret is put in at last: it may look like a path.
	var stands []string
	mark := func(text string) string {
		stands = append(stands, text)
		return "\x00" + strconv.Itoa(len(stands)-1) + "\x00"
	}
	s = strings.ReplaceAll(s, "\x00", "")
	if at := exits.FindStringIndex(s); at != nil {
		s = s[:at[1]-len(": ")]
	}
	for _, secret := range r.longest {
		s = replaceWord(s, secret, func() string { return mark(r.secrets[secret]) })
	}
	s = urls.ReplaceAllStringFunc(s, func(u string) string {
		if slices.ContainsFunc(references, func(known string) bool { return strings.HasPrefix(u, known) }) {
			return mark(u)
		}
		return left
	})
	s = variables.ReplaceAllStringFunc(s, redactedEnv)
	s = paths.ReplaceAllStringFunc(s, func(p string) string {
		at := strings.IndexByte(p, '/')
		for at > 0 && strings.IndexByte("./~", p[at-1]) >= 0 {
			at--
		}
		return p[:at] + redactedPath(p[at:])
	})
	for i, text := range stands {
		s = strings.Replace(s, "\x00"+strconv.Itoa(i)+"\x00", text, 1)
	}
	return s
}

// line is a shell line of Folio, which may run the program.
func (r *redactor) line(s string) string {
	s, remark, remarked := strings.Cut(s, "   # ")
	head, tail, ok := strings.Cut(s, " -- ")
	head = r.prose(head)
	if to, known := r.secrets[tail]; known {
		head += " -- " + to
	} else if ok {
		head += " -- ./" + base(program(first(strings.Fields(tail)))) + " " + left
	}
	if remarked {
		head += "   # " + r.prose(remark)
	}
	return head
}

var (
	urls = regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^\s"'<>]+`)
	// paths are absolute ones, those from a home, and from here or above.
	paths = regexp.MustCompile(`(?:^|[^\w/.~])(?:~|\.{1,2})?/[^\s"'<>;,()]+`)
	// variables are those of the environment, as shells and people write them.
	variables = regexp.MustCompile(`\b[A-Z_][A-Z0-9_]*=(?:'[^']*'|"[^"]*"|[^\s;,()'"]*[^\s;,()'":.])`)
	exits     = regexp.MustCompile(`(?:exit code -?\d+|exit status \d+|killed by (?:signal )?\w+): `)
	versions  = regexp.MustCompile(`^\d+(?:\.\d+)*`)
)

// references are where addresses that Folio itself writes begin.
var references = []string{"https://go.dev/", "https://pkg.go.dev/", "https://docs.kernel.org/", "https://www.kernel.org/",
	"https://github.com/golang/", "https://github.com/foliomem/", "https://changkun.de/blog/", "https://blog.cloudflare.com/",
	"http://HOST:PORT/"}

// replaceWord replaces a secret where it is not part of a longer word.
func replaceWord(s, secret string, to func() string) string {
	if !strings.Contains(s, secret) {
		return s
	}
	isWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	start, _ := utf8.DecodeRuneInString(secret)
	end, _ := utf8.DecodeLastRuneInString(secret)
	var b strings.Builder
	for {
		i := strings.Index(s, secret)
		if i < 0 {
			return b.String() + s
		}
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+len(secret):])
		b.WriteString(s[:i])
		if i > 0 && isWord(start) && isWord(before) || i+len(secret) < len(s) && isWord(end) && isWord(after) {
			b.WriteString(secret)
		} else {
			b.WriteString(to())
		}
		s = s[i+len(secret):]
	}
}

// systemPaths are those that say nothing of whose machine it is.
var systemPaths = []string{"/sys/kernel/", "/sys/devices/system/", "/proc/"}

// redactedPath returns what stays of a path.
func redactedPath(p string) string {
	trimmed := strings.TrimRight(p, ".:")
	rest := p[len(trimmed):]
	switch {
	case strings.HasPrefix(trimmed, "/sys/fs/cgroup"):
		return "/sys/fs/cgroup/" + left + rest
	case slices.ContainsFunc(systemPaths, func(s string) bool { return strings.HasPrefix(trimmed, s) }) && !strings.Contains(trimmed, "/root/"):
		return p
	}
	return left + rest
}

// redactedCommand is the program of a command, and that it had arguments.
func redactedCommand(words []string) []string {
	out := []string{program(first(words))}
	if len(words) > 1 {
		out = append(out, left)
	}
	return out
}

// program is what stays of the first word of a command: the base name, without what a
// process adds that changes its title.
func program(word string) string {
	word = strings.TrimSpace(word)
	for _, option := range []string{" -", " /"} {
		word, _, _ = strings.Cut(word, option)
	}
	name := base(word)
	if i := strings.IndexAny(name, " \t\n:"); i > 0 {
		name = name[:i]
	}
	if strings.ContainsAny(word, `/\`) {
		return "./" + name
	}
	return name
}

// processName is the name of a process, which it may have changed.
func processName(command []string, name string) string {
	if len(command) > 0 && command[0] != "" {
		return base(program(command[0]))
	}
	if i := strings.IndexAny(name, " \t\n:/"); i > 0 {
		name = name[:i]
	}
	return name
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// base is the last element of a path of any system.
func base(p string) string {
	if p == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(p, `\`, "/"))
}

func orBlank(s string) string {
	if s == "" {
		return ""
	}
	return left
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

// versionOf is the release that a kernel's version begins with.
func versionOf(s string) string { return versions.FindString(s) }

// ownVariables are settings of the Go runtime and Folio: their values are figures, and say
// nothing else.
var ownVariables = append(trial.GoVariableNames(), "GODEBUG", "GOEXPERIMENT", "GOAMD64", "GOTOOLCHAIN", "FOLIO", "FOLIO_ASSIST", "FOLIO_HEAPMINIMUM", "FOLIO_HUGEPAGES",
	"GLIBC_TUNABLES", "MemorySwapMax")

// redactedEnv returns KEY=VALUE without the value of what is not a setting.
func redactedEnv(kv string) string {
	key, _, ok := strings.Cut(kv, "=")
	if !ok || slices.Contains(ownVariables, key) {
		return kv
	}
	return key + "=" + left
}

// redactedProfile returns what says how a build has a profile, without the name of a file.
func redactedProfile(s string) string {
	if s == "" || s == variant.PGOOff || s == variant.PGOAuto {
		return s
	}
	return left
}

func redactedEnvs(env []string) []string {
	var out []string
	for _, kv := range env {
		out = append(out, redactedEnv(kv))
	}
	return out
}

// RedactBench leaves out of a file in the Go benchmark format what its configuration says
// beside the system, the processor, the package's name and the settings.
func RedactBench(data []byte) []byte {
	var b strings.Builder
	for l := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimRight(l, "\r\n"), ":")
		switch {
		case strings.HasPrefix(l, "Benchmark"), strings.HasPrefix(l, "Unit "):
			b.WriteString(l)
		case !ok || !benchKey.MatchString(key):
		case key == "pkg":
			b.WriteString("pkg: " + base(strings.TrimSpace(value)) + "\n")
		case key == "arm", key == "build":
			b.WriteString(key + ": " + (&redactor{}).prose(strings.TrimSpace(value)) + "\n")
		case slices.Contains(benchKeys, key):
			b.WriteString(l)
		}
	}
	return []byte(b.String())
}

var (
	benchKey  = regexp.MustCompile(`^[a-z][^\sA-Z]*$`)
	benchKeys = append(trial.GoVariableKeys(), "goos", "goarch", "cpu", "thp", "thp-enabled", "thp-defrag")
)

// loadName stands for an address that a load was put on.
func loadName(i int) string { return "http://HOST:PORT/" + strconv.Itoa(i+1) }
