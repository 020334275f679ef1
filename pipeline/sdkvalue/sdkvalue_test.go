package sdkvalue_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
)

var (
	texts = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00\"\\\u2028<&>", "🦆"}))
	bytes = rapid.SliceOfN(rapid.Byte(), 0, 8)
	// in canonical form
	numbers = rapid.SampledFrom([]string{"0", "-1", "0.5", "99999999999999999999999999999999999999", "-12345.678"})
)

// drawValue draws a value of an item.
func drawValue(t *rapid.T, depth int) types.AttributeValue {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return &types.AttributeValueMemberS{Value: texts.Draw(t, "s")}
	case 1:
		return &types.AttributeValueMemberN{Value: numbers.Draw(t, "n")}
	case 2:
		return &types.AttributeValueMemberB{Value: bytes.Draw(t, "b")}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: rapid.Bool().Draw(t, "bool")}
	case 4:
		return &types.AttributeValueMemberNULL{Value: true}
	case 5:
		return &types.AttributeValueMemberSS{Value: rapid.SliceOfNDistinct(texts, 1, 4, rapid.ID).Draw(t, "ss")}
	case 6:
		return &types.AttributeValueMemberNS{Value: rapid.SliceOfNDistinct(numbers, 1, 4, rapid.ID).Draw(t, "ns")}
	case 7:
		return &types.AttributeValueMemberBS{Value: rapid.SliceOfNDistinct(bytes, 1, 4, func(b []byte) string { return string(b) }).Draw(t, "bs")}
	case 8:
		l := make([]types.AttributeValue, rapid.IntRange(0, 4).Draw(t, "len"))
		for i := range l {
			l[i] = drawValue(t, depth-1)
		}
		return &types.AttributeValueMemberL{Value: l}
	default:
		return &types.AttributeValueMemberM{Value: drawItem(t, depth-1)}
	}
}

func drawItem(t *rapid.T, depth int) map[string]types.AttributeValue {
	m := map[string]types.AttributeValue{}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringN(1, 8, -1), 0, 5, rapid.ID).Draw(t, "names") {
		m[name] = drawValue(t, depth)
	}
	return m
}

func TestItemsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := drawItem(t, 3)
		m, err := sdkvalue.Image(item)
		if err != nil {
			t.Fatal(err)
		}
		if back := sdkvalue.Item(m); !reflect.DeepEqual(back, item) {
			t.Fatalf("got %#v, want %#v", back, item)
		}
		for name, av := range item {
			v, err := sdkvalue.Value(av)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := m.Get(name); !ok || !got.Equal(v) || !reflect.DeepEqual(sdkvalue.Of(v), av) {
				t.Fatalf("%q: %v, want %v", name, v, got)
			}
		}
	})
}

func TestWhatDoesNotExist(t *testing.T) {
	m, err := sdkvalue.Image(nil)
	if err != nil || m.Exists() || sdkvalue.Item(m) != nil || sdkvalue.Of(item.Value{}) != nil {
		t.Errorf("a nil item became %v, %v", m, err)
	}
	if m, err := sdkvalue.Image(map[string]types.AttributeValue{}); err != nil || !m.Exists() || m.Len() != 0 {
		t.Errorf("an empty item became %v, %v", m, err)
	}
}

func TestRefusesWhatDynamoDBWouldNotHold(t *testing.T) {
	for name, av := range map[string]types.AttributeValue{
		"nil":             nil,
		"no number":       &types.AttributeValueMemberN{Value: "1x"},
		"too many digits": &types.AttributeValueMemberNS{Value: []string{"1", "100000000000000000000000000000000000001"}},
		"no UTF-8":        &types.AttributeValueMemberS{Value: "\xff"},
		"no UTF-8 in set": &types.AttributeValueMemberSS{Value: []string{"\xff"}},
		"nil in a list":   &types.AttributeValueMemberL{Value: []types.AttributeValue{nil}},
		"unknown":         &types.UnknownUnionMember{Tag: "X"},
	} {
		item := map[string]types.AttributeValue{"Outer": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"inner": av}}}
		if m, err := sdkvalue.Image(item); err == nil || m.Exists() || !strings.Contains(err.Error(), "inner") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		if v, err := sdkvalue.Value(av); err == nil || v.Exists() {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}
