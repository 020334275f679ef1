package search_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// document returns the document of an item with the given fields, without the parts that every document has.
func document(t *testing.T, f search.Fields, item string) string {
	t.Helper()
	d := pipeline.Delivery{Change: changeOf(t, "INSERT", "", item)}
	if err := newSink(t, search.Options{Index: parse(t, "docs"), Fields: f}).Plan(&d); err != nil {
		t.Fatal(err)
	}
	doc := string(d.Ops[0].(*search.Mutation).Doc)
	if !json.Valid([]byte(doc)) {
		t.Fatalf("not JSON: %s", doc)
	}
	rest, ok := strings.CutPrefix(doc, `{"_tw":{"version":"`+version+`","by":"shop"}`)
	if !ok {
		t.Fatalf("the document does not begin with its version: %s", doc)
	}
	return "{" + strings.TrimPrefix(rest, ",")
}

func TestFields(t *testing.T) {
	const item = `"Name":{"S":"a\"b\u00e9"},"Price":{"N":"10"},"_tw":{"M":{"by":{"S":"x"}}},
		"Address":{"M":{"City":{"S":"K"},"Street":{"S":"S"},"Geo":{"M":{"lat":{"N":"1.5"},"lon":{"N":"2"}}}}},
		"Lines":{"L":[{"M":{"sku":{"S":"s1"},"qty":{"N":"1"}}},{"S":"odd"},{"M":{"qty":{"N":"2"}}}]},
		"Tags":{"SS":["x","y"]},"Flags":{"L":[{"BOOL":true},{"NULL":true}]},"Bin":{"B":"AAE="},"None":{"M":{}},"a.b":{"S":"dot"}`
	for _, test := range []struct {
		name string
		f    search.Fields
		want string
	}{
		{"all", search.Fields{}, `{"PK":"p1","SK":"x","Name":"a\"bé","Price":10,` +
			`"Address":{"City":"K","Street":"S","Geo":{"lat":1.5,"lon":2}},` +
			`"Lines":[{"sku":"s1","qty":1},"odd",{"qty":2}],` +
			`"Tags":["x","y"],"Flags":[true,null],"Bin":"AAE=","None":{},"a.b":"dot"}`},
		{"include", search.Fields{Include: []string{"Name", "Tags", "Missing"}}, `{"Name":"a\"bé","Tags":["x","y"]}`},
		{"include inside", search.Fields{Include: []string{"Address.City", "Address.Geo.lat", "Lines.sku", "Name.x"}},
			`{"Address":{"City":"K","Geo":{"lat":1.5}},"Lines":[{"sku":"s1"},{}]}`},
		{"include a name with a dot", search.Fields{Include: []string{`["a.b"]`}}, `{"a.b":"dot"}`},
		{"exclude", search.Fields{Exclude: []string{"Lines", "Flags", "Bin", "None", "Tags", "PK", "SK", `["a.b"]`, "Address.Geo"}},
			`{"Name":"a\"bé","Price":10,"Address":{"City":"K","Street":"S"}}`},
		{"both", search.Fields{Include: []string{"Address"}, Exclude: []string{"Address.Geo.lat", "Address.Street"}},
			`{"Address":{"City":"K","Geo":{"lon":2}}}`},
		{"rename", search.Fields{Include: []string{"Name", "Address.City", "Lines.qty"}, Rename: map[string]string{"Name": "title", "Address.City": "town", "Lines": "items"}},
			`{"title":"a\"bé","Address":{"town":"K"},"items":[{"qty":1},{"qty":2}]}`},
		{"numbers inside", search.Fields{Include: []string{"Address", "Lines"}, Exclude: []string{"Address.City"},
			Numbers: map[string]search.Number{"Address": search.NumberString, "Address.Geo.lon": search.NumberDouble, "Lines.qty": search.NumberString}},
			`{"Address":{"Street":"S","Geo":{"lat":"1.5","lon":2}},"Lines":[{"sku":"s1","qty":"1"},"odd",{"qty":"2"}]}`},
	} {
		got := document(t, test.f, item)
		if !sameJSON(t, got, test.want) {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
}

// sameJSON reports whether two documents are equal, including the text of their numbers.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	show := func(s string) string {
		var v any
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v in %s", err, s)
		}
		return fmt.Sprintf("%#v", v)
	}
	return show(a) == show(b)
}

// A rename never hides an attribute that already has the new name.
func TestRenameMeetsAnAttribute(t *testing.T) {
	s := newSink(t, search.Options{Index: parse(t, "docs"), Fields: search.Fields{Rename: map[string]string{"Name": "title"}}})
	for _, item := range []string{`"Name":{"S":"a"},"title":{"S":"b"}`, `"title":{"S":"b"},"Name":{"S":"a"}`} {
		d := pipeline.Delivery{Change: changeOf(t, "INSERT", "", item)}
		if err := s.Plan(&d); err == nil || !strings.Contains(err.Error(), `"Name" is renamed to "title"`) {
			t.Errorf("error %v", err)
		}
	}
}

// Fact 25: Numbers above 2^53 lose digits in JavaScript and in the doubles of OpenSearch. So integers are written as
// JSON integers, and long decimals in the configured form.
func TestFact25_NumbersKeepTheirDigits(t *testing.T) {
	const long = "0.12345678901234567890123456789012345678"
	const big = "12345678901234567890123456789012345678"
	for _, test := range []struct{ n, exact, text, scaled, double string }{
		{"0", "0", `"0"`, "0", "0"},
		{"10", "10", `"10"`, "10", "10"},
		{"-9007199254740993", "-9007199254740993", `"-9007199254740993"`, "-9007199254740993", "-9007199254740993"},
		{big, big, `"` + big + `"`, big, big},
		{"1E+3", "1000", `"1000"`, "1000", "1000"},
		{"1.50", "1.5", `"1.5"`, "1.5", "1.5"},
		{"-0.001", "-0.001", `"-0.001"`, "-0.001", "-0.001"},
		{"123456789012.345", "123456789012.345", `"123456789012.345"`, "123456789012.345", "1.23456789012345e+11"},
		{"1234567890123.456", `"1234567890123.456"`, `"1234567890123.456"`, "1234567890123.456", "1.234567890123456e+12"},
		{long, `"` + long + `"`, `"` + long + `"`, long, "0.12345678901234568"},
	} {
		for form, want := range map[search.Number]string{
			search.NumberExact: test.exact, search.NumberString: test.text, search.NumberScaledFloat: test.scaled, search.NumberDouble: test.double,
		} {
			f := search.Fields{Include: []string{"N"}, Numbers: map[string]search.Number{"N": form}}
			if got := document(t, f, `"N":{"N":"`+test.n+`"}`); got != `{"N":`+want+`}` {
				t.Errorf("%s as %q is %s, want %s", test.n, form, got, want)
			}
		}
	}
	if got := document(t, search.Fields{Include: []string{"NS"}}, `"NS":{"NS":["1","`+long+`"]}`); got != `{"NS":[1,"`+long+`"]}` {
		t.Errorf("a set of numbers is %s", got)
	}
}

// Fact 12: A double keeps all digits of each decimal that NumberExact writes as a JSON number.
func TestFact12_ADoubleKeepsWhatIsWrittenAsANumber(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.StringMatching(`-?[0-9]{1,20}\.[0-9]{1,17}`).Draw(rt, "n")
		d, err := decimal.Parse(n)
		if err != nil {
			rt.Fatal(err)
		}
		var doc struct{ N any }
		if err := json.Unmarshal([]byte(document(t, search.Fields{Include: []string{"N"}}, `"N":{"N":"`+n+`"}`)), &doc); err != nil {
			rt.Fatal(err)
		}
		switch v := doc.N.(type) {
		case string:
			if v != d.String() {
				rt.Fatalf("%s is written as %q", n, v)
			}
		case float64:
			if _, integral := d.Int64(); integral || strings.IndexByte(d.String(), '.') < 0 {
				return // the document has all digits of an integer
			}
			if back, err := decimal.Parse(fmt.Sprint(v)); err != nil || back != d {
				rt.Fatalf("%s is read from the document as %v", n, v)
			}
		default:
			rt.Fatalf("%s is written as %v", n, v)
		}
	})
}

// Fact 22: Keys joined without escapes (pk|sk) collide, binary keys need an encoding, and an id has at most 512 bytes.
func TestFact22_DocumentIDs(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.StringN(1, 20, -1), item.StringValue),
		rapid.Map(rapid.StringMatching(`(sha256:|a|,|%2C|\|){1,3}`), item.StringValue),
		rapid.Map(rapid.StringMatching(`[ab]{400,520}`), item.StringValue),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), item.BinaryValue),
		rapid.Map(rapid.Int64(), func(i int64) item.Value { return item.NumberValue(decimal.Of(i)) }),
	)
	key := rapid.Custom(func(rt *rapid.T) item.Key {
		image := append(value.Draw(rt, "PK").AppendDynamoDBJSON([]byte(`{"PK":`)), `,"SK":`...)
		keys, err := item.Parse(append(value.Draw(rt, "SK").AppendDynamoDBJSON(image), '}'))
		if err != nil {
			rt.Fatal(err)
		}
		k, err := item.MakeKey("", keys)
		if err != nil {
			rt.Fatal(err)
		}
		return k
	})
	rapid.Check(t, func(rt *rapid.T) {
		a, b := key.Draw(rt, "a"), key.Draw(rt, "b")
		for _, k := range []item.Key{a, b} {
			id := search.DocumentID(k)
			if len(id) > 512 || id == "" {
				rt.Fatalf("the id of %q has %d bytes", k, len(id))
			}
			if len(k) <= 512 && id != string(k) {
				rt.Fatalf("the id of the short key %q is %q", k, id)
			}
			if len(k) > 512 && item.Key(id) == k {
				rt.Fatalf("a long key is an id")
			}
		}
		if (a == b) != (search.DocumentID(a) == search.DocumentID(b)) {
			rt.Fatalf("the keys %q and %q have the ids %q and %q", a, b, search.DocumentID(a), search.DocumentID(b))
		}
	})
}

func TestCheckIndex(t *testing.T) {
	for _, good := range []string{"docs", "docs-acme_1.2", "é", strings.Repeat("a", 255), ".hidden", "%41"} {
		if err := search.CheckIndex(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "Docs", "É", "-a", "_a", "+a", "a b", "a/b", `a\b`, "a,b", "a:b", "a#b", "a*", "a\x00", strings.Repeat("a", 256)} {
		if err := search.CheckIndex(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}
