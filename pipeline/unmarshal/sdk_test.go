package unmarshal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// These types are targets for random items.
type (
	text    string
	whole   int32
	small   uint8
	flag    bool
	blob    []byte
	instant time.Time
	textual struct{ s string }

	scalars struct {
		S      string                `dynamodbav:"s"`
		Text   text                  `dynamodbav:"Text,omitempty"`
		Int    int                   `dynamodbav:"n"`
		Int8   int8                  `dynamodbav:"Total"`
		Whole  whole                 `dynamodbav:"count"`
		Uint   uint64                `dynamodbav:"size"`
		Small  small                 `dynamodbav:"small"`
		F32    float32               `dynamodbav:"price"`
		F64    float64               `dynamodbav:"weight"`
		Bool   bool                  `dynamodbav:"ok"`
		Flag   flag                  `dynamodbav:"active"`
		B      []byte                `dynamodbav:"b"`
		Blob   blob                  `dynamodbav:"data"`
		Any    any                   `dynamodbav:"a"`
		Time   time.Time             `dynamodbav:"at"`
		When   instant               `dynamodbav:"created,unixtime"`
		Number attributevalue.Number `dynamodbav:"exact"`
		Hidden string                `dynamodbav:"-"`
		quiet  string
		Name   string // matched without regard to case
	}
	asStrings struct {
		Int  int       `dynamodbav:"n,string"`
		F    float64   `dynamodbav:"price,string"`
		S    string    `dynamodbav:"s,string"`
		Any  any       `dynamodbav:"a,string"`
		At   time.Time `dynamodbav:"at,string"`
		Unix time.Time `dynamodbav:"created,unixtime,string"`
		P    *int      `dynamodbav:"count,string"`
		Bool bool      `dynamodbav:"ok,string"`
	}
	containers struct {
		Tags    []string                  `dynamodbav:"tags,stringset"`
		Sizes   []int                     `dynamodbav:"sizes,numberset"`
		Keys    [][]byte                  `dynamodbav:"keys,binaryset"`
		Lines   []scalars                 `dynamodbav:"lines"`
		Refs    []*scalars                `dynamodbav:"list"`
		Two     [2]int                    `dynamodbav:"two"`
		Four    [4]byte                   `dynamodbav:"b"`
		Anys    []any                     `dynamodbav:"l"`
		Strings map[string]string         `dynamodbav:"m"`
		Ints    map[int]any               `dynamodbav:"ints"`
		Small   map[small]int             `dynamodbav:"small"`
		Floats  map[float64]string        `dynamodbav:"floats"`
		Bools   map[bool]string           `dynamodbav:"bools"`
		Texts   map[textual]string        `dynamodbav:"texts"`
		Bad     map[[1]int]string         `dynamodbav:"Address"`
		Deep    map[text]map[string][]any `dynamodbav:"deep"`
		Bytes   []small                   `dynamodbav:"data"`
		Times   []time.Time               `dynamodbav:"at"`
	}
	pointers struct {
		S      *string    `dynamodbav:"s"`
		N      **int      `dynamodbav:"n"`
		B      *[]byte    `dynamodbav:"b"`
		M      *scalars   `dynamodbav:"m"`
		L      *[]*string `dynamodbav:"l"`
		At     *time.Time `dynamodbav:"at"`
		A      *any       `dynamodbav:"a"`
		Parent *pointers  `dynamodbav:"Address"`
	}
	Base struct {
		S    string `dynamodbav:"s"`
		N    int    `dynamodbav:"n"`
		Name string
		City string
	}
	Other struct {
		N    string `dynamodbav:"n"`
		City string `dynamodbav:"City"`
		Ok   bool   `dynamodbav:"ok"`
	}
	base struct {
		A any `dynamodbav:"a"`
	}
	embedding struct {
		Base
		*Other
		base
		Tagged `dynamodbav:"m"`
		Plain
		S text `dynamodbav:"s"`
	}
	Tagged    struct{ S, N any }
	Plain     string
	oddFields struct {
		C  chan int      `dynamodbav:"n"`
		F  func()        `dynamodbav:"a"`
		X  complex128    `dynamodbav:"price"`
		U  uintptr       `dynamodbav:"size"`
		I  fmt.Stringer  `dynamodbav:"missing"`
		UT time.Duration `dynamodbav:"count"`
	}
)

func (t *textual) UnmarshalText(b []byte) error {
	if len(b) > 4 {
		return fmt.Errorf("too long")
	}
	t.s = strings.ToUpper(string(b))
	return nil
}

// drawType draws a type, which need not fit the values.
func drawType(t *rapid.T, depth int) reflect.Type {
	leaves := []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[float32](),
		reflect.TypeFor[float64](), reflect.TypeFor[bool](), reflect.TypeFor[any](), reflect.TypeFor[[]byte](), reflect.TypeFor[time.Time](),
		reflect.TypeFor[text](), reflect.TypeFor[blob](), reflect.TypeFor[instant](), reflect.TypeFor[flag](), reflect.TypeFor[pointers](),
		reflect.TypeFor[attributevalue.Number](), reflect.TypeFor[embedding](),
	}
	if depth == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	switch rapid.IntRange(0, 7).Draw(t, "type") {
	case 0:
		return reflect.PointerTo(drawType(t, depth-1))
	case 1:
		return reflect.SliceOf(drawType(t, depth-1))
	case 2:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "array"), drawType(t, depth-1))
	case 3:
		keys := []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[text](), reflect.TypeFor[int](), reflect.TypeFor[bool](), reflect.TypeFor[float64](), reflect.TypeFor[textual]()}
		return reflect.MapOf(rapid.SampledFrom(keys).Draw(t, "key"), drawType(t, depth-1))
	case 4, 5:
		return drawStruct(t, depth-1)
	default:
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
}

func drawStruct(t *rapid.T, depth int) reflect.Type {
	fields := make([]reflect.StructField, rapid.IntRange(0, 6).Draw(t, "fields"))
	for i := range fields {
		name := rapid.SampledFrom([]string{"", "", "-", "s", "n", "b", "a", "m", "l", "at", "lines", "tags", "Address"}).Draw(t, "tag")
		option := rapid.SampledFrom([]string{"", "", ",omitempty", ",string", ",unixtime"}).Draw(t, "option")
		goName := strings.ToUpper(rapid.SampledFrom(pipelinetest.AttributeNames[:16]).Draw(t, "name")) + strings.Repeat("_", i)
		if i < 3 {
			goName = []string{"S", "Name", "Price"}[i]
		}
		fields[i] = reflect.StructField{Name: goName, Type: drawType(t, depth), Tag: reflect.StructTag(`dynamodbav:` + strconv.Quote(name+option))}
	}
	return reflect.StructOf(fields)
}

// equalAsSDK checks that this package and attributevalue decode an item to the same result, or both return an error. It
// does so for compact JSON and for JSON with white space in all places.
func equalAsSDK(t *rapid.T, typ reflect.Type, it map[string]types.AttributeValue) {
	m, err := sdkvalue.Image(it)
	if err != nil {
		t.Fatal(err)
	}
	var wide bytes.Buffer
	if err := json.Indent(&wide, m.AppendDynamoDBJSON(nil), " ", "\t"); err != nil {
		t.Fatal(err)
	}
	spaced, err := item.Parse(wide.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	imageEqualAsSDK(t, typ, m, it)
	imageEqualAsSDK(t, typ, spaced, it)
}

func imageEqualAsSDK(t *rapid.T, typ reflect.Type, m item.Image, item map[string]types.AttributeValue) {
	want, got := reflect.New(typ), reflect.New(typ)
	gotErr := unmarshal.DecodeInto(m, got.Interface())
	wantErr, panicked := unmarshalSDK(item, want.Interface())
	if panicked {
		return // attributevalue panics, so there is nothing to compare
	}
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%v\nfrom %v:\nerror %v\nattributevalue: %v", typ, m.Value(), gotErr, wantErr)
	}
	if gotErr == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Fatalf("%v\nfrom %v:\ngot  %#v\nwant %#v", typ, m.Value(), got.Elem(), want.Elem())
	}
}

func unmarshalSDK(item map[string]types.AttributeValue, out any) (err error, panicked bool) {
	defer func() {
		if recover() != nil {
			panicked = true
		}
	}()
	return attributevalue.UnmarshalMap(item, out), false
}

func TestDecode_EqualsAttributevalue(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[scalars](), reflect.TypeFor[asStrings](), reflect.TypeFor[containers](), reflect.TypeFor[pointers](),
		reflect.TypeFor[embedding](), reflect.TypeFor[oddFields](), reflect.TypeFor[any](), reflect.TypeFor[map[string]any](),
		reflect.TypeFor[map[text]*any](), reflect.TypeFor[map[string]map[string]any](), reflect.TypeFor[*scalars](),
		reflect.TypeFor[[]string](), reflect.TypeFor[time.Time](),
	} {
		t.Run(typ.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { equalAsSDK(t, typ, pipelinetest.DrawItem(t, 3)) })
		})
	}
}

func TestDecode_EqualsAttributevalue_RandomTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawStruct(t, 3)
		for range 4 {
			equalAsSDK(t, typ, pipelinetest.DrawItem(t, 3))
		}
	})
}

// Items with one attribute show all results, since no error of another attribute hides them.
func TestDecode_EqualsAttributevalue_EachField(t *testing.T) {
	structs := []reflect.Type{reflect.TypeFor[scalars](), reflect.TypeFor[asStrings](), reflect.TypeFor[containers](),
		reflect.TypeFor[pointers](), reflect.TypeFor[embedding](), reflect.TypeFor[oddFields]()}
	rapid.Check(t, func(t *rapid.T) {
		v := pipelinetest.DrawAttribute(t, 2)
		for _, typ := range structs {
			for _, name := range pipelinetest.AttributeNames {
				equalAsSDK(t, typ, map[string]types.AttributeValue{name: v})
			}
		}
	})
}

func TestDecode_RoundTripsWhatTheSDKMarshals(t *testing.T) {
	want := containers{
		Tags: []string{"a", "b"}, Sizes: []int{1, 2}, Keys: [][]byte{{1}}, Two: [2]int{1, 2}, Strings: map[string]string{"k": "v"},
		Lines: []scalars{{S: "x", Int: 7, F64: 1.25, B: []byte{0}, Bool: true, Time: time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC), Number: "12"}},
		Ints:  map[int]any{1: "one"}, Bools: map[bool]string{true: "yes"},
	}
	item, err := attributevalue.MarshalMap(want)
	if err != nil {
		t.Fatal(err)
	}
	delete(item, "Address") // neither decoder can read the keys of this map
	m, err := sdkvalue.Image(item)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unmarshal.Decode[containers](m)
	if err != nil {
		t.Fatal(err)
	}
	var sdk containers
	if err := attributevalue.UnmarshalMap(item, &sdk); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, sdk) {
		t.Errorf("differs from attributevalue:\n%s", cmp.Diff(fmt.Sprintf("%#v", sdk), fmt.Sprintf("%#v", got)))
	}
	if !reflect.DeepEqual(got.Lines[0].Time, want.Lines[0].Time) || got.Lines[0].quiet != "" || got.Strings["k"] != "v" || got.Bools[true] != "yes" {
		t.Errorf("got %#v", got)
	}
}

// FuzzDecode checks, for items in every spelling of JSON, that a map decodes as with attributevalue and that no target
// makes the decoder panic.
func FuzzDecode(f *testing.F) {
	for _, doc := range []string{
		`{"s":{"S":"x"},"n":{"N":"1E+3"},"m":{"M":{"\u0061":{"BOOL":true}}}}`, ` { "l" : { "L" : [ { "NULL" : true } , {"B":"AQ=="} ] } } `,
		`{"tags":{"SS":["a","\"\\"]},"sizes":{"NS":["1","2.50"]},"keys":{"BS":["AQ==",""]}}`, `{"at":{"S":"2024-01-02T03:04:05Z"},"two":{"L":[{"N":"1"}]}}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		m, err := item.Parse(doc)
		if err != nil {
			return
		}
		got, err := unmarshal.Decode[map[string]any](m)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := attributevalue.UnmarshalMap(sdkvalue.Item(m), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v, want %#v", got, want)
		}
		for _, out := range []any{new(scalars), new(asStrings), new(containers), new(pointers), new(embedding), new(oddFields)} {
			if err := unmarshal.DecodeInto(m, out); err != nil {
				if _, ok := errors.AsType[*unmarshal.DecodeError](err); !ok {
					t.Fatalf("%T: %v", out, err)
				}
			}
		}
	})
}
