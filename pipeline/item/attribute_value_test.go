package item_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

func value(t *testing.T, s string) item.Value {
	t.Helper()
	v, err := item.ParseValue([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// every lists a value of each kind with its length.
var every = []struct {
	json string
	kind item.Kind
	len  int
}{
	{`{"S":"a\u00e9\ud83e\udd8a\n"}`, item.KindS, 1 + 2 + 4 + 1},
	{`{"N":"12.50"}`, item.KindN, 0},
	{`{"B":"AAE="}`, item.KindB, 2},
	{`{"BOOL":true}`, item.KindBOOL, 0},
	{`{"NULL":true}`, item.KindNULL, 0},
	{`{"M":{"a":{"S":"x"},"b\"":{"N":"1"}}}`, item.KindM, 2},
	{`{"L":[{"S":"x"},{"N":"1"},{"L":[]}]}`, item.KindL, 3},
	{`{"SS":["a","b"]}`, item.KindSS, 2},
	{`{"NS":["1","2"]}`, item.KindNS, 2},
	{`{"BS":["AA==","AQ=="]}`, item.KindBS, 2},
}

// A getter returns ok for its own kind only.
func TestGettersAreOfOneKind(t *testing.T) {
	for _, e := range append(every, struct {
		json string
		kind item.Kind
		len  int
	}{"", item.Absent, 0}) {
		var v item.Value
		if e.json != "" {
			v = value(t, e.json)
		}
		if v.Kind() != e.kind || v.Len() != e.len || v.Exists() != (e.kind != item.Absent) || v.IsNull() != (e.kind == item.KindNULL) {
			t.Errorf("%v: %v, %d long", v, v.Kind(), v.Len())
		}
		ok := map[item.Kind]bool{}
		_, ok[item.KindS] = v.Text()
		_, ok[item.KindN] = v.Number()
		_, ok[item.KindB] = v.Bytes()
		_, ok[item.KindBOOL] = v.Bool()
		for kind, got := range ok {
			if got != (kind == e.kind) {
				t.Errorf("%v: the getter of %v says %v", v, kind, got)
			}
		}
		if _, ok := v.Float64(); ok != (e.kind == item.KindN) {
			t.Errorf("%v: Float64", v)
		}
		members, elements := 0, 0
		for range v.Members() {
			members++
		}
		for range v.Elements() {
			elements++
		}
		_, member := v.Get("a")
		_, element := v.Index(0)
		list := e.kind == item.KindL || e.kind == item.KindSS || e.kind == item.KindNS || e.kind == item.KindBS
		if (members > 0) != (e.kind == item.KindM) || member != (members > 0) || (elements > 0) != list || element != list {
			t.Errorf("%v: %d members, %d elements", v, members, elements)
		}
		if _, ok := v.Index(-1); ok {
			t.Errorf("%v has an element -1", v)
		}
		if _, ok := v.Index(3); ok {
			t.Errorf("%v has an element 3", v)
		}
	}
}

func TestGetters(t *testing.T) {
	if s, _ := value(t, every[0].json).Text(); s != "aé🦊\n" {
		t.Errorf("text %q", s)
	}
	if b, _ := value(t, `{"B":"AAE="}`).Bytes(); !bytes.Equal(b, []byte{0, 1}) {
		t.Errorf("bytes %v", b)
	}
	if b, ok := value(t, `{"BOOL":false}`).Bool(); b || !ok {
		t.Errorf("bool %v %v", b, ok)
	}
	if v, ok := value(t, every[5].json).Get(`b"`); !ok || v.String() != `{"N":"1"}` {
		t.Errorf("get %v", v)
	}
	if v, ok := value(t, `{"M":{"a\\\\b":{"N":"1"}}}`).Get(`a\\\\b`); ok {
		t.Errorf("a name is found by its spelling: %v", v)
	}
	if v, ok := value(t, `{"NS":["1","2"]}`).Index(1); !ok || v.String() != `{"N":"2"}` {
		t.Errorf("index %v", v)
	}
	if v, ok := value(t, `{"L":[{"M":{"a":{"L":[{"S":"x"}]}}}]}`).Lookup("[0].a[0]"); !ok || v.String() != `{"S":"x"}` {
		t.Errorf("lookup %v", v)
	}
	for _, tt := range []struct {
		n  string
		i  int64
		ok bool
	}{{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true}, {"9223372036854775808", 0, false}, {"1.5", 0, false}, {"1.0", 1, true}, {"1E3", 1000, true}} {
		if i, ok := value(t, `{"N":"`+tt.n+`"}`).Int64(); i != tt.i || ok != tt.ok {
			t.Errorf("%s as an int64: %d %v", tt.n, i, ok)
		}
	}
	if f, ok := value(t, `{"N":"0.1"}`).Float64(); f != 0.1 || !ok {
		t.Errorf("float %v", f)
	}
}

func TestValuesMadeByHand(t *testing.T) {
	for _, tt := range []struct {
		v    item.Value
		want string
	}{
		{item.StringValue("plain"), `{"S":"plain"}`},
		{item.StringValue("a\"b\\c\n\x00é🦊\u2028"), "{\"S\":\"a\\\"b\\\\c\\u000A\\u0000é🦊\u2028\"}"},
		{item.StringValue("\xff"), "{\"S\":\"\ufffd\"}"},
		{item.NumberValue(decimal.Of(-15)), `{"N":"-15"}`},
		{item.BinaryValue([]byte{0xff, 0xef}), `{"B":"/+8="}`},
		{item.BinaryValue(nil), `{"B":""}`},
		{item.BoolValue(true), `{"BOOL":true}`},
		{item.BoolValue(false), `{"BOOL":false}`},
		{item.NullValue(), `{"NULL":true}`},
		{item.Value{}, `absent`},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		if tt.v.Exists() && !value(t, tt.want).Equal(tt.v) {
			t.Errorf("%s is not equal to what it reads back as", tt.want)
		}
	}
}

func TestEqualByMeaning(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		equal bool
	}{
		{`{"S":"a"}`, `{"S":"\u0061"}`, true},
		{`{"S":"a"}`, `{"S":"b"}`, false},
		{`{"S":"1"}`, `{"N":"1"}`, false},
		{`{"N":"1"}`, `{"N":"1.0"}`, true},
		{`{"N":"1"}`, `{"N":"1e0"}`, true},
		{`{"N":"0"}`, `{"N":"-0.0"}`, true},
		{`{"N":"100"}`, `{"N":"1E2"}`, true},
		{`{"N":"12345678901234567890123456789012345678"}`, `{"N":"12345678901234567890123456789012345679"}`, false},
		{`{"B":"\/w=="}`, `{"B":"/w=="}`, true},
		{`{"BOOL":true}`, `{"BOOL":false}`, false},
		{`{"M":{"a":{"N":"1"},"b":{"S":"x"}}}`, `{"M":{ "b":{"S":"x"}, "a":{"N":"1.0"}}}`, true},
		{`{"M":{"a":{"N":"1"}}}`, `{"M":{"b":{"N":"1"}}}`, false},
		{`{"M":{"a":{"N":"1"}}}`, `{"M":{"a":{"N":"1"},"b":{"N":"1"}}}`, false},
		{`{"M":{}}`, `{"M":{ }}`, true},
		{`{"L":[{"N":"1"},{"N":"2"}]}`, `{"L":[{"N":"2"},{"N":"1"}]}`, false},
		{`{"L":[{"N":"1"}]}`, `{"L":[{"N":"1.0"}]}`, true},
		{`{"SS":["a","b","c"]}`, `{"SS":["c","\u0061","b"]}`, true},
		{`{"SS":["a","b"]}`, `{"SS":["a","c"]}`, false},
		{`{"SS":["a"]}`, `{"SS":["a","c"]}`, false},
		{`{"NS":["1","2.0"]}`, `{"NS":["2","1.0"]}`, true},
		{`{"BS":["AA==","AQ=="]}`, `{"BS":["AQ==","AA=="]}`, true},
		{`{"SS":["1"]}`, `{"NS":["1"]}`, false},
	} {
		a, b := value(t, tt.a), value(t, tt.b)
		if a.Equal(b) != tt.equal || b.Equal(a) != tt.equal || !a.Equal(a.Clone()) {
			t.Errorf("%s and %s: equal %v", tt.a, tt.b, a.Equal(b))
		}
		ma, mb := pipelineImage(t, `{"x":`+tt.a+`,"y":{"S":"z"}}`), pipelineImage(t, `{ "y":{"S":"z"},"x":`+tt.b+`}`)
		if ma.Equal(mb) != tt.equal || mb.Equal(ma) != tt.equal {
			t.Errorf("images of %s and %s: equal %v", tt.a, tt.b, ma.Equal(mb))
		}
	}
	if (item.Image{}).Equal(pipelineImage(t, `{}`)) || !(item.Image{}).Equal(item.Image{}) || !(item.Value{}).Equal(item.Value{}) {
		t.Error("absence is not equal to itself only")
	}
}

func pipelineImage(t *testing.T, s string) item.Image {
	t.Helper()
	m, err := item.Parse([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return m
}

func TestPlainJSON(t *testing.T) {
	m := pipelineImage(t, ` { "s" : {"S":"x\u0022"}, "n":{"N":"1.50E+3"}, "tiny":{"N":"1E-10"}, "b":{"B":"AAE="}, "t":{"BOOL":true}, "z":{"NULL":true},
		"m":{"M":{"a":{"L":[{"N":"-0"},{"M":{}}]}}}, "ss":{"SS":["a","b"]}, "ns":{"NS":["1","2.0"]}, "bs":{"BS":["AA=="]} } `)
	want := `{"s":"x\u0022","n":1500,"tiny":0.0000000001,"b":"AAE=","t":true,"z":null,"m":{"a":[0,{}]},"ss":["a","b"],"ns":[1,2],"bs":["AA=="]}`
	if got := string(m.AppendJSON(nil)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := string((item.Image{}).AppendJSON([]byte("x="))); got != "x=null" {
		t.Errorf("got %s", got)
	}
	if v, ok := item.ImageOf(m.Value()); !ok || !v.Equal(m) {
		t.Error("an image as a value is another image")
	}
	if _, ok := item.ImageOf(item.NullValue()); ok {
		t.Error("a NULL is an image")
	}
}
