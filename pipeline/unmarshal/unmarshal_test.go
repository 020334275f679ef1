package unmarshal_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// money decodes itself and records the kind of its value.
type money struct {
	cents int64
	kind  item.Kind
}

var errNoMoney = errors.New("no money")

func (m *money) UnmarshalDynamoDB(v item.Value) error {
	m.kind = v.Kind()
	if v.IsNull() {
		return nil
	}
	n, ok := v.Number()
	if !ok {
		return errNoMoney
	}
	cents, ok := n.Int64()
	if !ok {
		return errNoMoney
	}
	m.cents = cents * 100
	return nil
}

func TestDecode_BeyondAttributevalue(t *testing.T) {
	type target struct {
		Exact   decimal.Decimal
		Exacts  []decimal.Decimal
		Text    decimal.Decimal `dynamodbav:",string"`
		None    *decimal.Decimal
		Raw     item.Value
		Price   money
		Null    money
		Pointer *money
		Prices  []money
		ByName  map[string]money
		Absent  *money
	}
	got, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, `{"Exact":12345678901234567890.12345678901234567,"Exacts":{"NS":["1e3"]},"Text":"1.50","None":null,
		"Raw":{"a":[1,null]},"Price":3,"Null":null,"Pointer":4,"Prices":{"NS":["5"]},"ByName":{"x":6},"Absent":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if got.Exact.String() != "12345678901234567890.12345678901234567" || got.Exacts[0].String() != "1000" || got.Text.String() != "1.5" || got.None != nil {
		t.Errorf("decimals: %v %v %v", got.Exact, got.Exacts, got.Text)
	}
	if pipelinetest.ValueText(got.Raw) != `{"a":[1,null]}` {
		t.Errorf("value: %v", got.Raw)
	}
	n := item.KindN
	want := target{Price: money{300, n}, Null: money{kind: item.KindNULL}, Pointer: &money{400, n}, Prices: []money{{500, n}}, ByName: map[string]money{"x": {600, n}}}
	want.Exact, want.Exacts, want.Text, want.Raw = got.Exact, got.Exacts, got.Text, got.Raw
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDecode_Errors(t *testing.T) {
	type inner struct {
		N    int8
		At   time.Time
		Flag bool
	}
	type target struct {
		Lines  []inner
		By     map[string]inner
		Ints   map[int]int
		Bad    map[[1]int]int
		Price  money
		Exact  decimal.Decimal
		Unix   attributevalue.UnixTime
		Number int     `dynamodbav:"number,string"`
		Float  float32 `dynamodbav:",string"`
		Floats map[float32]int
		Str    fmt.Stringer
	}
	for doc, want := range map[string]string{
		`{"Lines":[{"N":1},{"N":128}]}`:         `attribute Lines[1].N: N does not decode into int8: the number is out of its range`,
		`{"Lines":[{"N":1.5}]}`:                 `attribute Lines[0].N: N does not decode into int8: the number is not an integer of its range`,
		`{"Lines":{"N":1}}`:                     `attribute Lines: M does not decode into []unmarshal_test.inner`,
		`{"By":{"first-name":{"At":"secret"}}}`: `attribute By["first-name"].At: S does not decode into time.Time: the text is not an RFC 3339 time`,
		`{"By":{"x":{"Flag":"true"}}}`:          `attribute By.x.Flag: S does not decode into bool`,
		`{"By":{"x":{"At":1.5}}}`:               `attribute By.x.At: N does not decode into time.Time: the number is not a count of seconds`,
		`{"Ints":{"secret":1}}`:                 `attribute Ints: M does not decode into map[int]int: a name as a key of type int: the number is not an integer of its range`,
		`{"Bad":{}}`:                            `attribute Bad: M does not decode into map[[1]int]int: keys of type [1]int: want a string, number, bool or encoding.TextUnmarshaler`,
		`{"Price":"x"}`:                         `attribute Price: S does not decode into unmarshal_test.money: no money`,
		`{"Exact":"secret"}`:                    `attribute Exact: S does not decode into decimal.Decimal`,
		`{"Exact":{}}`:                          `attribute Exact: M does not decode into decimal.Decimal`,
		`{"number":"secret"}`:                   `attribute number: S does not decode into int: the number is not an integer of its range`,
		`{"Float":"-Inf"}`:                      `attribute Float: S does not decode into float32: the number is out of its range`,
		`{"Floats":{"1e39":1}}`:                 `attribute Floats: M does not decode into map[float32]int: a name as a key of type float32: the number is out of its range`,
		`{"Floats":{"Inf":1}}`:                  `attribute Floats: M does not decode into map[float32]int: a name as a key of type float32: the number is out of its range`,
		`{"Str":"x"}`:                           `attribute Str: S does not decode into fmt.Stringer`,
	} {
		_, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, doc))
		e, ok := errors.AsType[*unmarshal.DecodeError](err)
		if !ok || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", doc, err, want)
			continue
		}
		if _, retry := pipeline.Retryable(err); retry || e.Type == nil || e.Kind == item.Absent {
			t.Errorf("%s: %+v, to be retried: %v", doc, e, retry)
		}
	}
	if _, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, `{"Price":"x"}`)); !errors.Is(err, errNoMoney) {
		t.Errorf("the cause is lost: %v", err)
	}
	if _, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, `{"Unix":1}`)); err == nil || !strings.Contains(err.Error(), "sdkvalue") {
		t.Errorf("a type of the SDK's interface: %v", err)
	}
}

func TestDecodeError_Redacted(t *testing.T) {
	type target struct {
		By    map[string]int `dynamodbav:"by-mail"`
		Price money
	}
	for doc, want := range map[string]string{
		`{"by-mail":{"ada@example.com":true}}`: `attribute ["by-mail"]: BOOL does not decode into int`,
		`{"Price":"x"}`:                        `attribute Price: S does not decode into unmarshal_test.money`,
	} {
		_, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, doc))
		if e, ok := errors.AsType[redact.Redacted](err); !ok || e.Redacted() != want {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}

func TestDecode_Targets(t *testing.T) {
	m := pipelinetest.PlainItem(t, `{"a":1}`)
	if _, err := unmarshal.Decode[struct{}](item.Image{}); !errors.Is(err, unmarshal.ErrNoImage) {
		t.Errorf("no image: %v", err)
	}
	var missing *struct{}
	for _, out := range []any{nil, struct{}{}, map[string]any{}, missing} {
		if err := unmarshal.DecodeInto(m, out); err == nil || !strings.Contains(err.Error(), "pointer") {
			t.Errorf("%T: %v", out, err)
		}
	}
	var s []string
	if err := unmarshal.DecodeInto(m, &s); err == nil {
		t.Error("an item went into a slice")
	}
}

func TestDecodeInto_KeepsWhatTheItemDoesNotMention(t *testing.T) {
	type inner struct{ A, B int }
	type target struct {
		A, B  int
		In    inner
		P     *inner
		M     map[string]any
		L     []int
		Any   any
		Fresh any
	}
	p := &inner{B: 6}
	out := target{A: 1, B: 2, In: inner{B: 3}, P: p, M: map[string]any{"kept": true}, L: []int{1, 2, 3}, Any: &inner{B: 5}, Fresh: 7}
	err := unmarshal.DecodeInto(pipelinetest.PlainItem(t, `{"A":10,"In":{"A":11},"P":{"A":12},"M":{"x":"y"},"L":[],"Any":{"A":13},"Fresh":"s"}`), &out)
	want := target{A: 10, B: 2, In: inner{11, 3}, P: &inner{12, 6}, M: map[string]any{"kept": true, "x": "y"}, L: []int{}, Any: &inner{13, 5}, Fresh: "s"}
	if err != nil || !reflect.DeepEqual(out, want) || out.P != p {
		t.Errorf("got %+v, %v; want %+v", out, err, want)
	}
}

func TestDecode_ResultDoesNotPinThePage(t *testing.T) {
	type target struct {
		S    string
		B    []byte
		Any  any
		M    map[string]string
		SS   []string
		Raw  item.Value
		Num  attributevalue.Number
		Deep map[string]any
	}
	doc := `{"S":{"S":"text"},"B":{"B":"AQI="},"Any":{"L":[{"S":"text"},{"B":"AQI="}]},"M":{"M":{"name":{"S":"text"}}},"SS":{"SS":["text"]},` +
		`"Raw":{"M":{"name":{"S":"text"}}},"Num":{"N":"12"},"Deep":{"M":{"name":{"SS":["text"]}}}}`
	page := []byte(doc)
	m, err := item.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unmarshal.Decode[target](m)
	if err != nil {
		t.Fatal(err)
	}
	clear(page) // shows whether a result still uses the bytes of the page, which in practice never change
	fresh, err := item.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	want, err := unmarshal.Decode[target](fresh)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Raw.Equal(want.Raw) {
		t.Errorf("value: %v", got.Raw)
	}
	got.Raw = want.Raw
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// keyText is a map key with its own UnmarshalText.
type keyText struct{ s string }

func (k *keyText) UnmarshalText(b []byte) error {
	k.s = strings.ToUpper(string(b))
	return nil
}

// selfCode and selfNumber decode themselves as values, but not as map keys.
type (
	selfCode   string
	selfNumber int8
)

func (*selfCode) UnmarshalDynamoDB(item.Value) error   { return errNoMoney }
func (*selfNumber) UnmarshalDynamoDB(item.Value) error { return errNoMoney }

func TestDecode_UnmarshalersAsKeys(t *testing.T) {
	codes, err := unmarshal.Decode[map[selfCode]int](pipelinetest.PlainItem(t, `{"a":1}`))
	if err != nil || codes["a"] != 1 {
		t.Errorf("%v, %v", codes, err)
	}
	numbers, err := unmarshal.Decode[map[selfNumber]int](pipelinetest.PlainItem(t, `{"7":1}`))
	if err != nil || numbers[7] != 1 {
		t.Errorf("%v, %v", numbers, err)
	}
}

func TestDecode_PointersAsKeys(t *testing.T) {
	got, err := unmarshal.Decode[map[*keyText]int](pipelinetest.PlainItem(t, `{"a":1}`))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	for k, n := range got {
		if k.s != "A" || n != 1 {
			t.Errorf("%v: %d", k, n)
		}
	}
}

type hidden struct{ A int }

func TestDecode_EmbeddedPointerToUnexportedType(t *testing.T) {
	type target struct {
		*hidden
		B int
	}
	got, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, `{"B":1}`))
	if err != nil || got.B != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, `{"A":1}`)); err == nil || !strings.Contains(err.Error(), "not exported") {
		t.Errorf("reflection can't set it: %v", err)
	}
}

func TestDecode_ConcurrentFirstUse(t *testing.T) {
	type node struct {
		Name string
		Next *node
		All  map[string]node
	}
	m := pipelinetest.PlainItem(t, `{"Name":"a","Next":{"Name":"b","Next":{"Name":"c"}},"All":{"x":{"Name":"d"}}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := unmarshal.Decode[node](m)
			if err != nil || got.Next.Next.Name != "c" || got.All["x"].Name != "d" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	wg.Wait()
}
