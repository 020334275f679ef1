package template_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// sam build builds one program for functions with the same code, runtime, architecture, handler and Metadata. The
// functions of a template take the first four from Globals, and have equal Metadata.
func TestSAM_FunctionsShareABuild(t *testing.T) {
	for _, file := range []string{filepath.Join(root, "template.yaml"), filepath.Join("testdata", "shop.template.yaml")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var printed struct {
			Resources map[string]struct {
				Type       string         `yaml:"Type"`
				Metadata   map[string]any `yaml:"Metadata"`
				Properties map[string]any `yaml:"Properties"`
			} `yaml:"Resources"`
		}
		if err := yaml.Unmarshal(text, &printed); err != nil {
			t.Fatal(err)
		}
		of := printed.Resources["Function"].Metadata
		functions := 0
		for id, r := range printed.Resources {
			if r.Type != "AWS::Serverless::Function" {
				continue
			}
			functions++
			if diff := cmp.Diff(of, r.Metadata); diff != "" {
				t.Errorf("%s: Metadata of %s is not that of Function, so that sam build builds twice:\n%s", file, id, diff)
			}
			for _, name := range []string{"CodeUri", "Runtime", "Architectures", "Handler", "PackageType"} {
				if r.Properties[name] != nil {
					t.Errorf("%s: %s has a %s of its own", file, id, name)
				}
			}
		}
		if functions != 3 {
			t.Errorf("%s has %d functions, want 3", file, functions)
		}
	}
}
