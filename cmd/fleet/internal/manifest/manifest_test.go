package manifest

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

// Errors name the line or the field, not the decoder.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Job\nspec:\n  templat: 3\n":                     `unknown field "templat"`,
		"kind: Job\n  spec: [\n":                               "line 2: mapping values are not allowed in this context",
		"kind: Job\nspec:\n  parallelism: many\n":              "spec.parallelism: a string is not a number",
		"kind: Job\nspec:\n  suspend: 3\n":                     "spec.suspend: a number is not true or false",
		"kind: [Job]\n":                                        "kind: a list is not a string",
		"kind: Job\nspec: 7\n":                                 "spec: a number is not a mapping",
		"- kind: Job\n":                                        "a list is not a mapping",
		"kind: Job\nspec: {template: {spec: {containers: x}}}": "spec.template.spec.containers: a string is not a list",
		"kind: Job\nkind: Job\n":                               `line 2: key "kind" already set in map`,
	} {
		var job batchv1.Job
		err := Unmarshal([]byte(text), &job)
		if err == nil {
			t.Errorf("%q: no error", text)
		} else if err.Error() != want {
			t.Errorf("%q: %s, want %s", text, err, want)
		}
	}
	var job batchv1.Job
	if err := Unmarshal([]byte("kind: Job\nspec: {parallelism: 3}\n"), &job); err != nil || *job.Spec.Parallelism != 3 {
		t.Error(err)
	}
}

// The kind is known whatever else is in the file.
func TestKind(t *testing.T) {
	if kind, err := Kind([]byte("kind: Job\nfoo: 3\n")); kind != "Job" || err != nil {
		t.Errorf("%q, %v", kind, err)
	}
	if _, err := Kind([]byte("kind: [Job]\n")); err == nil || err.Error() != "kind: a list is not a string" {
		t.Error(err)
	}
}
