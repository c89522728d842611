// Package manifest reads YAML files that people write: unknown fields are errors, and
// errors name the field.
package manifest

import (
	"errors"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Unmarshal reads a YAML document. Its errors are one line, in words of the file: where it
// is not YAML its line, else the field, without the steps of the decoder.
func Unmarshal(data []byte, to any) error {
	return plain(yaml.UnmarshalStrict(data, to))
}

// Kind returns the kind of a Kubernetes object, whatever its other fields; "" for none.
func Kind(data []byte) (string, error) {
	var is struct {
		Kind string `json:"kind"`
	}
	err := yaml.Unmarshal(data, &is)
	return is.Kind, plain(err)
}

func plain(err error) error {
	if err == nil {
		return nil
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, step := range []string{"error unmarshaling JSON: ", "error converting YAML to JSON: ", "while decoding JSON: ", "json: ", "yaml: ", "unmarshal errors: "} {
		text = strings.TrimPrefix(text, step)
	}
	if m := unfit.FindStringSubmatch(text); m != nil {
		text = named(m[1]) + " is not " + named(m[4])
		if m[2] != "" {
			text = m[2] + ": " + text
		}
	}
	return errors.New(text)
}

// unfit is what encoding/json says of a value of the wrong kind: the value's, the field,
// and the Go type. Types of Go before the field begin with a capital.
var unfit = regexp.MustCompile(`^cannot unmarshal (\S+) into Go (?:struct field (?:(?:[A-Z]\w*)?\.)*(\S+) of type|value of (type)) (\S+)$`)

// named is a type of JSON or Go as a file has it.
func named(of string) string {
	switch {
	case of == "array", strings.HasPrefix(of, "[]"):
		return "a list"
	case of == "number", strings.HasPrefix(of, "int"), strings.HasPrefix(of, "uint"), strings.HasPrefix(of, "float"):
		return "a number"
	case of == "bool":
		return "true or false"
	case of == "string":
		return "a string"
	}
	return "a mapping"
}
