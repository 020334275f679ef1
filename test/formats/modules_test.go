package formats

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// checked is a module with what it declares and uses.
type checked struct {
	declared map[string]bool // addresses: var.x, local.x, data.type.name, type.name
	used     map[string]bool
	problems []string
}

// check parses a module and collects what it declares and uses.
func check(file string, text []byte) *checked {
	c := &checked{declared: make(map[string]bool), used: make(map[string]bool)}
	f, problems := hclsyntax.ParseConfig(text, file, hcl.InitialPos)
	if problems.HasErrors() {
		c.problems = append(c.problems, problems.Error())
		return c
	}
	body := f.Body.(*hclsyntax.Body)
	for _, b := range body.Blocks {
		c.declare(b)
	}
	hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch e := n.(type) {
		case *hclsyntax.ScopeTraversalExpr:
			c.use(e.Traversal)
		case *hclsyntax.TemplateWrapExpr:
			c.problems = append(c.problems, fmt.Sprintf("%s: a reference alone needs no quotes", e.Range()))
		}
		return nil
	})
	c.checkNames(body)
	if formatted := hclwrite.Format(text); !bytes.Equal(formatted, text) {
		c.problems = append(c.problems, "terraform fmt formats it differently, first in line "+strconv.Itoa(firstDifference(text, formatted)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.used)) {
		if !c.declared[name] {
			c.problems = append(c.problems, name+" is used, and not declared")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.declared)) {
		if strings.HasPrefix(name, "var.") && !c.used[name] {
			c.problems = append(c.problems, name+" is declared, and not used")
		}
	}
	return c
}

// declare adds what a block of the top level declares. A name may be declared only once.
func (c *checked) declare(b *hclsyntax.Block) {
	var names []string
	switch b.Type {
	case "variable":
		names = append(names, "var."+b.Labels[0])
	case "resource":
		names = append(names, strings.Join(b.Labels, "."))
	case "data":
		names = append(names, "data."+strings.Join(b.Labels, "."))
	case "output":
		names = append(names, "output."+b.Labels[0])
	case "locals":
		for name := range b.Body.Attributes {
			names = append(names, "local."+name)
		}
	case "terraform":
	default:
		c.problems = append(c.problems, "a block "+b.Type)
	}
	for _, name := range names {
		if c.declared[name] {
			c.problems = append(c.problems, name+" is declared twice")
		}
		c.declared[name] = true
	}
}

// firstDifference returns the number of the first line that differs.
func firstDifference(a, b []byte) int {
	other := bytes.Split(b, []byte("\n"))
	for i, line := range bytes.Split(a, []byte("\n")) {
		if i >= len(other) || !bytes.Equal(line, other[i]) {
			return i + 1
		}
	}
	return len(other)
}

// longest has the limits of the length of names, by type of resource and attribute. A name_prefix has 26 characters
// less, which Terraform's suffix takes.
var longest = map[string]int{
	"aws_cloudwatch_event_rule.name_prefix":  64 - 26,
	"aws_cloudwatch_log_group.name":          512,
	"aws_cloudwatch_metric_alarm.alarm_name": 255,
	"aws_iam_role.name_prefix":               64 - 26,
	"aws_lambda_function.function_name":      64,
	"aws_lambda_layer_version.layer_name":    140,
	"aws_s3_bucket.bucket_prefix":            63 - 26,
	"aws_sqs_queue.name_prefix":              80 - 26,
}

// checkNames computes the names that the module makes from its locals, and compares them with the limits.
func (c *checked) checkNames(body *hclsyntax.Body) {
	locals := make(map[string]cty.Value)
	for _, b := range body.Blocks {
		if b.Type == "locals" {
			for name, a := range b.Body.Attributes {
				if v, problems := a.Expr.Value(nil); !problems.HasErrors() {
					locals[name] = v
				}
			}
		}
	}
	values := &hcl.EvalContext{Variables: map[string]cty.Value{"local": cty.ObjectVal(locals)}}
	for _, b := range body.Blocks {
		if b.Type != "resource" {
			continue
		}
		for name, a := range b.Body.Attributes {
			limit, is := longest[b.Labels[0]+"."+name]
			if !is {
				continue
			}
			v, problems := a.Expr.Value(values)
			if problems.HasErrors() {
				c.problems = append(c.problems, problems.Error())
			} else if text := v.AsString(); len(text) > limit {
				c.problems = append(c.problems, fmt.Sprintf("%s of %s has %d characters, and may have %d: %s", name, strings.Join(b.Labels, "."), len(text), limit, text))
			}
		}
	}
}

// use adds the address that an expression reads. Iterators of dynamic blocks, types and path.module are not addresses.
func (c *checked) use(t hcl.Traversal) {
	step := func(i int) string {
		if i < len(t) {
			if a, is := t[i].(hcl.TraverseAttr); is {
				return a.Name
			}
		}
		return ""
	}
	switch root := t.RootName(); root {
	case "path", "statement", "server_side_encryption", "string", "number", "bool":
	case "var", "local":
		c.used[root+"."+step(1)] = true
	case "data":
		c.used[fmt.Sprint("data.", step(1), ".", step(2))] = true
		if step(1) == "aws_region" && step(3) == "name" {
			c.problems = append(c.problems, "the name of aws_region is deprecated")
		}
	default:
		c.used[root+"."+step(1)] = true
	}
}

// Every printed module parses, and declares each name that it uses exactly once.
func TestModules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "cmd", "internal", "template", "testdata", "*.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := check(file, text)
		for _, p := range c.problems {
			t.Errorf("%s: %s", file, p)
		}
		if len(c.declared) < 40 {
			t.Errorf("%s declares %d things", file, len(c.declared))
		}
	}
}

// check finds mistakes.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`resource "a" "b" {`:                               "Unclosed configuration block",
		`resource "a" "b" { x = var.y }`:                   "var.y is used, and not declared",
		`resource "a" "b" { x = "${c.d.arn}/*" }`:          "c.d is used, and not declared",
		`variable "y" {}`:                                  "var.y is declared, and not used",
		"resource \"a\" \"b\" {}\nresource \"a\" \"b\" {}": "a.b is declared twice",
		`module "m" {}`:                                    "a block module",
		`resource "a" "b" { x = "${c.d.arn}" }`:            "a reference alone needs no quotes",
		"locals {\n  name = \"a\"\n  value   = 1\n}\n":     "terraform fmt formats it differently",
		"locals {\n  name = \"a-name-of-twenty-ones\"\n}\nresource \"aws_iam_role\" \"r\" {\n  name_prefix = \"${local.name}-and-a-long-suffix\"\n}\n": "has 39 characters, and may have 38",
		"data \"aws_region\" \"c\" {}\nresource \"a\" \"b\" { x = data.aws_region.c.name }":                                                            "is deprecated",
	} {
		if got := check("x.tf", []byte(text)).problems; !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
