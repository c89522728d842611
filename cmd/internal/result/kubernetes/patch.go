// Package kubernetes puts settings into Kubernetes' words: a patch of the object that runs
// a container, for kubectl patch and for Kustomize.
package kubernetes

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/internal/base/console"
)

// A Patch is what a container is to get. What it does not name stays as it is.
type Patch struct {
	Comments []string // lines above the patch: what it comes from, and what else to do
	Env      []Variable
	Requests Resources
	Limits   Resources
}

// A Variable is one of the environment. Why is a comment, "" for none.
type Variable struct{ Name, Value, Why string }

// Resources are quantities: 0 for none. Why says where they come from.
type Resources struct {
	Memory    uint64 // bytes
	CPU       int64  // thousandths of a CPU
	WhyMemory string
	WhyCPU    string
}

func (r Resources) isZero() bool { return r.Memory == 0 && r.CPU == 0 }

// IsEmpty says that the patch changes nothing.
func (p Patch) IsEmpty() bool { return len(p.Env) == 0 && p.Requests.isZero() && p.Limits.isZero() }

// YAML returns the patch for a target: a strategic merge patch, which goes by the names of
// containers and variables. The error names a variable that cannot be in one, or that a Go
// program does not read as it is meant.
func (p Patch) YAML(t Target) (string, error) {
	var b yaml
	for _, c := range p.Comments {
		b.comment(c)
	}
	b.comment("kubectl patch " + t.resource() + " --patch-file FILE, or in a kustomization: patches: [{path: FILE}]")
	b.line("apiVersion: " + t.Kind.APIVersion)
	b.line("kind: " + t.Kind.Name)
	b.line("metadata:")
	b.depth++
	b.line("name: " + scalar(t.Name))
	b.depth--
	for _, key := range t.Kind.path {
		b.line(key + ":")
		b.depth++
	}
	if t.Init {
		b.line("initContainers:")
	} else {
		b.line("containers:")
	}
	b.depth++
	b.item("name: " + scalar(t.Container))
	if p.IsEmpty() {
		b.comment("nothing is to be changed")
	}
	if err := b.container(p, true); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Values returns the patch as values of a Helm chart: env and resources, under the keys
// that the chart has them at, from the outermost on; without keys at the top.
func (p Patch) Values(keys ...string) (string, error) {
	var b yaml
	for _, c := range p.Comments {
		b.comment(c)
	}
	b.comment("helm upgrade RELEASE CHART --reuse-values -f FILE; a list of env replaces that of the chart: keep what it has")
	if p.IsEmpty() {
		b.comment("nothing is to be changed")
		return b.String(), nil
	}
	for _, k := range keys {
		b.line(scalar(k) + ":")
		b.depth++
	}
	if err := b.container(p, false); err != nil {
		return "", err
	}
	return b.String(), nil
}

// container writes what the container is to get. A patch is merged into what is there: of a variable
// that has valueFrom, such as limits.memory, that must go, or Kubernetes refuses the object.
func (b *yaml) container(p Patch, merged bool) error {
	if len(p.Env) > 0 {
		b.line("env:")
		b.depth++
		for _, v := range p.Env {
			if err := v.check(); err != nil {
				return err
			}
			if v.Why != "" {
				b.comment(v.Why)
			}
			b.item("name: " + scalar(v.Name))
			// Kubernetes replaces $(NAME) in a value, and takes $$ for $.
			b.line("value: " + quote(strings.ReplaceAll(v.Value, "$", "$$")))
			if merged {
				b.line("valueFrom: null")
			}
			b.depth--
		}
		b.depth--
	}
	if !p.Requests.isZero() || !p.Limits.isZero() {
		b.line("resources:")
		b.depth++
		b.resources("requests", p.Requests)
		b.resources("limits", p.Limits)
	}
	return nil
}

func (v Variable) check() error {
	for i, c := range []byte(v.Name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9') && c != '-' && c != '.') {
			return fmt.Errorf("variable %q cannot be set by Kubernetes: a name has letters, digits, and of other characters _, - and . alone", v.Name)
		}
	}
	switch {
	case v.Name == "":
		return fmt.Errorf("a variable without a name, with value %q, cannot be set by Kubernetes", v.Value)
	case !utf8.ValidString(v.Value) || strings.ContainsRune(v.Value, 0):
		return fmt.Errorf("variable %s cannot be set by Kubernetes: its value %q is not text", v.Name, v.Value)
	}
	err := gosetting.Check(v.Name+"="+v.Value, "")
	if p, ok := errors.AsType[*gosetting.Problem](err); ok && p.Unknown {
		return nil // of a newer Go than folio knows
	}
	return err
}

// yaml is a text of lines, indented by depth.
type yaml struct {
	strings.Builder
	depth int
}

func (b *yaml) line(s string) {
	for range b.depth {
		b.WriteString("  ")
	}
	b.WriteString(s)
	b.WriteByte('\n')
}

// comment writes a line that nothing can break out of.
func (b *yaml) comment(s string) { b.line("# " + console.Line(s)) }

// item begins an item of a list; what follows it is indented by one more.
func (b *yaml) item(s string) {
	b.line("- " + s)
	b.depth++
}

func (b *yaml) resources(key string, r Resources) {
	if r.isZero() {
		return
	}
	b.line(key + ":")
	b.depth++
	if r.Memory != 0 {
		if r.WhyMemory != "" {
			b.comment(r.WhyMemory)
		}
		b.line("memory: " + Memory(r.Memory))
	}
	if r.CPU != 0 {
		if r.WhyCPU != "" {
			b.comment(r.WhyCPU)
		}
		b.line("cpu: " + CPU(r.CPU))
	}
	b.depth--
}

// Memory returns a quantity of bytes in Kubernetes' canonical form: 512Mi, 2Gi, 1000.
func Memory(bytes uint64) string {
	suffix := ""
	for _, s := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"} {
		if bytes == 0 || bytes%1024 != 0 {
			break
		}
		bytes, suffix = bytes/1024, s
	}
	return quoteNumber(strconv.FormatUint(bytes, 10), suffix)
}

// CPU returns thousandths of a CPU in Kubernetes' canonical form: 1500m, 2.
func CPU(milli int64) string {
	if milli%1000 == 0 {
		return quoteNumber(strconv.FormatInt(milli/1000, 10), "")
	}
	return strconv.FormatInt(milli, 10) + "m"
}

// quoteNumber keeps a quantity that is a number a string for whatever reads the YAML.
func quoteNumber(digits, suffix string) string {
	if suffix == "" {
		return `"` + digits + `"`
	}
	return digits + suffix
}

// milli returns thousandths of a CPU, rounded up.
func milli(cpus float64) int64 { return int64(math.Ceil(cpus*1000 - 1e-6)) }

// scalar returns a name as YAML reads it as a string: quoted where it would be something else.
func scalar(s string) string {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "":
		return quote(s)
	}
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9') && c != '-' && c != '.') {
			return quote(s)
		}
	}
	return s
}

// quote returns a double-quoted scalar. All escapes of Go are YAML's, too.
func quote(s string) string { return strconv.QuoteToASCII(s) }
