package yamlbind

import (
	"errors"
	"reflect"
	"regexp"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Kind describes a kind of scalar: which texts it takes, and how they are read.
type Kind struct {
	Ref       string         // name of its schema under $defs; "" if the schema is written in place
	Wants     string         // the form in words
	Schema    map[string]any // schema of a text without ${NAME}; nil if any text is allowed
	Takes     []YAMLType     // YAML types that it may have; nil if any scalar is allowed
	AsWritten bool           // a string field receives the text as written, even if the text is wrong
	Braces    bool           // the text may have placeholders {NAME}
	Read      Reader

	// Instead returns the hint for a mapping or a list in place of the text. If Instead is nil or returns "", the hint
	// is to quote the text.
	Instead func(n *yaml.Node) string

	env    *regexp.Regexp // form of a value that comes from an environment variable; nil if any is allowed
	units  string         // hint for a number without its unit; "" if there is no hint
	secret bool           // no problem may repeat the text
}

// Reader returns the data of a scalar. parts are the pieces of the scalar's source. If the source is wrong, Reader
// notes a problem and returns nil.
type Reader func(f *File, v *Value, parts []Part) any

// Kinds are kinds of scalars. Named has them by the name in the tag `is`, and Types by the Go type of the field.
type Kinds struct {
	Named map[string]*Kind
	Types map[reflect.Type]*Kind
}

// kindOf returns the kind of a field, or nil if the field is not a scalar.
func (ks Kinds) kindOf(t reflect.Type, tag reflect.StructTag) *Kind {
	isCollection := t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	if isCollection && ks.Types[t] == nil {
		return nil // the tags are about its elements
	}
	if name := tag.Get("is"); name != "" {
		return ks.Named[name]
	}
	if tag.Get("words") != "" {
		return ks.Named["word"]
	}
	return ks.Types[t]
}

var isNumeric = []YAMLType{IsInteger, IsFloat}

// basic has the kinds that every file can use.
var basic = func() Kinds {
	text, path := Textual("text", ReadText), Textual("a path", Parsed(item.ParsePath))
	path.AsWritten = true
	secret := *text
	secret.secret = true
	size := Textual("a size such as 64MB", readSize)
	size.Schema, size.units = matching(sizeForm), "write NB, NMB or NMiB"
	duration := Textual("a duration such as 90s, 15m, 12h or 30d", readDuration)
	duration.Schema, duration.units = matching(durationForm), "write Ns, Nm, Nh or Nd"
	word := Textual("", readWord)
	word.Schema = map[string]any{}
	number := func(wants string, schema map[string]any, takes []YAMLType, form *regexp.Regexp, read Reader) *Kind {
		return &Kind{Wants: wants, Schema: schema, Takes: takes, env: form, Read: read}
	}
	float := map[string]any{"type": "number"}
	integer := number("a whole number", map[string]any{"type": "integer", "minimum": 1}, []YAMLType{IsInteger},
		coreInteger, readInteger)
	return Kinds{
		Named: map[string]*Kind{
			"text": text, "secret": &secret, "path": path, "word": word, "size": size,
			"scalar": {Wants: "text", Schema: map[string]any{"type": []string{"string", "number", "boolean"}}, Read: readScalar},
		},
		Types: map[reflect.Type]*Kind{
			reflect.TypeFor[string](): text,
			reflect.TypeFor[bool](): number("true or false", map[string]any{"type": "boolean"}, []YAMLType{IsBoolean},
				coreBoolean, readBoolean),
			reflect.TypeFor[int]():             integer,
			reflect.TypeFor[int64]():           integer,
			reflect.TypeFor[float64]():         number("a number", float, isNumeric, coreFloat, readRate),
			reflect.TypeFor[decimal.Decimal](): number("a number", float, isNumeric, coreFloat, readNumber),
			reflect.TypeFor[time.Duration]():   duration,
			reflect.TypeFor[item.Path]():       path,
			reflect.TypeFor[item.Pattern]():    Textual("a path", Parsed(item.ParsePattern)),
		},
	}
}()

// Textual returns a kind of text.
func Textual(wants string, read Reader) *Kind {
	return &Kind{Wants: wants, Takes: []YAMLType{IsText}, Read: read}
}

// Like returns a kind of text. The whole text must match expression. wants describes such a text in words.
func Like(ref, expression, wants string, read func(*File, *Value) any) *Kind {
	form := regexp.MustCompile(`^(?:` + expression + `)$`)
	k := Textual(wants, func(f *File, v *Value, _ []Part) any {
		if !form.MatchString(v.Source) {
			f.Fail(v, "", "%s is not %s", Quoted(v.Source), wants)
			return nil
		}
		return read(f, v)
	})
	k.Ref, k.Schema = ref, matching(form)
	return k
}

// AsText returns the text itself.
func AsText(_ *File, v *Value) any { return v.Source }

// Parsed returns a Reader that parses a text with parse, a parser of paths or patterns. It reports an error at the
// error's column in the text.
func Parsed[T any](parse func(string) (T, error)) Reader {
	return func(f *File, v *Value, _ []Part) any {
		parsed, err := parse(v.Source)
		if err == nil {
			return parsed
		}
		if e, ok := errors.AsType[*item.PathError](err); ok {
			f.failAtByte(v, e.Column, e.Message)
		} else {
			f.Fail(v, "", "%v", err)
		}
		return nil
	}
}

// failAtByte notes a problem at a byte of a scalar's text, counted from 1.
func (f *File) failAtByte(v *Value, number int, message string) {
	before := v.Source[:min(max(number-1, 0), len(v.Source))]
	f.FailWithin(v, 1, utf8.RuneCountInString(before)+1, message, "")
}

func matching(form *regexp.Regexp) map[string]any {
	return map[string]any{"type": "string", "pattern": form.String()}
}
