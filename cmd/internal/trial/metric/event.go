package metric

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// maxPackages bounds the packages whose output is read at the same time.
const maxPackages = 256

// event reads a line of go test -json (go doc test2json): what a test printed is in pieces, among
// those of other packages.
func (c *Collector) event(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("{")) || !bytes.Contains(line, []byte(`"Action"`)) {
		return false
	}
	var e struct{ Action, Package, Test, Output string }
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		return false
	}
	p := c.packages[e.Package]
	if p == nil {
		if len(c.packages) == maxPackages {
			c.endPackage(slices.Min(slices.Collect(maps.Keys(c.packages))))
		}
		if c.packages == nil {
			c.packages = make(map[string]*Collector)
		}
		p = &Collector{Pattern: c.Pattern, nested: true}
		c.packages[e.Package] = p
	}
	_, _ = p.Write([]byte(e.Output))
	if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
		c.endPackage(e.Package)
	}
	return true
}

// endPackage takes over what was found in the output of a package.
func (c *Collector) endPackage(name string) {
	p := c.packages[name]
	delete(c.packages, name)
	_ = p.Close()
	if p.matched {
		c.value, c.matched = p.value, true
	}
	for key, values := range p.bench.values {
		for _, v := range values {
			c.bench.add(key, v)
		}
	}
	for _, text := range p.bench.leftOut {
		c.bench.leave(text)
	}
}
