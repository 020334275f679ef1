package unmarshal_test

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// The decoder of a type keeps state from one item to the next, and that state must never show in a result. A pointer to
// a pointer is decoded without that state: by reflection, one attribute after the other.

// equalAsAlone compares the value and the error of decoding m with those of decoding m without kept state.
func equalAsAlone(m item.Image, typ reflect.Type) error {
	got, want := reflect.New(typ), reflect.New(reflect.PointerTo(typ))
	want.Elem().Set(reflect.New(typ))
	gotErr, wantErr := unmarshal.DecodeInto(m, got.Interface()), unmarshal.DecodeInto(m, want.Interface())
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got.Interface(), want.Elem().Interface()) {
		return fmt.Errorf("%v\nfrom %v:\ngot  %+v, %w\nalone %+v, %w", typ, m.Value(), got.Elem(), gotErr, want.Elem().Elem(), wantErr)
	}
	return nil
}

// drawNames draws names that often share a beginning, an end or both. Their lengths cover all ways in which the decoder
// compares names.
func drawNames(t *rapid.T) []string {
	names := []string{"abcdefghijklmnopqrstuvwxyz"[:rapid.IntRange(1, 20).Draw(t, "length")]}
	for range rapid.IntRange(1, 7).Draw(t, "more names") {
		name := []byte(rapid.SampledFrom(names).Draw(t, "like"))
		switch at := rapid.IntRange(0, len(name)-1).Draw(t, "at"); rapid.IntRange(0, 5).Draw(t, "edit") {
		case 0:
			name = name[:at+1]
		case 1:
			name = append(name, rapid.SampledFrom([]string{"1", "abcdefgh", "é", "\\", `"`, "K", "\n"}).Draw(t, "end")...)
		default:
			name[at] = rapid.SampledFrom([]byte("AZ@`[{_ 7\x7f")).Draw(t, "byte")
		}
		if utf8.Valid(name) && !slices.Contains(names, string(name)) {
			names = append(names, string(name))
		}
	}
	return names
}

// drawNamedStruct draws a struct with fields of some of these names.
func drawNamedStruct(t *rapid.T, names []string, depth int) reflect.Type {
	var fields []reflect.StructField
	for i, name := range names {
		if rapid.IntRange(0, 4).Draw(t, "left out") == 0 {
			continue
		}
		typ := rapid.SampledFrom([]reflect.Type{
			reflect.TypeFor[string](), reflect.TypeFor[string](), reflect.TypeFor[string](), reflect.TypeFor[text](), reflect.TypeFor[int](),
			reflect.TypeFor[any](), reflect.TypeFor[*string](), reflect.TypeFor[[]string](), reflect.TypeFor[map[string]string](),
		}).Draw(t, "type")
		if depth > 0 && rapid.Bool().Draw(t, "nested") {
			typ = drawNamedStruct(t, names, depth-1)
			switch rapid.IntRange(0, 4).Draw(t, "as") {
			case 0:
				typ = reflect.SliceOf(typ)
			case 1:
				typ = reflect.PointerTo(typ)
			case 2:
				typ = reflect.MapOf(reflect.TypeFor[string](), typ)
			case 3:
				typ = reflect.ArrayOf(2, typ)
			}
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", i), Type: typ, Tag: reflect.StructTag("dynamodbav:" + strconv.Quote(name))})
	}
	return reflect.StructOf(fields)
}

// drawNamed draws the members of a map that is decoded into a typ, in any order and spelling. Some members match no
// field, or match one only without regard to case.
func drawNamed(g pipelinetest.DynamoJSON, names []string, typ reflect.Type) string {
	some := append(slices.Clone(names), strings.ToUpper(names[0]), strings.ToLower(names[len(names)-1]), names[0]+"x")
	slices.Sort(some)
	some = slices.Compact(some)
	var members []string
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(some), 0, len(some), rapid.ID).Draw(g.T, "members") {
		value := ""
		for i := 0; typ.Kind() == reflect.Struct && i < typ.NumField() && value == ""; i++ {
			if f := typ.Field(i); strings.EqualFold(f.Tag.Get("dynamodbav"), name) {
				value = drawFitting(g, names, f.Type)
			}
		}
		if typ.Kind() == reflect.Map {
			value = drawFitting(g, names, typ.Elem())
		}
		members = append(members, g.Quote(name)+g.Space()+":"+g.Space()+cmp.Or(value, g.Value(1)))
	}
	return g.List("{", "}", members)
}

// drawFitting draws a value that fits the type, except in a few cases.
func drawFitting(g pipelinetest.DynamoJSON, names []string, typ reflect.Type) string {
	if rapid.IntRange(0, 39).Draw(g.T, "fits") == 39 {
		return g.Value(1)
	}
	switch typ.Kind() {
	case reflect.String:
		return `{"S":` + g.Text() + "}"
	case reflect.Int:
		return `{"N":"` + fmt.Sprint(rapid.Int().Draw(g.T, "n")) + `"}`
	case reflect.Pointer:
		return drawFitting(g, names, typ.Elem())
	case reflect.Slice, reflect.Array:
		elements := make([]string, rapid.IntRange(0, 3).Draw(g.T, "elements"))
		for i := range elements {
			elements[i] = drawFitting(g, names, typ.Elem())
		}
		return `{"L":` + g.List("[", "]", elements) + "}"
	case reflect.Struct, reflect.Map:
		return `{"M":` + drawNamed(g, names, typ) + "}"
	default:
		return g.Value(1)
	}
}

// TestDecode_ItemsInARow decodes items of all kinds into one type, several at once.
func TestDecode_ItemsInARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := drawNames(t)
		typ := drawNamedStruct(t, names, 2)
		var ms []item.Image
		for range rapid.IntRange(1, 4).Draw(t, "items") {
			m, err := item.Parse([]byte(drawNamed(pipelinetest.DynamoJSON{T: t}, names, typ)))
			if err != nil {
				t.Fatal(err)
			}
			ms = append(ms, m)
		}
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for g := range errs {
			wg.Go(func() {
				for i := range 2 * len(ms) {
					if err := equalAsAlone(ms[(g+i)%len(ms)], typ); err != nil {
						errs[g] = err
					}
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDecode_EmptyMapsAtTheEnd checks items that end with an empty map {}, so that less JSON follows a name than usual.
func TestDecode_EmptyMapsAtTheEnd(t *testing.T) {
	type target struct {
		A  map[string]string
		K  string
		In *target
	}
	d := record.NewDecoder(record.DecoderOptions{EpochZero: true, DynamoDBLocal: true})
	for _, image := range []string{`{"A":{}}`, `{"K":{"S":"x"},"A":{}}`, `{"In":{"M":{"K":{"S":"x"},"A":{}}}}`, `{"A":{},"In":{}}`} {
		page, err := d.Decode([]byte(`{"Records":[{"eventName":"INSERT","dynamodb":{"Keys":{"K":{"S":"x"}},"SequenceNumber":"1","NewImage":` + image + `}}]}`))
		if err != nil || len(page.Changes) != 1 {
			t.Fatalf("%v, %v", err, page.Errors)
		}
		m := page.Changes[0].New
		for range 3 {
			if err := equalAsAlone(m, reflect.TypeFor[target]()); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := unmarshal.Decode[target](m); err != nil || got.A == nil && (got.In == nil || got.In.A == nil) {
			t.Fatalf("%s: %+v, %v", image, got, err)
		}
	}
}

// FuzzDecodeInARow decodes each line of its input as an item.
func FuzzDecodeInARow(f *testing.F) {
	f.Add([]byte(`{"a":{"S":"x"},"abcdefgh":{"S":"y"},"In":{"M":{"ab":{"S":"z"},"number":{"N":"1"}}}}` + "\n" + `{"abcdefgh":{"S":"y"},"A":{"S":"x"},"in":{"M":{"\u0061b":{"S":"z"}}}}`))
	f.Add([]byte(`{"s":{"S":"x"},"n":{"N":"1E+3"},"m":{"M":{"\u0061":{"BOOL":true}}}}` + "\n" + `{"n":{"S":"x"},"tags":{"SS":["a","\"\\"]},"lines":{"L":[{"M":{"s":{"S":"x"}}},{"M":{"n":{"N":"2"}}}]}}`))
	f.Add([]byte(`{"at":{"S":"2024-01-02T03:04:05Z"},"Address":{"M":{"city":{"S":"x"}}},"L":{"L":[{"M":{"a":{"S":"1"}}},{"M":{"A":{"S":"2"},"a":{"NULL":true}}}]}}`))
	f.Fuzz(func(t *testing.T, docs []byte) {
		for line := range bytes.SplitSeq(docs, []byte("\n")) {
			m, err := item.Parse(line)
			if err != nil {
				continue
			}
			for _, typ := range []reflect.Type{reflect.TypeFor[namesAlike](), reflect.TypeFor[scalars](), reflect.TypeFor[asStrings](),
				reflect.TypeFor[containers](), reflect.TypeFor[pointers](), reflect.TypeFor[embedding](), reflect.TypeFor[oddFields]()} {
				for range 2 {
					if err := equalAsAlone(m, typ); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}
