package yamlbind

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// bindScalar reads a scalar.
func (f *File) bindScalar(v *Value) {
	if message, hint, isMisread := f.explainMisread(v.Key, v.Node); isMisread {
		f.failMisread(v, message, hint)
		return
	}
	if v.Node.Kind != yaml.ScalarNode {
		f.Fail(v, "", "wants %s, not %s", v.Rule.requirement(), f.Describe(v.Node))
		return
	}
	parts, ok := f.expandSource(v)
	if !ok {
		return
	}
	v.Source, v.Env = join(parts)
	v.Default = slices.ContainsFunc(parts, func(p Part) bool { return p.Default })
	yamlType := TypeOf(v.Node)
	if v.hasType(yamlType) {
		v.Data = v.Rule.Kind.Read(f, v, parts)
		return
	}
	switch {
	case v.Rule.Kind.secret:
		f.Fail(v, "write ${NAME}, or quote it", "wants text, not %s", yamlType)
	case v.Env:
		f.Fail(v, f.misfitHint(v, yamlType), "wants %s, not what the environment gave", v.Rule.requirement())
	default:
		f.Fail(v, f.misfitHint(v, yamlType), "wants %s, not %s", v.Rule.requirement(), f.Describe(v.Node))
	}
}

// expandSource expands the environment variables in a scalar. It returns false if it notes a problem.
func (f *File) expandSource(v *Value) ([]Part, bool) {
	parts, problems := f.expand(v.Node.Value)
	for _, p := range problems {
		if v.Rule.Kind.secret && strings.HasSuffix(p.message, "is not set") {
			p.hint = "set it; a default would be in the file"
		}
		if v.Rule.Kind.Braces {
			p.hint += "; for a placeholder, write " + Quoted(strings.ReplaceAll(v.Node.Value, "${", "{"))
		}
		f.Fail(v, p.hint, "%s", p.message)
	}
	return parts, len(problems) == 0
}

// failMisread reports a text that YAML read as something else. The message and the hint of a secret show nothing of it.
func (f *File) failMisread(v *Value, message, hint string) {
	if v.Rule.Kind.secret {
		message, hint = "wants text, and YAML made something else of it", "write '${NAME}', or quote it"
	}
	if instead := v.Rule.Kind.Instead; instead != nil && v.Node.Kind != yaml.ScalarNode {
		hint = cmp.Or(instead(v.Node), hint)
	}
	f.Fail(v, hint, "%s", message)
}

// Text reads v as text that is not empty. If v is not such text, it notes a problem and returns "".
func (f *File) Text(v *Value) string {
	f.bind(v, &Rule{Kind: basic.Named["text"]}, reflect.Value{}, reflect.Value{})
	return v.Text()
}

// hasType reports whether the scalar has a YAML type that its rule accepts. To YAML, a value of the environment is
// text. Such a value is accepted if its form is right.
func (v *Value) hasType(yamlType YAMLType) bool {
	k := v.Rule.Kind
	if k.Takes == nil || slices.Contains(k.Takes, yamlType) {
		return true
	}
	return v.Env && k.env != nil && k.env.MatchString(v.Source)
}

// misfitHint returns the hint for a scalar whose YAML type its rule does not accept.
func (f *File) misfitHint(v *Value, yamlType YAMLType) string {
	isText := yamlType == IsText
	takesText := slices.Contains(v.Rule.Kind.Takes, IsText)
	takesUnit := v.Rule.Kind.units != ""
	isQuoted := v.Node.Style != 0 && !v.Env
	wantsBoolean := v.Rule.Kind.env == coreBoolean
	switch {
	case yamlType == IsInteger && takesUnit && v.Node.Value != "0":
		return strings.ReplaceAll(v.Rule.Kind.units, "N", v.Node.Value)
	case yamlType == IsNull:
		return "write a value or remove the key"
	case !isText && takesUnit:
		return "" // the problem's text has an example of a unit
	case !isText && len(v.Rule.Words) == 1:
		return "write " + v.Rule.Words[0]
	case !isText && takesText && v.Rule.Kind.Wants == "a path":
		return "name an attribute, as in Total; one that is named " + v.Node.Value + " is written " + Quoted(v.Node.Value)
	case !isText && takesText:
		return "quote it: " + Quoted(v.Node.Value)
	case isText && isQuoted:
		return "write it without quotes"
	case f.o.Words.Values && wantsBoolean:
		return "write true or false"
	}
	return ""
}

// requirement describes which scalars the rule accepts.
func (r *Rule) requirement() string {
	if r.Words != nil {
		return Enumerate(r.Words, "or")
	}
	return r.Kind.Wants
}

// ReadText reads a text that is not empty. It is a [Reader].
func ReadText(f *File, v *Value, _ []Part) any {
	if v.Source == "" {
		f.Fail(v, "write a value or remove the key", "is empty")
		return nil
	}
	return v.Source
}

func readWord(f *File, v *Value, _ []Part) any {
	if !slices.Contains(v.Rule.Words, v.Source) {
		f.Fail(v, v.Rule.wordHint(v.Source), "%s is not known here", Quoted(v.Source))
		return nil
	}
	return v.Source
}

// wordHint returns the hint for the unknown word got. If an object is also allowed here, and got is one of its keys,
// alone or as KEY: VALUE, the hint is to write the object.
func (r *Rule) wordHint(got string) string {
	hint := Hint(got, r.Words, "the words here are")
	if r.object == nil || len(r.object.Keys) == 0 {
		return hint
	}
	name, value, _ := strings.Cut(got, ":")
	if k, known := r.object.key(name); known {
		return "write {" + name + ": " + cmp.Or(strings.TrimSpace(value), k.form, "...") + "}"
	}
	return hint
}

func readBoolean(_ *File, v *Value, _ []Part) any { return strings.EqualFold(v.Source, "true") }

func readInteger(f *File, v *Value, _ []Part) any {
	i, err := parseInteger(v.Source)
	limit := v.Rule.max
	switch {
	case err != nil:
		f.Fail(v, "", "%s is too large", v.Source)
	case limit == 1 && i != limit: // the key version, the only key with max 1
		f.Fail(v, fmt.Sprintf("write %d", limit), "%d is not known; this version reads %d", i, limit)
	case i < 1:
		f.Fail(v, "", "%d is less than 1", i)
	case limit != 0 && i > limit:
		f.Fail(v, "", "%d is more than %d", i, limit)
	default:
		return i
	}
	return nil
}

// parseInteger parses an integer of YAML 1.2: 0o17 is octal, 0x1f is hexadecimal, and 017 is decimal.
func parseInteger(s string) (int64, error) {
	if digits, isOctal := strings.CutPrefix(s, "0o"); isOctal {
		return strconv.ParseInt(digits, 8, 64)
	}
	if digits, isHexadecimal := strings.CutPrefix(s, "0x"); isHexadecimal {
		return strconv.ParseInt(digits, 16, 64)
	}
	return strconv.ParseInt(s, 10, 64)
}

func readNumber(f *File, v *Value, _ []Part) any {
	d, err := decimal.Parse(strings.TrimPrefix(v.Source, "+"))
	if err != nil {
		f.Fail(v, "", "%s is not a number of DynamoDB's range: %v", v.Source, err)
		return nil
	}
	return d
}

func readRate(f *File, v *Value, parts []Part) any {
	d, ok := readNumber(f, v, parts).(decimal.Decimal)
	if ok && d.Sign() <= 0 {
		f.Fail(v, "remove the key for no limit", "a rate is above 0")
	}
	return d.Float64() // 0 after a problem
}

// readScalar returns the text of a scalar of any type except null. A number keeps its spelling, and a boolean becomes
// true or false.
func readScalar(f *File, v *Value, _ []Part) any {
	text, yamlType := v.Source, TypeOf(v.Node)
	if v.Env {
		yamlType = IsText
	}
	switch yamlType {
	case IsNull:
		f.Fail(v, "write a value or remove the key; quote a text: "+Quoted(v.Node.Value),
			"wants a text, a number, true or false, not nothing")
		return nil
	case IsBoolean:
		text = strings.ToLower(text)
	case IsInteger, IsFloat:
		text = strings.TrimPrefix(text, "+")
		if _, err := decimal.Parse(text); err != nil {
			f.Fail(v, "write it in decimal digits, or quote a text: "+Quoted(v.Node.Value), "%s is not a number of DynamoDB's: %v",
				v.Node.Value, err)
			return nil
		}
	}
	if text == "" {
		f.Fail(v, "write '*' for any value", "is empty")
		return nil
	}
	return text
}

var sizeForm = regexp.MustCompile(`^([0-9]+)(B|[kKMGT]B|[KMGT]iB)$`)

var sizeUnits = map[string]int64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

func readSize(f *File, v *Value, _ []Part) any {
	m := sizeForm.FindStringSubmatch(v.Source)
	if m == nil {
		f.Fail(v, "write a whole number and one of B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024)",
			"%s is not a size", Quoted(v.Source))
		return nil
	}
	n, err := multiply(m[1], sizeUnits[m[2]])
	switch {
	case err != nil:
		f.Fail(v, "", "%s is too large", v.Source)
	case n == 0:
		f.Fail(v, "remove the key for the default", "a size cannot be 0")
	default:
		return n
	}
	return nil
}

var durationForm = regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d)$`)

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

func readDuration(f *File, v *Value, _ []Part) any {
	m := durationForm.FindStringSubmatch(v.Source)
	if m == nil {
		f.Fail(v, "write a whole number and one of ms, s, m, h, d", "%s is not a duration", Quoted(v.Source))
		return nil
	}
	n, err := multiply(m[1], int64(durationUnits[m[2]]))
	if err != nil {
		f.Fail(v, "", "%s is too long", v.Source)
		return nil
	}
	return time.Duration(n)
}

// multiply multiplies a number by a unit. It returns an error if the result exceeds int64.
func multiply(digits string, unit int64) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && n > math.MaxInt64/unit {
		err = strconv.ErrRange
	}
	return n * unit, err
}
