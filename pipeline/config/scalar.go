package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/template"
)

// kind is how a scalar is written.
type kind struct {
	ref    string         // name under $defs; ""
	wants  string         // in words
	schema map[string]any // of what stands there without ${NAME}; nil: of any text
	takes  []resolved     // what YAML may make of it; nil: anything but a collection
	env    *regexp.Regexp // form of what the environment gives; nil: any
	units  string         // hint for a number N without its unit; ""
	// read makes the value's data of its source; nil, where it has said what is wrong.
	read reader
}

var (
	isTextual = []resolved{isText}
	isNumeric = []resolved{isInteger, isFloat}
)

// kinds are those that a tag names.
var kinds = map[string]*kind{
	"text":    {wants: "text", takes: isTextual, read: readText},
	"secret":  {wants: "text", takes: isTextual, read: readText},
	"scalar":  {wants: "text", schema: map[string]any{"type": []string{"string", "number", "boolean"}}, read: readScalar},
	"path":    {wants: "a path", takes: isTextual, read: parsed(pipeline.ParsePath)},
	"word":    {schema: map[string]any{}, takes: isTextual, read: readWord},
	"size":    {wants: "a size such as 64MB", schema: matching(sizeForm), takes: isTextual, units: "write NB, NMB or NMiB", read: readSize},
	"name":    like("name", `[A-Za-z][A-Za-z0-9_-]{0,63}`, "a name (a letter, then letters, digits, _ or -; 64 at most)", asText),
	"bucket":  like("bucket", `[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]`, "an S3 bucket's name (3 to 63 of a-z, 0-9, . and -)", asText),
	"stream":  like("", tableARN+`/stream/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+`, "a stream's ARN", asTable),
	"kinesis": like("", `arn:[a-z0-9-]+:kinesis:.+`, "a Kinesis stream's ARN", asText),
}

// kindsOfTypes are those of Go types.
var kindsOfTypes = map[reflect.Type]*kind{
	reflect.TypeFor[string]():             kinds["text"],
	reflect.TypeFor[bool]():               {wants: "true or false", schema: map[string]any{"type": "boolean"}, takes: []resolved{isBoolean}, env: coreBoolean, read: readBoolean},
	reflect.TypeFor[int]():                integer,
	reflect.TypeFor[int64]():              integer,
	reflect.TypeFor[float64]():            {wants: "a number", schema: map[string]any{"type": "number"}, takes: isNumeric, env: coreFloat, read: readRate},
	reflect.TypeFor[pipeline.Decimal]():   {wants: "a number", schema: map[string]any{"type": "number"}, takes: isNumeric, env: coreFloat, read: readNumber},
	reflect.TypeFor[time.Duration]():      {wants: "a duration such as 90s, 15m, 12h or 30d", schema: matching(durationForm), takes: isTextual, units: "write Ns, Nm, Nh or Nd", read: readDuration},
	reflect.TypeFor[Table]():              like("table", `[A-Za-z0-9_.-]{1,255}|`+tableARN, "a table's name or ARN", asTable),
	reflect.TypeFor[Start]():              like("", `trim_horizon|latest|[0-9]{4}-[0-9]{2}-[0-9]{2}T.+`, "trim_horizon, latest or a time as 2026-01-31T12:00:00Z", asStart),
	reflect.TypeFor[pipeline.Path]():      kinds["path"],
	reflect.TypeFor[pipeline.Pattern]():   {wants: "a path", takes: isTextual, read: parsed(pipeline.ParsePattern)},
	reflect.TypeFor[*template.Template](): {wants: "a template", takes: isTextual, read: readTemplate},
	reflect.TypeFor[*expr.Item]():         {wants: "an expression", takes: isTextual, read: expression((*expr.Env).CompileItem)},
	reflect.TypeFor[*expr.Change]():       {wants: "an expression", takes: isTextual, read: expression((*expr.Env).CompileChange)},
	reflect.TypeFor[json.RawMessage]():    {wants: "text", takes: isTextual, read: readMapping},
}

var integer = &kind{wants: "a whole number", schema: map[string]any{"type": "integer", "minimum": 1}, takes: []resolved{isInteger}, env: coreInteger, read: readInteger}

// kindOf is the kind of a field; nil where the field is no scalar.
func kindOf(t reflect.Type, tag reflect.StructTag) *kind {
	if k := t.Kind(); (k == reflect.Slice || k == reflect.Map) && kindsOfTypes[t] == nil {
		return nil
	}
	switch is := tag.Get("is"); {
	case is != "":
		return kinds[is]
	case tag.Get("words") != "":
		return kinds["word"]
	}
	return kindsOfTypes[t]
}

// tableARN is the form of a DynamoDB table's ARN.
const tableARN = `arn:[a-z0-9-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]+`

func matching(form *regexp.Regexp) map[string]any {
	return map[string]any{"type": "string", "pattern": form.String()}
}

// like is text that matches the expression as a whole; wants says it in words.
func like(ref, expression, wants string, read func(*checker, *value) any) *kind {
	form := regexp.MustCompile(`^(?:` + expression + `)$`)
	return &kind{ref: ref, wants: wants, schema: matching(form), takes: isTextual, read: func(c *checker, v *value, _ []part) any {
		if !form.MatchString(v.source) {
			c.fail(v, "", "%s is not %s", quoted(v.source), wants)
			return nil
		}
		return read(c, v)
	}}
}

func asText(_ *checker, v *value) any { return v.source }

func asTable(_ *checker, v *value) any { return tableOf(v.source) }

// asStart is the word or the time at which a stream is begun.
func asStart(c *checker, v *value) any {
	switch v.source {
	case "trim_horizon":
		return Start{}
	case "latest":
		return Start{Latest: true}
	}
	at, err := time.Parse(time.RFC3339, v.source)
	if err != nil {
		c.fail(v, "write it as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+02:00", "%s is no time", quoted(v.source))
		return nil
	}
	return Start{Time: at.UTC()}
}

// scalar checks and compiles a single value.
func (c *checker) scalar(v *value, key *yaml.Node) {
	n, secret := v.node, v.rule.kind == kinds["secret"]
	if message, hint, torn := c.torn(key, n); torn {
		if secret {
			message, hint = "wants text, and YAML made something else of it", "write '${NAME}', or quote it"
		}
		c.fail(v, hint, "%s", message)
		return
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(v, "", "wants %s, not %s", v.rule.wants(), c.found(n))
		return
	}
	parts, bad := expand(n.Value, c.getenv)
	for _, b := range bad {
		c.fail(v, b[1], "%s", b[0])
	}
	if len(bad) > 0 {
		return
	}
	v.source, v.env = join(parts)
	switch is := resolve(n); {
	case v.fits(is):
		v.data = v.rule.kind.read(c, v, parts)
	case secret:
		c.fail(v, "write ${NAME}, or quote it", "wants text, not %s", is)
	case v.env:
		c.fail(v, v.misfit(is), "wants %s, not what the environment gave", v.rule.wants())
	default:
		c.fail(v, v.misfit(is), "wants %s, not %s", v.rule.wants(), c.found(n))
	}
}

// fits tells whether YAML made of the scalar what the rule wants. A value of
// the environment is text, and is read as what the place wants.
func (v *value) fits(is resolved) bool {
	k := v.rule.kind
	return k.takes == nil || slices.Contains(k.takes, is) || v.env && k.env != nil && k.env.MatchString(v.source)
}

// misfit is the hint for a scalar that does not fit.
func (v *value) misfit(is resolved) string {
	textual := slices.Contains(v.rule.kind.takes, isText)
	switch {
	case is == isInteger && v.rule.kind.units != "":
		return strings.ReplaceAll(v.rule.kind.units, "N", v.node.Value)
	case is == isNull:
		return "write a value or remove the key"
	case is != isText && textual:
		return "quote it: " + quoted(v.node.Value)
	case is == isText && v.node.Style != 0 && !v.env:
		return "write it without quotes"
	case v.rule.kind.env == coreBoolean:
		return "write true or false"
	}
	return ""
}

// wants names what the rule asks for.
func (r *rule) wants() string {
	if r.words != nil {
		return enumerate(r.words, "or")
	}
	return r.kind.wants
}

func readText(c *checker, v *value, _ []part) any {
	if v.source == "" {
		c.fail(v, "write a value or remove the key", "is empty")
		return nil
	}
	return v.source
}

func readWord(c *checker, v *value, _ []part) any {
	if !slices.Contains(v.rule.words, v.source) {
		c.fail(v, Hint(v.source, v.rule.words, "the words here are"), "%s is not known here", quoted(v.source))
		return nil
	}
	return v.source
}

func readBoolean(_ *checker, v *value, _ []part) any { return strings.EqualFold(v.source, "true") }

func readInteger(c *checker, v *value, _ []part) any {
	i, err := strconv.ParseInt(strings.Replace(v.source, "0o", "0", 1), base(v.source), 64)
	switch most := v.rule.most; {
	case err != nil:
		c.fail(v, "", "%s is too large", v.source)
	case most == 1 && i != most: // of the version alone
		c.fail(v, fmt.Sprintf("write %d", most), "%d is not known; this version reads %d", i, most)
	case i < 1:
		c.fail(v, "", "%d is less than 1", i)
	case most != 0 && i > most:
		c.fail(v, "", "%d is more than %d", i, most)
	default:
		return i
	}
	return nil
}

// base is that of a number in YAML 1.2: 0o17 and 0x1f, and 017 is seventeen.
func base(s string) int {
	switch {
	case strings.HasPrefix(s, "0o"):
		return 8
	case strings.HasPrefix(s, "0x"):
		return 0
	}
	return 10
}

func readNumber(c *checker, v *value, _ []part) any {
	d, err := pipeline.ParseDecimal(strings.TrimPrefix(v.source, "+"))
	if err != nil {
		c.fail(v, "", "%s is no number of DynamoDB's range: %v", v.source, err)
		return nil
	}
	return d
}

func readRate(c *checker, v *value, parts []part) any {
	d, ok := readNumber(c, v, parts).(pipeline.Decimal)
	if ok && d.Sign() <= 0 {
		c.fail(v, "remove the key for no limit", "a rate is above 0")
	}
	return d.Float64()
}

// readScalar is the text of a scalar of any type but null: a number as it is
// spelled, a boolean as true or false.
func readScalar(c *checker, v *value, _ []part) any {
	text := v.source
	switch is := resolve(v.node); {
	case v.env:
	case is == isNull:
		c.fail(v, "write a value or remove the key; quote a text: "+quoted(v.node.Value), "wants a text, a number, true or false, not nothing")
		return nil
	case is == isBoolean:
		text = strings.ToLower(text)
	case is == isInteger || is == isFloat:
		text = strings.TrimPrefix(text, "+")
		if _, err := pipeline.ParseDecimal(text); err != nil {
			c.fail(v, "write it in decimal digits, or quote a text: "+quoted(v.node.Value), "%s is no number of DynamoDB's: %v", v.node.Value, err)
			return nil
		}
	}
	if text == "" {
		c.fail(v, "write '*' for any value", "is empty")
		return nil
	}
	return text
}

var sizeForm = regexp.MustCompile(`^([0-9]+)(B|[kKMGT]B|[KMGT]iB)$`)

var sizeUnits = map[string]int64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

func readSize(c *checker, v *value, _ []part) any {
	m := sizeForm.FindStringSubmatch(v.source)
	if m == nil {
		c.fail(v, "write a whole number and one of B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024)", "%s is no size", quoted(v.source))
		return nil
	}
	n, err := scaled(m[1], sizeUnits[m[2]])
	switch {
	case err != nil:
		c.fail(v, "", "%s is too large", v.source)
	case n == 0:
		c.fail(v, "remove the key for the default", "a size cannot be 0")
	default:
		return n
	}
	return nil
}

var durationForm = regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d)$`)

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

func readDuration(c *checker, v *value, _ []part) any {
	m := durationForm.FindStringSubmatch(v.source)
	if m == nil {
		c.fail(v, "write a whole number and one of ms, s, m, h, d", "%s is no duration", quoted(v.source))
		return nil
	}
	n, err := scaled(m[1], int64(durationUnits[m[2]]))
	if err != nil {
		c.fail(v, "", "%s is too long", v.source)
		return nil
	}
	return time.Duration(n)
}

// scaled is a number of units, as far as int64 holds it.
func scaled(digits string, unit int64) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && n > math.MaxInt64/unit {
		err = strconv.ErrRange
	}
	return n * unit, err
}

// reader is how the data of a scalar are made.
type reader func(c *checker, v *value, parts []part) any

// parsed reads a text by its parser.
func parsed[T any](parse func(string) (T, error)) reader {
	return func(c *checker, v *value, _ []part) any { return compile(c, v, v.source, parse) }
}

func readTemplate(c *checker, v *value, parts []part) any {
	src, bad := joinTemplate(parts)
	switch {
	case v.source == "":
		return readText(c, v, parts)
	case bad != "":
		c.fail(v, "write the path in the file, or use ${...} outside the braces", "%s", bad)
		return nil
	}
	return compile(c, v, src, func(src string) (*template.Template, error) {
		return template.Parse(src, template.Options{Each: v.rule.each})
	})
}

// expression reads an expression over what there is.
func expression[T any](over func(*expr.Env, string) (T, error)) reader {
	return func(c *checker, v *value, parts []part) any {
		src, bad := joinExpr(parts)
		if bad != "" {
			c.fail(v, "use a plain string literal", "%s", bad)
			return nil
		}
		return compile(c, v, src, func(src string) (T, error) { return over(&c.env, src) })
	}
}

// compile parses the source of a scalar. It notes what the parser said, at its place in the file.
func compile[T any](c *checker, v *value, src string, parse func(string) (T, error)) any {
	t, err := parse(src)
	if err == nil {
		v.source = src
		return t
	}
	p := c.problem(v, "", "%v", err)
	at := func(line, column int) { p.Line, p.Column = c.within(v.node, line, column) }
	byBytes := func(message string, column int) {
		p.Message = message
		at(1, utf8.RuneCountInString(src[:min(max(column-1, 0), len(src))])+1)
	}
	if e, ok := errors.AsType[*pipeline.PathError](err); ok {
		byBytes(e.Message, e.Column)
	} else if e, ok := errors.AsType[*pipeline.PatternError](err); ok {
		byBytes(e.Message, e.Column)
	} else if e, ok := errors.AsType[*template.Error](err); ok {
		p.Message, p.Hint = e.Message, e.Hint
		at(1, e.Column)
	} else if e, ok := errors.AsType[*expr.Error](err); ok {
		p.Message, p.Hint = e.Message, e.Hint
		at(e.Line, e.Column)
	}
	c.problems = append(c.problems, p)
	return nil
}
