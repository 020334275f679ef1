package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// kinds has the kinds of scalars that only tablewake.yaml has, such as templates and paths.
var kinds = yamlbind.Kinds{
	Named: map[string]*yamlbind.Kind{
		"name": yamlbind.Like("name", `[A-Za-z][A-Za-z0-9_-]{0,63}`,
			"a name (a letter, then letters, digits, _ or -; 64 at most)", yamlbind.AsText),
		"bucket": yamlbind.Like("bucket", `[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?`,
			"an S3 bucket's name (3 to 63 of a-z, 0-9, . and -)", yamlbind.AsText),
		"stream":   yamlbind.Like("", tableARN+`/stream/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+`, "a stream's ARN", readTable),
		"entity":   yamlbind.Textual("the name of an entity", readEntityName),
		"path":     pathKind(pathReader(item.ParsePath)),
		"elements": pathKind(readElements),
		"kinesis":  yamlbind.Like("", `arn:[a-z0-9-]+:kinesis:.+`, "a Kinesis stream's ARN", yamlbind.AsText),
	},
	Types: map[reflect.Type]*yamlbind.Kind{
		reflect.TypeFor[Table](): yamlbind.Like("table", `[A-Za-z0-9_.-]{1,255}|`+tableARN,
			"a table's name or ARN", readTable),
		reflect.TypeFor[Start](): yamlbind.Like("", `trim_horizon|latest|[0-9]{4}-[0-9]{2}-[0-9]{2}T.+`,
			"trim_horizon, latest or a time such as 2026-01-31T12:00:00Z", readStart),
		reflect.TypeFor[*template.Template](): withBraces(yamlbind.Textual("a template", readTemplate)),
		reflect.TypeFor[*expr.Item]():         expressionKind("item", expressionReader((*expr.Env).CompileItem)),
		reflect.TypeFor[*expr.Change]():       expressionKind("new", expressionReader((*expr.Env).CompileChange)),
		reflect.TypeFor[*entity.Pattern]():    withBraces(yamlbind.Textual("a pattern", readPattern)),
		reflect.TypeFor[item.Path]():          pathKind(pathReader(item.ParsePath)),
		reflect.TypeFor[item.Pattern]():       yamlbind.Textual("a path", pathReader(item.ParsePattern)),
		reflect.TypeFor[json.RawMessage]():    yamlbind.Textual("text", readMapping),
	},
}

// tableARN is the form of a DynamoDB table's ARN.
const tableARN = `arn:[a-z0-9-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]+`

func readTable(_ *yamlbind.File, v *yamlbind.Value) any { return parseTable(v.Source) }

// withBraces marks k as a kind of text that can have placeholders in braces. It returns k.
func withBraces(k *yamlbind.Kind) *yamlbind.Kind {
	k.Braces = true
	return k
}

// expressionKind returns the kind of an expression. root is the main variable of the expression, item or new; hints use
// it.
func expressionKind(root string, read yamlbind.Reader) *yamlbind.Kind {
	k := yamlbind.Textual("an expression", read)
	k.Instead = func(n *yaml.Node) string { return comparisonHint(root, n) }
	return k
}

// comparisonHint returns the hint for a mapping or a list in place of an expression, such as {Status: paid} or
// [item.Status == "paid"]. It returns "" for other values.
func comparisonHint(root string, n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode {
		return "write it without brackets: " + yamlbind.Quoted(n.Content[0].Value)
	}
	if hasOneEntry := n.Kind == yaml.MappingNode && len(n.Content) == 2; !hasOneEntry {
		return ""
	}
	name, operand := n.Content[0], n.Content[1]
	if operand.Kind != yaml.ScalarNode || !yamlbind.Identifier.MatchString(name.Value) {
		return ""
	}
	literal := operand.Value
	switch yamlbind.TypeOf(operand) {
	case yamlbind.IsNull:
		return ""
	case yamlbind.IsText:
		literal = strconv.Quote(operand.Value)
	}
	return "write " + yamlbind.Quoted(root+"."+name.Value+" == "+literal)
}

// pathKind returns the kind of a path. A string field gets the path as written, even if it is wrong.
func pathKind(read yamlbind.Reader) *yamlbind.Kind {
	k := yamlbind.Textual("a path", read)
	k.AsWritten = true
	return k
}

// inBracesAlone matches a path that is written as a placeholder of a template.
var inBracesAlone = regexp.MustCompile(`^\{([A-Za-z_][A-Za-z0-9_.]*)\}$`)

// pathReader returns a function that reads a path. Beside an `of`, item.PATH means the same as PATH.
func pathReader[T any](parse func(string) (T, error)) yamlbind.Reader {
	read := yamlbind.Parsed(parse)
	return func(f *yamlbind.File, v *yamlbind.Value, parts []yamlbind.Part) any {
		if m := inBracesAlone.FindStringSubmatch(v.Source); m != nil {
			f.Fail(v, "write "+m[1], "it is a path, which has no braces")
			return nil
		}
		hasScope := yamlbind.Context[*checker](f).scopeAt(v.Field) != nil
		if path := itemPath(v.Source); path != "" && hasScope && !readsNames(v) {
			v.Source = path
		}
		return read(f, v, parts)
	}
}

// readsNames reports whether v may be a name that a key binds, instead of a path.
func readsNames(v *value) bool {
	return strings.Contains(v.Field, ".notify.attributes") || strings.Contains(v.Field, ".aggregate.values")
}

// readStart reads source.start, which is a word or a time. It returns nil if a problem was reported.
func readStart(f *yamlbind.File, v *yamlbind.Value) any {
	switch v.Source {
	case "trim_horizon":
		return Start{}
	case "latest":
		return Start{Latest: true}
	}
	start, err := time.Parse(time.RFC3339, v.Source)
	if err != nil {
		f.Fail(v, "write it as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+02:00", "%s is not a time", yamlbind.Quoted(v.Source))
		return nil
	}
	return Start{Time: start.UTC()}
}

func readTemplate(f *yamlbind.File, v *yamlbind.Value, parts []yamlbind.Part) any {
	if v.Source == "" {
		return yamlbind.ReadText(f, v, parts)
	}
	src, problem := templateSource(parts)
	if problem != "" {
		f.Fail(v, "write the path in the file, or use ${...} outside the braces", "%s", problem)
		return nil
	}
	c := yamlbind.Context[*checker](f)
	hasElements := c.isInForEach(v.Field)
	t, err := template.Parse(src, template.Options{Each: v.Rule.Each || hasElements, Identity: hasElements,
		Shard: v.Rule.Shard, Entities: c.entitySet(), Scope: c.scopeAt(v.Field)})
	if err != nil {
		failCompile(f, v, err)
		return nil
	}
	v.Source = src
	return t
}

// expressionReader returns a function that reads an expression and compiles it with compile.
func expressionReader[T any](compile func(*expr.Env, string) (T, error)) yamlbind.Reader {
	return func(f *yamlbind.File, v *yamlbind.Value, parts []yamlbind.Part) any {
		src, problem := expressionSource(parts)
		if problem != "" {
			f.Fail(v, "use a plain string literal", "%s", problem)
			return nil
		}
		c := yamlbind.Context[*checker](f)
		if c.isBrokenAt(v.Field) {
			return nil // a problem says already that `of` or the entity is wrong
		}
		env := c.exprEnv(v)
		isKeyReported := false // the key of an entity has an unknown name as plain text, without braces
		env.UnknownHint = func(name string) string {
			if !isKeyReported {
				isKeyReported = c.failMissingBracesIn(env.Scope, name)
			}
			return c.unknownHint(name)
		}
		compiled, err := compile(&env, src) // calls UnknownHint
		if err == nil {
			v.Source = src
			return compiled
		}
		if !isKeyReported {
			failCompile(f, v, err)
		}
		return nil
	}
}

// failCompile reports an error of a template or an expression at its position in the file.
func failCompile(f *yamlbind.File, v *yamlbind.Value, err error) {
	if e, ok := errors.AsType[*template.Error](err); ok {
		f.FailWithin(v, 1, e.Column, e.Message, e.Hint)
	} else if e, ok := errors.AsType[*expr.Error](err); ok {
		f.FailWithin(v, e.Line, e.Column, e.Message, e.Hint)
	} else {
		f.Fail(v, "", "%v", err)
	}
}
