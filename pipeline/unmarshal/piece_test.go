package unmarshal_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// TestDecodeTextsApart checks that one short text of a large item does not keep all others in memory.
func TestDecodeTextsApart(t *testing.T) {
	m, err := item.Parse([]byte(`{"Tags":{"L":[{"S":"first"}` + strings.Repeat(`,{"S":"0123456789abcdefg"}`, 5000) + `,{"S":"last"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := unmarshal.Decode[struct{ Tags []string }](m)
	if err != nil || len(got.Tags) != 5002 || got.Tags[0] != "first" || got.Tags[5001] != "last" {
		t.Fatalf("%d texts: %v", len(got.Tags), err)
	}
	pieces := 1
	for i, tag := range got.Tags[1:] {
		if i < 5000 && tag != "0123456789abcdefg" {
			t.Fatalf("text %d is %q", i+1, tag)
		}
		before := got.Tags[i]
		if unsafe.Add(unsafe.Pointer(unsafe.StringData(before)), len(before)) != unsafe.Pointer(unsafe.StringData(tag)) {
			pieces++
		}
	}
	if pieces < 5000*17/2048 {
		t.Errorf("85 KB of short texts in %d pieces, want about one a kilobyte", pieces)
	}
}

// TestDecodeTwiceIntoAField checks that, of attributes whose names differ only in case, the last one counts, whatever
// their kinds.
func TestDecodeTwiceIntoAField(t *testing.T) {
	type line struct{ Name, Note string }
	type it struct {
		Name  string
		Tags  []string
		Line  line
		Other *string
	}
	long := strings.Repeat("long ", 60)
	other := "other"
	for _, c := range []struct {
		doc  string
		want it
	}{
		{`"Name":{"S":"one"},"name":{"S":"two"}`, it{Name: "two"}},
		{`"name":{"S":"one"},"Name":{"S":"` + long + `"}`, it{Name: long}},
		{`"name":{"S":"one"},"Name":{"NULL":true}`, it{}},
		{`"name":{"S":"one"},"Name":{"S":""}`, it{}},
		{`"Tags":{"SS":["one","two"]},"tags":{"L":[{"NULL":true},{"S":"three"}]}`, it{Tags: []string{"", "three"}}},
		{`"Line":{"M":{"Name":{"S":"one"},"Note":{"S":"two"}}},"line":{"M":{"name":{"NULL":true},"NAME":{"S":"three"}}}`, it{Line: line{"three", "two"}}},
		{`"Line":{"M":{"Name":{"S":"one"},"Note":{"S":"two"}}},"line":{"NULL":true}`, it{}},
		{`"other":{"NULL":true},"Other":{"S":"other"},"name":{"S":"a\u0062\"c"}`, it{Other: &other, Name: `ab"c`}},
	} {
		m, err := item.Parse([]byte("{" + c.doc + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unmarshal.Decode[it](m); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.doc, got, err, c.want)
		}
	}
}

// TestDecodeTextsOfManyPlaces checks that texts get to their places in values with many parts, and in structs with many
// fields and bytes.
func TestDecodeTextsOfManyPlaces(t *testing.T) {
	type leaf struct{ A, B string }
	type branch struct {
		Before string
		Leaves []*leaf
		After  string
	}
	type large struct {
		First    string
		Room     [1 << 19]byte
		Second   string
		Branches []branch
		Last     string
	}
	var doc strings.Builder
	want := large{First: "first", Second: "second", Last: "la\tst"}
	doc.WriteString(`{"First":{"S":"first"},"Branches":{"L":[`)
	for i := range 12 {
		b := branch{Before: fmt.Sprint("before ", i), After: fmt.Sprint("after, and rather long ", i)}
		fmt.Fprintf(&doc, `%s{"M":{"Before":{"S":%q},"Leaves":{"L":[`, strings.Repeat(",", min(i, 1)), b.Before)
		for j := range i {
			l := leaf{fmt.Sprint("a", j), fmt.Sprint("\n", i*j)}
			fmt.Fprintf(&doc, `%s{"M":{"A":{"S":%q},"B":{"S":%q}}}`, strings.Repeat(",", min(j, 1)), l.A, l.B)
			b.Leaves = append(b.Leaves, &l)
		}
		if i == 0 {
			b.Leaves = []*leaf{}
		}
		fmt.Fprintf(&doc, `]},"After":{"S":%q}}}`, b.After)
		want.Branches = append(want.Branches, b)
	}
	doc.WriteString(`]},"Second":{"S":"second"},"Last":{"S":"la\tst"}}`)
	m, err := item.Parse([]byte(doc.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unmarshal.Decode[large](m); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got.Branches, err, want.Branches)
	}
}

// aware is a type whose method reads and changes the struct that holds it.
type aware struct {
	in   *awareOf
	seen string
}

type awareOf struct {
	Type  string
	Child aware
	Note  string
}

func (c *aware) UnmarshalDynamoDB(item.Value) error {
	c.seen = c.in.Type
	c.in.Type = "set by its child"
	return nil
}

// TestDecodeTextsBeforeATypesOwnMethod checks that the values before a value are set when the method of its type is
// called, and that the changes of the method stay.
func TestDecodeTextsBeforeATypesOwnMethod(t *testing.T) {
	m, err := item.Parse([]byte(`{"Type":{"S":"circle"},"Child":{"N":"5"},"Note":{"S":"behind"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var p awareOf
	p.Child.in = &p
	if err := unmarshal.DecodeInto(m, &p); err != nil {
		t.Fatal(err)
	}
	if p.Child.seen != "circle" || p.Type != "set by its child" || p.Note != "behind" {
		t.Errorf("its child saw %q, and it is %+v", p.Child.seen, p)
	}
}

// TestDecodeTwoPointersToOneString checks that the last attribute wins if two fields point to the same string.
func TestDecodeTwoPointersToOneString(t *testing.T) {
	for it, want := range map[string]string{
		`{"A":{"S":"first"},"B":{"N":"5"}}`:                                   "5",
		`{"A":{"N":"5"},"B":{"S":"last"}}`:                                    "last",
		`{"A":{"S":"first"},"B":{"S":"second"}}`:                              "second",
		`{"A":{"S":"first"},"B":{"S":""}}`:                                    "",
		`{"A":{"S":"first"},"B":{"S":"` + strings.Repeat("long", 100) + `"}}`: strings.Repeat("long", 100),
	} {
		m, err := item.Parse([]byte(it))
		if err != nil {
			t.Fatal(err)
		}
		var s string
		out := struct{ A, B *string }{&s, &s}
		if err := unmarshal.DecodeInto(m, &out); err != nil {
			t.Fatal(err)
		}
		if s != want {
			t.Errorf("%s: %q, want %q", it, s, want)
		}
	}
}
