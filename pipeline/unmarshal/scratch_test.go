package unmarshal_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// TestDecode_EqualsDecodeInto decodes items one after the other into structs of one type. Each result or error must
// equal that of decoding into new memory, and no struct may change when later items are decoded.
func TestDecode_EqualsDecodeInto(t *testing.T) {
	t.Run("scalars", decodeEqualsDecodeInto[scalars])
	t.Run("strings", decodeEqualsDecodeInto[asStrings])
	t.Run("containers", decodeEqualsDecodeInto[containers])
	t.Run("pointers", decodeEqualsDecodeInto[pointers])
	t.Run("embedding", decodeEqualsDecodeInto[embedding])
	t.Run("odd", decodeEqualsDecodeInto[oddFields])
	t.Run("own method", decodeEqualsDecodeInto[struct {
		S     string `dynamodbav:"s"`
		Money money  `dynamodbav:"n"`
	}])
	t.Run("map", decodeEqualsDecodeInto[map[string]any])
	t.Run("pointer", decodeEqualsDecodeInto[*scalars])
}

func decodeEqualsDecodeInto[T any](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type outcome struct {
			value T
			err   string
		}
		var got, want []outcome
		for range rapid.IntRange(1, 6).Draw(t, "items") {
			m, err := sdkvalue.Image(pipelinetest.DrawItem(t, 2))
			if err != nil {
				t.Fatal(err)
			}
			value, err := unmarshal.Decode[T](m)
			got = append(got, outcome{value, fmt.Sprint(err)})
			var own outcome
			own.err = fmt.Sprint(unmarshal.DecodeInto(m, &own.value))
			want = append(want, own)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %#v\nwant %#v", got, want)
		}
	})
}

// keeper keeps the pointer with which its decoding method was called.
type keeper struct {
	self *keeper
	kind item.Kind
}

func (k *keeper) UnmarshalDynamoDB(v item.Value) error {
	k.self, k.kind = k, v.Kind()
	return nil
}

// TestDecode_ATypesOwnMethodHasItsMemoryForItself checks that the decoder does not reuse memory that a method of the
// program may still point to, wherever the value is in the struct.
func TestDecode_ATypesOwnMethodHasItsMemoryForItself(t *testing.T) {
	type within struct{ Kept keeper }
	t.Run("field", func(t *testing.T) {
		keepsItsMemory(t, `{"Kept":1}`, func(v *struct{ Kept keeper }) *keeper { return v.Kept.self })
	})
	t.Run("within a struct", func(t *testing.T) {
		keepsItsMemory(t, `{"In":{"Kept":1}}`, func(v *struct{ In within }) *keeper { return v.In.Kept.self })
	})
	t.Run("embedded", func(t *testing.T) {
		keepsItsMemory(t, `{"Kept":1}`, func(v *struct{ within }) *keeper { return v.Kept.self })
	})
	t.Run("of an array", func(t *testing.T) {
		keepsItsMemory(t, `{"Two":[1,1]}`, func(v *struct{ Two [2]keeper }) *keeper { return v.Two[1].self })
	})
	t.Run("behind a pointer", func(t *testing.T) {
		keepsItsMemory(t, `{"Kept":1}`, func(v *struct{ Kept *keeper }) *keeper { return v.Kept.self })
	})
	t.Run("of a slice", func(t *testing.T) {
		keepsItsMemory(t, `{"Kept":[1,1]}`, func(v *struct{ Kept []keeper }) *keeper { return v.Kept[1].self })
	})
}

func keepsItsMemory[T any](t *testing.T, doc string, kept func(*T) *keeper) {
	t.Helper()
	m := pipelinetest.PlainItem(t, doc)
	seen := map[*keeper]bool{}
	for range 20 {
		v, err := unmarshal.Decode[T](m)
		if err != nil {
			t.Fatal(err)
		}
		k := kept(&v)
		if k == nil || k.kind != item.KindN {
			t.Fatalf("its method kept %+v", k)
		}
		if seen[k] {
			t.Fatal("two structs were decoded in one place, to which their types' method keeps pointers")
		}
		seen[k] = true
	}
}

// ownText has a slice that points into the value itself.
type ownText struct {
	room [8]byte
	text []byte
}

func (o *ownText) UnmarshalDynamoDB(v item.Value) error {
	text, _ := v.Text()
	o.text = append(o.room[:0], text...)
	return nil
}

// ownKey is a map key that points into itself.
type ownKey struct {
	text string
	at   *string
}

func (k *ownKey) UnmarshalText(text []byte) error {
	k.text, k.at = string(text), &k.text
	return nil
}

// TestDecode_AMapsMembersHaveMemoryOfTheirOwn checks that each member of a map has its own memory, since a decoding
// method may keep pointers into it.
func TestDecode_AMapsMembersHaveMemoryOfTheirOwn(t *testing.T) {
	m := pipelinetest.PlainItem(t, `{"a":"one","b":"two"}`)
	values, err := unmarshal.Decode[map[string]ownText](m)
	if a, b := values["a"].text, values["b"].text; err != nil || string(a) != "one" || string(b) != "two" {
		t.Errorf("%q and %q, %v", a, b, err)
	}
	keys, err := unmarshal.Decode[map[ownKey]string](m)
	if err != nil || len(keys) != 2 {
		t.Fatalf("%v, %v", keys, err)
	}
	for k := range keys {
		if *k.at != k.text {
			t.Errorf("key %q refers to %q", k.text, *k.at)
		}
	}
}

// TestDecode_WithinAMethodOfTheSameType checks that a method may decode structs of the type that is being decoded, and
// may panic.
func TestDecode_WithinAMethodOfTheSameType(t *testing.T) {
	want := doll{Name: "outer", Last: "last", In: &dollIn{doll{Name: "inner", In: &dollIn{doll{Last: "innermost"}}}}}
	m := pipelinetest.PlainItem(t, `{"Name":"outer","In":{"In":{"Last":"innermost"},"Name":"inner"},"Last":"last"}`)
	broken := pipelinetest.PlainItem(t, `{"Last":"left over","Name":"left over","In":{"Name":"left over","In":"broken"}}`)
	for range 20 {
		if got, err := unmarshal.Decode[doll](m); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v", got, err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Fatal("no panic")
				}
			}()
			_, _ = unmarshal.Decode[doll](broken)
		}()
	}
}

type doll struct {
	Name string
	In   *dollIn
	Last string
}

type dollIn struct{ doll }

func (n *dollIn) UnmarshalDynamoDB(v item.Value) (err error) {
	m, ok := item.ImageOf(v)
	if !ok {
		panic("no map")
	}
	n.doll, err = unmarshal.Decode[doll](m)
	return err
}

// TestDecode_AfterAFailure checks that nothing of an item whose decoding failed gets into the next struct.
func TestDecode_AfterAFailure(t *testing.T) {
	type target struct {
		A, B string
		N    int
		Tags []string
		Next *target
	}
	broken := pipelinetest.PlainItem(t, `{"A":"left over","Tags":["left","over"],"Next":{"A":"left over"},"N":"none","B":"left over"}`)
	for range 20 {
		if _, err := unmarshal.Decode[target](broken); err == nil {
			t.Fatal("a text went into an int")
		}
		if got, err := unmarshal.Decode[target](pipelinetest.PlainItem(t, `{"B":"mine"}`)); err != nil || !reflect.DeepEqual(got, target{B: "mine"}) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
}

// TestDecode_Concurrently checks that structs that are decoded at the same time share nothing.
func TestDecode_Concurrently(t *testing.T) {
	type target struct {
		Name string
		N    int
		Tags []string
	}
	var wg sync.WaitGroup
	for g := range 8 {
		want := target{Name: fmt.Sprint("name ", g), N: g, Tags: []string{fmt.Sprint(g), "tag"}}
		m := pipelinetest.PlainItem(t, fmt.Sprintf(`{"Name":%q,"N":%d,"Tags":[%q,"tag"]}`, want.Name, g, want.Tags[0]))
		wg.Go(func() {
			for range 200 {
				if got, err := unmarshal.Decode[target](m); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%+v, %v, want %+v", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
