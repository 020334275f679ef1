package unmarshal_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// namesAlike has fields whose names share a beginning, an end or both, in upper and lower case. The lengths of the
// names cover all ways in which the decoder compares them.
type namesAlike struct {
	A  string `dynamodbav:"a"`
	B  string `dynamodbav:"ab"`
	C  string `dynamodbav:"abcdefg"`
	D  string `dynamodbav:"abcdefgh"`
	E  string `dynamodbav:"abcdefghi"`
	F  string `dynamodbav:"abcdefgh12345678"`
	G  string `dynamodbav:"abcdefgh_12345678"`
	H  string `dynamodbav:"abcdefgh-12345678"`
	I  string `dynamodbav:"ABCDEFG"`
	J  string `dynamodbav:"Ab"`
	N  int    `dynamodbav:"number"`
	In *namesAlike
	L  []namesAlike
}

// set sets the field with the exact name or, without one, the first field whose name differs only in case.
func (n *namesAlike) set(name, text string) {
	v := reflect.ValueOf(n).Elem()
	exact, folded := -1, -1
	for i := range v.NumField() {
		switch own := v.Type().Field(i).Tag.Get("dynamodbav"); {
		case own == name:
			exact = i
		case folded < 0 && own != "" && strings.EqualFold(own, name):
			folded = i
		}
	}
	if exact < 0 {
		exact = folded
	}
	if exact >= 0 {
		v.Field(exact).SetString(text)
	}
}

// drawAlike draws an item with attributes in any order, some of them unknown, and the struct that it decodes to.
func drawAlike(t *rapid.T, depth int) (doc string, want namesAlike) {
	var b strings.Builder
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n"}).Draw(t, "space") }
	comma := ""
	member := func(name, kind, value string) {
		fmt.Fprint(&b, comma, space(), `"`, name, `"`, space(), ":", space(), "{", `"`, kind, `"`, space(), ":", space(), value, space(), "}")
		comma = ","
	}
	names := []string{"a", "ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefgh12345678", "abcdefgh_12345678", "abcdefgh-12345678",
		"ABCDEFG", "Ab", "number", "In", "L", "b", "abcdefghj", "abcdefgh+12345678", "aB", `\u0061bcdefg`, "Abcdefgh", "unknown"}
	seen := map[string]bool{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(t, "names") {
		plain := strings.ReplaceAll(name, `\u0061`, "a")
		if seen[plain] {
			continue
		}
		seen[plain] = true
		switch {
		case name == "number":
			want.N = rapid.IntRange(-1000, 1000).Draw(t, "n")
			member(name, "N", fmt.Sprintf("%q", fmt.Sprint(want.N)))
		case name == "In" && depth > 0:
			in, inner := drawAlike(t, depth-1)
			want.In = &inner
			member(name, "M", in)
		case name == "L" && depth > 0:
			var docs []string
			for range rapid.IntRange(1, 3).Draw(t, "list") {
				in, inner := drawAlike(t, depth-1)
				want.L = append(want.L, inner)
				docs = append(docs, `{"M":`+in+`}`)
			}
			member(name, "L", "["+strings.Join(docs, ",")+"]")
		case name != "In" && name != "L":
			text := rapid.SampledFrom([]string{"", "x", "a text", "a text of more than sixteen bytes"}).Draw(t, "text")
			want.set(plain, text)
			member(name, "S", fmt.Sprintf("%q", text))
		}
	}
	return "{" + space() + b.String() + space() + "}", want
}

// TestDecode_InAnyOrder checks that the order of attributes in earlier items does not matter.
func TestDecode_InAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 3 {
			doc, want := drawAlike(t, 2)
			m, err := item.Parse([]byte(doc))
			if err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
			for range 2 { // the second time the order is known
				if got, err := unmarshal.Decode[namesAlike](m); err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s:\ngot  %+v, %v\nwant %+v", doc, got, err, want)
				}
			}
		}
	})
}

// TestDecode_NamesThatLookLikeItems checks a name that looks like another name and the JSON after it.
func TestDecode_NamesThatLookLikeItems(t *testing.T) {
	type inner struct {
		A   map[string]string `dynamodbav:"a"`
		Odd string            `dynamodbav:"a\":{\"M"`
	}
	type target struct{ In inner }
	for range 100 {
		for doc, want := range map[string]inner{
			`"a\":{\"M":{"S":"text"}`:      {Odd: "text"},
			`"a":{"M":{"S":{"S":"text"}}}`: {A: map[string]string{"S": "text"}},
		} {
			m, err := item.Parse([]byte(`{"In":{"M":{` + doc + `}}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := unmarshal.Decode[target](m); err != nil || !reflect.DeepEqual(got.In, want) {
				t.Fatalf("%s: %+v, %v, want %+v", doc, got.In, err, want)
			}
		}
	}
}
