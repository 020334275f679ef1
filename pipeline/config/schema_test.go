package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tablewake.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("tablewake.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaIsCheckedIn(t *testing.T) {
	golden(t, "tablewake.schema.json", string(config.Schema()))
}

// The schema accepts all good files and the examples.
func TestSchemaTakes(t *testing.T) {
	s := compileSchema(t)
	for _, file := range glob(t, "testdata/good/*.yaml", "testdata/examples/*.yaml") {
		if err := s.Validate(instance(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The schema refuses files whose shape is wrong.
func TestSchemaRefuses(t *testing.T) {
	s := compileSchema(t)
	for _, name := range []string{
		"unknown_keys", "wrong_types", "missing", "versions", "kinesis", "filters", "detect", "archive", "no_sinks", "events", "state_keys", "misplaced",
	} {
		file := filepath.Join("testdata/bad", name+".yaml")
		if err := s.Validate(instance(t, file)); err == nil {
			t.Errorf("%s: taken, want an error", file)
		}
	}
}

func instance(t *testing.T, file string) any {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}
