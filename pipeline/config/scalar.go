package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
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

// scalar checks and compiles a single value.
func (c *checker) scalar(v *value, key *yaml.Node) {
	n, r := v.node, v.rule
	if message, hint, torn := c.torn(key, n); torn {
		if r.secret {
			message, hint = "wants text, and YAML made something else of it", "write '${NAME}', or quote it"
		}
		c.fail(v, hint, "%s", message)
		return
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(v, "", "wants %s, not %s", r.wants(), c.found(n))
		return
	}
	parts, bad := expand(n.Value, c.getenv)
	for _, b := range bad {
		c.fail(v, b[1], "%s", b[0])
	}
	if len(bad) > 0 {
		return
	}
	v.source, v.env = join(parts), hasEnv(parts)
	if !c.kindFits(v, hasEnv(parts)) {
		return
	}
	switch r.shape {
	case textShape:
		c.text(v)
	case wordShape:
		c.word(v)
	case integerShape:
		c.integer(v)
	case numberShape:
		c.number(v)
	case booleanShape:
		v.data = strings.EqualFold(v.source, "true")
	case sizeShape:
		c.size(v)
	case durationShape:
		c.duration(v)
	case scalarShape:
		c.anyScalar(v, hasEnv(parts))
	case pathShape:
		c.path(v)
	case patternShape:
		c.pattern(v)
	case templateShape:
		c.template(v, parts)
	default: // collections never come here
		c.expression(v, parts)
	}
}

// kindFits tells whether YAML made of the scalar what the rule wants. A value of
// the environment is text, and is read as what the place wants.
func (c *checker) kindFits(v *value, env bool) bool {
	n, r := v.node, v.rule
	is := resolve(n)
	var fits bool
	switch r.shape {
	case scalarShape:
		fits = true
	case integerShape:
		fits = is == isInteger || env && coreInteger.MatchString(v.source)
	case numberShape:
		fits = is == isInteger || is == isFloat || env && coreFloat.MatchString(v.source)
	case booleanShape:
		fits = is == isBoolean || env && coreBoolean.MatchString(v.source)
	default:
		fits = is == isText
	}
	if fits {
		return true
	}
	if r.secret {
		c.fail(v, "write ${NAME}, or quote it", "wants text, not %s", is)
		return false
	}
	hint := ""
	switch {
	case is == isInteger && r.shape == sizeShape:
		hint = "write " + n.Value + "B, " + n.Value + "MB or " + n.Value + "MiB"
	case is == isInteger && r.shape == durationShape:
		hint = "write " + n.Value + "s, " + n.Value + "m, " + n.Value + "h or " + n.Value + "d"
	case is == isNull:
		hint = "write a value or remove the key"
	case is != isText && (r.shape != integerShape && r.shape != numberShape && r.shape != booleanShape):
		hint = "quote it: " + quoted(n.Value)
	case is == isText && n.Style != 0 && !env:
		hint = "write it without quotes"
	case r.shape == booleanShape:
		hint = "write true or false"
	}
	found := c.found(n)
	if env {
		found = "what the environment gave"
	}
	c.fail(v, hint, "wants %s, not %s", r.wants(), found)
	return false
}

// wants names what the rule asks for.
func (r *rule) wants() string {
	switch r.shape {
	case wordShape:
		return enumerate(r.words, "or")
	case pathShape, patternShape:
		return "a path"
	case templateShape:
		return "a template"
	case itemExprShape, changeExprShape:
		return "an expression"
	case integerShape:
		return "a whole number"
	case numberShape:
		return "a number"
	case booleanShape:
		return "true or false"
	case sizeShape:
		return "a size such as 64MB"
	case durationShape:
		return "a duration such as 90s, 15m, 12h or 30d"
	default:
		return cmp.Or(r.likes, "text")
	}
}

func (c *checker) text(v *value) {
	switch r := v.rule; {
	case r.like != nil && !r.like.MatchString(v.source):
		c.fail(v, "", "%s is not %s", quoted(v.source), r.likes)
		return
	case r.like == nil && v.source == "":
		c.fail(v, "write a value or remove the key", "is empty")
		return
	}
	v.data = v.source
}

func (c *checker) word(v *value) {
	if !slices.Contains(v.rule.words, v.source) {
		c.fail(v, meant(v.source, v.rule.words, "the words here are"), "%s is not known here", quoted(v.source))
		return
	}
	v.data = v.source
}

func (c *checker) integer(v *value) {
	i, err := strconv.ParseInt(strings.Replace(v.source, "0o", "0", 1), base(v.source), 64)
	switch r := v.rule; {
	case err != nil:
		c.fail(v, "", "%s is too large", v.source)
	case r.most != 0 && r.least == r.most && i != r.most:
		c.fail(v, fmt.Sprintf("write %d", r.most), "%d is not known; this version reads %d", i, r.most)
	case i < r.least:
		c.fail(v, "", "%d is less than %d", i, r.least)
	case r.most != 0 && i > r.most:
		c.fail(v, "", "%d is more than %d", i, r.most)
	default:
		v.data = i
	}
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

func (c *checker) number(v *value) {
	d, err := pipeline.ParseDecimal(strings.TrimPrefix(v.source, "+"))
	if err != nil {
		c.fail(v, "", "%s is no number of DynamoDB's range: %v", v.source, err)
		return
	}
	v.data = d
}

// anyScalar is the text of a scalar of any type but null: a number as it is
// spelled, a boolean as true or false.
func (c *checker) anyScalar(v *value, env bool) {
	text := v.source
	switch is := resolve(v.node); {
	case env:
	case is == isNull:
		c.fail(v, "write a value or remove the key; quote a text: "+quoted(v.node.Value), "wants a text, a number, true or false, not nothing")
		return
	case is == isBoolean:
		text = strings.ToLower(text)
	case is == isInteger || is == isFloat:
		text = strings.TrimPrefix(text, "+")
		if _, err := pipeline.ParseDecimal(text); err != nil {
			c.fail(v, "write it in decimal digits, or quote a text: "+quoted(v.node.Value), "%s is no number of DynamoDB's: %v", v.node.Value, err)
			return
		}
	}
	if text == "" {
		c.fail(v, "write '*' for any value", "is empty")
		return
	}
	v.data = text
}

// indexName is what every search store takes.
var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,254}$`)

var sizeForm = regexp.MustCompile(`^([0-9]+)(B|[kKMGT]B|[KMGT]iB)$`)

var sizeUnits = map[string]int64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

func (c *checker) size(v *value) {
	m := sizeForm.FindStringSubmatch(v.source)
	if m == nil {
		c.fail(v, "write a whole number and one of B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024)", "%s is no size", quoted(v.source))
		return
	}
	n, err := scaled(m[1], sizeUnits[m[2]])
	switch {
	case err != nil:
		c.fail(v, "", "%s is too large", v.source)
	case n == 0:
		c.fail(v, "remove the key for the default", "a size cannot be 0")
	default:
		v.data = n
	}
}

var durationForm = regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d)$`)

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

func (c *checker) duration(v *value) {
	m := durationForm.FindStringSubmatch(v.source)
	if m == nil {
		c.fail(v, "write a whole number and one of ms, s, m, h, d", "%s is no duration", quoted(v.source))
		return
	}
	n, err := scaled(m[1], int64(durationUnits[m[2]]))
	if err != nil {
		c.fail(v, "", "%s is too long", v.source)
		return
	}
	v.data = time.Duration(n)
}

// scaled is a number of units, as far as int64 holds it.
func scaled(digits string, unit int64) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && n > math.MaxInt64/unit {
		err = strconv.ErrRange
	}
	return n * unit, err
}

func (c *checker) path(v *value) {
	p, err := pipeline.ParsePath(v.source)
	if err != nil {
		message, column := err.Error(), 1
		if e, ok := errors.AsType[*pipeline.PathError](err); ok {
			message, column = e.Message, e.Column
		}
		c.failWithin(v, column, message)
		return
	}
	v.data = p
}

func (c *checker) pattern(v *value) {
	p, err := pipeline.ParsePattern(v.source)
	if err != nil {
		message, column := err.Error(), 1
		if e, ok := errors.AsType[*pipeline.PatternError](err); ok {
			message, column = e.Message, e.Column
		}
		c.failWithin(v, column, message)
		return
	}
	v.data = p
}

// failWithin notes a problem at a byte of the text, 1-based.
func (c *checker) failWithin(v *value, column int, message string) {
	before := v.source[:min(max(column-1, 0), len(v.source))]
	line, at := c.within(v.node, 1, utf8.RuneCountInString(before)+1)
	c.at(line, at, v.field, message, "")
}

func (c *checker) template(v *value, parts []part) {
	if v.source == "" {
		c.fail(v, "write a value or remove the key", "is empty")
		return
	}
	src, bad := joinTemplate(parts)
	if bad != "" {
		c.fail(v, "write the path in the file, or use ${...} outside the braces", "%s", bad)
		return
	}
	t, err := template.Parse(src, template.Options{Each: v.rule.each})
	if err != nil {
		line, column, message, hint := v.node.Line, v.node.Column, err.Error(), ""
		if e, ok := errors.AsType[*template.Error](err); ok {
			message, hint = e.Message, e.Hint
			line, column = c.within(v.node, 1, e.Column)
		}
		c.at(line, column, v.field, message, hint)
		return
	}
	v.source, v.data = src, t
}

func (c *checker) expression(v *value, parts []part) {
	src, bad := joinExpr(parts)
	if bad != "" {
		c.fail(v, "use a plain string literal", "%s", bad)
		return
	}
	var err error
	if v.rule.shape == itemExprShape {
		var x *expr.Item
		if x, err = c.env.CompileItem(src); err == nil {
			v.data = x
		}
	} else {
		var x *expr.Change
		if x, err = c.env.CompileChange(src); err == nil {
			v.data = x
		}
	}
	if err != nil {
		line, column, message, hint := v.node.Line, v.node.Column, err.Error(), ""
		if e, ok := errors.AsType[*expr.Error](err); ok {
			message, hint = e.Message, e.Hint
			line, column = c.within(v.node, e.Line, e.Column)
		}
		c.at(line, column, v.field, message, hint)
		return
	}
	v.source = src
}
