package configtest

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
)

// odd has names and texts that YAML or the type marks could take for something else.
var odd = []string{
	"", "a", "no", "Null", "~", "1", "-", "- a", "a: b", "a #b", "#", "{", "$S", "$SS", "$M", "it's", `"`, "\\", "007", "0x1f", ".5", "1e3", "2026-01-02",
	"a\nb", " a ", "\t", "\u0085", "\u2028", "\ufeff", "夜 Kettle", "😀", "<<", "&a", "*a", "!t", "%d", "@", "`", "a,b", "[", "true", "NaN", "=",
}

func someText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(odd), rapid.String())
}

func number() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"0", "-1", "0.5", "10.50", "1e10", "-2.5E-7", "12345678901234567890123456789012345678", "9.9999999999999999999999999999999999999E+125"}),
		rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprint(n) }),
	)
}

func binary() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOf(rapid.Byte()), base64.StdEncoding.EncodeToString)
}

// anyValue generates values of DynamoDB of all types, nested up to a depth.
func anyValue(depth int) *rapid.Generator[item.Value] {
	return rapid.Custom(func(t *rapid.T) item.Value {
		kinds := []item.Kind{item.KindS, item.KindN, item.KindB, item.KindBOOL, item.KindNULL, item.KindSS, item.KindNS, item.KindBS}
		if depth > 0 {
			kinds = append(kinds, item.KindM, item.KindL)
		}
		set := func(of item.Kind, g *rapid.Generator[string]) item.Value {
			var texts []string
			for _, s := range rapid.SliceOfN(g, 1, 3).Draw(t, "members") {
				text := string(item.StringValue(s).AppendJSON(nil))
				if with := "[" + strings.Join(append(slices.Clone(texts), text), ",") + "]"; isValid(of, with) {
					texts = append(texts, text)
				}
			}
			return item.RawValue(of, []byte("["+strings.Join(texts, ",")+"]"))
		}
		switch rapid.SampledFrom(kinds).Draw(t, "kind") {
		case item.KindS:
			return item.StringValue(someText().Draw(t, "text"))
		case item.KindN:
			return item.RawValue(item.KindN, []byte(number().Draw(t, "number")))
		case item.KindB:
			return item.RawValue(item.KindB, []byte(binary().Draw(t, "binary")))
		case item.KindBOOL:
			return item.BoolValue(rapid.Bool().Draw(t, "bool"))
		case item.KindSS:
			return set(item.KindSS, someText())
		case item.KindNS:
			return set(item.KindNS, number())
		case item.KindBS:
			return set(item.KindBS, binary())
		case item.KindL:
			var es entries
			for _, v := range rapid.SliceOfN(anyValue(depth-1), 0, 3).Draw(t, "elements") {
				es.add("", v)
			}
			return es.value()
		case item.KindM:
			es := entries{named: true}
			for _, name := range rapid.SliceOfNDistinct(someText(), 0, 3, rapid.ID).Draw(t, "names") {
				es.add(name, anyValue(depth-1).Draw(t, "member"))
			}
			return es.value()
		}
		return item.NullValue()
	})
}

// isValid reports whether the content of a value is valid. So a set has no member twice.
func isValid(kind item.Kind, content string) bool {
	_, err := item.ParseValue([]byte(`{"` + kind.String() + `":` + content + "}"))
	return err == nil
}

// document is a file that holds one value.
type document struct {
	item.Value
	notation notation
}

func (d *document) Bind(f *yamlbind.File, at *fileValue) { d.Value = d.notation.parse(f, at) }

// readPlain reads a file that holds one value.
func readPlain(text string, notation notation) (item.Value, yamlbind.Problems) {
	d := document{notation: notation}
	f := yamlbind.New("value.yaml", []byte(text), yamlbind.Options{Words: parseHints, MaxNodes: maxNodes})
	f.Read(yamlbind.RuleOf(reflect.TypeFor[document](), yamlbind.Kinds{}), &d)
	return d.Value, f.Problems
}

// property checks ten values in each draw, because a check opens no stores.
func property(t *testing.T, check func(*rapid.T, item.Value)) {
	rapid.Check(t, func(t *rapid.T) {
		for _, v := range rapid.SliceOfN(anyValue(3), 10, 10).Draw(t, "values") {
			check(t, v)
		}
	})
}

// block formats a value below a key.
func block(v item.Value, indent int) string {
	if v.Kind() == item.KindL || v.Kind() == item.KindM && !isMarked(v) {
		return entriesOf(v).block(indent)
	}
	return " " + valueText(v)
}

// The text that is written for a value reads as that value: on one line, in a list, and below a key.
func TestWritingAndReading(t *testing.T) {
	property(t, func(t *rapid.T, v item.Value) {
		for text, path := range map[string]string{
			"k: " + valueText(v):              "k",
			"k: [" + valueText(v) + "]":       "k[0]",
			"k:" + block(v, 0) + "\nl: 1":     "k",
			"a:\n    k:" + block(v, 4) + "\n": "a.k",
		} {
			file, problems := readPlain(text, marked)
			if len(problems) > 0 {
				t.Fatalf("%q: %v", text, problems)
			}
			if got, _ := file.Lookup(path); !got.Equal(v) {
				t.Fatalf("%q reads as %v", text, got)
			}
		}
	})
}

// An alias that contains itself is reported as nested too deeply.
func TestAliasOfItself(t *testing.T) {
	for _, text := range []string{"&a [*a]", "&a {x: *a}", "{$L: &a [{L: *a}]}"} {
		if _, problems := readPlain(text, marked); len(problems) != 1 || !strings.Contains(problems[0].Message, "nests deeper") {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// A value survives the way to DynamoDB JSON and back. A number keeps its digits.
func TestDynamoDBAndBack(t *testing.T) {
	property(t, func(t *rapid.T, v item.Value) {
		it := object(entry{"a", v})
		image, err := item.Parse(it.Raw())
		if err != nil {
			t.Fatalf("%s: %v", it, err)
		}
		if got := image.Value(); !got.Equal(it) {
			t.Fatalf("%v became %v", it, got)
		}
	})
}

func TestNumbersAreExact(t *testing.T) {
	v, problems := readPlain(`{n: 12345678901234567890123456789012345.678, m: 10.50, s: '10.50'}`, marked)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := string(v.Raw())
	if want := `{"n":{"N":"12345678901234567890123456789012345.678"},"m":{"N":"10.50"},"s":{"S":"10.50"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A mark such as $S sets the type of a value where types are kept. In plain JSON it is a name like any other.
func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		`{$S: x}`:                       `{"S":"x"}`,
		`{$S: 12}`:                      `{"S":"12"}`,
		`{$N: '12'}`:                    `{"N":"12"}`,
		`{$N: 12}`:                      `{"N":"12"}`,
		`{$B: aGk=}`:                    `{"B":"aGk="}`,
		`{$BOOL: true}`:                 `{"BOOL":true}`,
		`{$NULL: true}`:                 `{"NULL":true}`,
		`{$SS: [a, '1']}`:               `{"SS":["a","1"]}`,
		`{$NS: [1, '2.5']}`:             `{"NS":["1","2.5"]}`,
		`{$BS: [aGk=]}`:                 `{"BS":["aGk="]}`,
		`{$L: [{S: a}, {N: '1'}]}`:      `{"L":[{"S":"a"},{"N":"1"}]}`,
		`{$M: {a: {S: x}}}`:             `{"M":{"a":{"S":"x"}}}`,
		`{$M: {$S: {S: x}}}`:            `{"M":{"$S":{"S":"x"}}}`,
		`{S: x}`:                        `{"M":{"S":{"S":"x"}}}`,
		`{$S: x, a: 1}`:                 `{"M":{"$S":{"S":"x"},"a":{"N":"1"}}}`,
		`{$Q: x}`:                       `{"M":{"$Q":{"S":"x"}}}`,
		`[yes, 2026-01-02, ~, True]`:    `{"L":[{"S":"yes"},{"S":"2026-01-02"},{"NULL":true},{"BOOL":true}]}`,
		`!!str 12`:                      `{"S":"12"}`,
		`{"json": ["é", -1.5e3, null]}`: `{"M":{"json":{"L":[{"S":"é"},{"N":"-1.5e3"},{"NULL":true}]}}}`,
	} {
		v, problems := readPlain(text, marked)
		got := v.String()
		if got != want || len(problems) > 0 {
			t.Errorf("%s is %s, want %s %v", text, got, want, problems)
		}
	}
	if got, problems := readPlain(`{$S: x}`, plain); got.String() != `{"M":{"$S":{"S":"x"}}}` || len(problems) > 0 {
		t.Errorf("in plain JSON {$S: x} is %v %v", got, problems)
	}
}
