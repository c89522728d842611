package text

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

// schemaFile is the JSON Schema of all results, made from the types that write them.
const schemaFile = "../../../../docs/result.schema.json"

// summarySchema is that of Summary, whose figures are keys of their own.
func summarySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	interval, err := jsonschema.For[result.Interval](nil)
	pooled, err2 := jsonschema.For[result.Pooled](nil)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
		"metrics":   {Types: []string{"object", "null"}, AdditionalProperties: interval},
		"collector": {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
	}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, Required: []string{"metrics"}}
	for _, f := range figure.All {
		of := interval
		if f.Pooled {
			of = pooled
		}
		s.Properties[f.Key] = &jsonschema.Schema{Description: f.Label, AnyOf: []*jsonschema.Schema{of.CloneSchemas(), {Type: "null"}}}
		s.Required = append(s.Required, f.Key)
	}
	return s
}

// resultSchema makes the JSON Schema of all results, with what each key means.
func resultSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	root, all := plainSchema(t), meanings(t)
	for name, def := range root.Defs {
		describe(t, def, name, "", all, make(map[string]bool))
	}
	return root
}

// plainSchema makes that of the types.
func plainSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	opts := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[result.Summary]():     summarySchema(t),
		reflect.TypeFor[map[string]float64](): {Types: []string{"object", "null"}, AdditionalProperties: &jsonschema.Schema{Type: "number"}},
	}}
	root := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "Results of folio",
		Description: "Made from the types that write them, with the meanings of docs/result.keys.txt. See docs/results.md.",
		Defs:        make(map[string]*jsonschema.Schema),
	}
	for _, x := range []struct {
		name   string
		of     reflect.Type
		schema string
		kinds  []any
	}{
		{"program", reflect.TypeFor[result.File](), result.Schema, []any{result.KindRun, result.KindTune, result.KindAttach}},
		{"ab", reflect.TypeFor[result.AB](), result.Schema, []any{result.KindAB}},
		{"lab", reflect.TypeFor[result.Lab](), result.Schema, []any{"lab"}},
		{"inspect", reflect.TypeFor[result.Inspect](), result.InspectSchema, []any{"process", "list"}},
		{"doctor", reflect.TypeFor[result.Doctor](), result.DoctorSchema, []any{"doctor"}},
		{"suggest", reflect.TypeFor[result.Suggest](), result.SuggestSchema, []any{"suggest"}},
		{"collapse", reflect.TypeFor[result.Collapse](), result.CollapseSchema, []any{"collapse"}},
		{"sites", reflect.TypeFor[result.Sites](), result.SitesSchema, []any{"sites", "leaks"}},
		{"charge", reflect.TypeFor[result.Charge](), result.ChargeSchema, []any{result.KindCharge}},
		{"load", reflect.TypeFor[result.Load](), result.LoadSchema, []any{"load"}},
	} {
		s, err := jsonschema.ForType(x.of, opts)
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		name := any(x.schema)
		s.Properties["schema"] = &jsonschema.Schema{Const: &name}
		s.Properties["kind"] = &jsonschema.Schema{Enum: x.kinds}
		root.Defs[x.name] = s
		root.OneOf = append(root.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + x.name})
	}
	for _, def := range root.Defs {
		nullWithoutLoad(def)
	}
	return root
}

// nullWithoutLoad lets be null what a sample has only of a server that was under load:
// its type has plain numbers.
func nullWithoutLoad(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties["no_load"] != nil {
		for _, key := range []string{"wall_seconds", "user_seconds", "sys_seconds", "cpu_seconds", "minor_faults", "major_faults"} {
			if p := s.Properties[key]; p.Type != "" {
				p.Types, p.Type = []string{p.Type, "null"}, ""
			}
		}
	}
	nullWithoutLoad(s.Items)
	for _, p := range s.Properties {
		nullWithoutLoad(p)
	}
}

// docs/result.schema.json is the one of the types; -update writes it.
func TestSchemaIsDocumented(t *testing.T) {
	data, err := json.MarshalIndent(resultSchema(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(have, data) {
		t.Errorf("%s is not the schema of the types (-update writes it), %v", schemaFile, err)
	}
}

// Every golden result, and those of whole searches and runs, are valid by the schema in
// docs; one with a key that it does not have is not.
func TestResultsAreValidBySchema(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(data []byte) error {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	results := make(map[string][]byte)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d golden results, %v", len(files), err)
	}
	for _, f := range files {
		if f == "testdata/empty.json" {
			continue // the zero File, which no command writes
		}
		if results[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	res, err := search(t, &fake{perCycle: 20_000, fragile: true, bench: true}, tune.Options{Limits: tune.Limits{RSS: 300 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	f := tuneFile(res)
	f.Schema = result.Schema
	document.SetNotes(f, nil)
	if results["a comparison"], err = abFile(t, "wall>+3%", "oom_kills>+1").JSON(); err != nil {
		t.Fatal(err)
	}
	if results["a search"], err = f.JSON(); err != nil {
		t.Fatal(err)
	}
	s := goSample(1)
	s.Profile = sampled()
	s.Recompute()
	f = runFile([]*trial.Sample{s})
	analyze(f)
	document.SetNotes(f, nil)
	if results["a search of a process"], err = liveFile(t, false).JSON(); err != nil {
		t.Fatal(err)
	}
	if results["a run"], err = f.JSON(); err != nil {
		t.Fatal(err)
	}
	f = runFile([]*trial.Sample{{Round: 1, NoLoad: true, Failure: "the server did not answer"}})
	analyze(f)
	document.SetNotes(f, nil)
	if results["a server without load"], err = f.JSON(); err != nil {
		t.Fatal(err)
	}
	for name, data := range results {
		if err := valid(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := valid([]byte(strings.Replace(string(data), "{", `{"no_such_key": 1,`, 1))); err == nil {
			t.Errorf("%s: valid with a key that there is not", name)
		}
	}
}

// keysFile says what each key means: users read it, and the schema has it as descriptions.
const keysFile = "../../../../docs/result.keys.txt"

// meanings reads keysFile.
func meanings(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(keysFile)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		path, meaning, _ := strings.Cut(line, " ")
		path = strings.TrimSuffix(path, "[]")
		if meaning = strings.TrimSpace(meaning); meaning == "" || out[path] != "" {
			t.Errorf("%s: %q has no meaning, or two", keysFile, path)
		}
		out[path] = meaning
	}
	return out
}

// describe gives each key of a schema the meaning of the longest path that its own ends with (a
// path of one word is of a result itself),
// and notes which were used. What is said around it, of it or of keys above, may name it.
func describe(t *testing.T, s *jsonschema.Schema, path, around string, meanings map[string]string, used map[string]bool) {
	if s == nil {
		return
	}
	for k, p := range s.Properties {
		c := *p // some types share theirs
		for end := path + "." + k; end != ""; {
			if m := meanings[end]; m != "" && (strings.Contains(end, ".") || !strings.Contains(path, ".")) {
				c.Description, used[end] = m, true
				break
			}
			_, end, _ = strings.Cut(end, ".")
		}
		s.Properties[k] = &c
		around += " " + c.Description
	}
	named := keyWord.FindAllString(strings.Join(codeSpan.FindAllString(around, -1), " "), -1)
	for k, p := range s.Properties {
		if p.Description == "" && !slices.Contains(named, k) {
			t.Errorf("%s does not explain %s.%s", keysFile, path, k)
		}
		describe(t, p, path+"."+k, around, meanings, used)
	}
	if s.Items != nil {
		describe(t, s.Items, path+"[]", around, meanings, used)
	}
	describe(t, s.AdditionalProperties, path, around, meanings, used)
	for _, p := range slices.Concat(s.OneOf, s.AnyOf) {
		describe(t, p, path, around, meanings, used)
	}
}

var (
	codeSpan = regexp.MustCompile("`[^`]+`")
	keyWord  = regexp.MustCompile(`[a-z_0-9]+`)
)

// Every key that a result can have is explained, and nothing else is.
func TestKeysAreDocumented(t *testing.T) {
	all, used := meanings(t), make(map[string]bool)
	root := plainSchema(t)
	for name, def := range root.Defs {
		describe(t, def, name, "", all, used)
	}
	for path := range all {
		if !used[path] {
			t.Errorf("%s explains %s, which no result has", keysFile, path)
		}
	}
	if len(used) < 200 {
		t.Errorf("only %d keys", len(used))
	}
}
