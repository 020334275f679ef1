package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// stack is a CloudFormation template without functions. A reference is a text in the form of Fn::Sub, such as ${Bucket}
// and ${Leases.Arn}. A condition (Fn::If) is the value that holds if the condition is true.
type stack struct {
	Parameters map[string]struct {
		Description string  `yaml:"Description"`
		Default     *string `yaml:"Default"`
	} `yaml:"Parameters"`
	Resources map[string]resource `yaml:"Resources"`
}

type resource struct {
	Type       string         `yaml:"Type"`
	Properties map[string]any `yaml:"Properties"`
}

func readStack(t *testing.T, file string) stack {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	plain(&doc)
	var s stack
	if err := doc.Decode(&s); err != nil || len(s.Resources) == 0 {
		t.Fatalf("%s: %d resources, %v", file, len(s.Resources), err)
	}
	return s
}

// plain replaces the functions in a node.
func plain(n *yaml.Node) {
	for _, c := range n.Content {
		plain(c)
	}
	switch n.Tag {
	case "!Ref":
		n.SetString("${" + n.Value + "}")
	case "!GetAtt":
		n.SetString("${" + n.Value + "}")
	case "!Sub":
		if n.Kind == yaml.SequenceNode {
			*n = *n.Content[0]
		} else {
			n.SetString(n.Value)
		}
	case "!If":
		*n = *n.Content[1]
	default:
		if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
			n.Tag = ""
		}
	}
}

// find returns the value at a path, such as Task.ContainerDefinitions.0.Command.
func (s stack) find(t *testing.T, path string) any {
	t.Helper()
	name, rest, _ := strings.Cut(path, ".")
	var at any = s.Resources[name].Properties
	for step := range strings.SplitSeq(rest, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			at = v[int(step[0]-'0')]
		}
	}
	if at == nil {
		t.Fatalf("there is no %s", path)
	}
	return at
}

// texts returns a list of texts, also for a single text.
func texts(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var all []string
	for _, e := range v.([]any) {
		all = append(all, e.(string))
	}
	return all
}
