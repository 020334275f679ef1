package state_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// MakeRow returns a text from which Decode returns the same key.
func TestRow_RoundTrip(t *testing.T) {
	values := rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[ -~é]{1,6}`), item.StringValue),
		rapid.Map(decimals(), item.NumberValue),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 6), item.BinaryValue),
	)
	rapid.Check(t, func(t *rapid.T) {
		pk, sk := values.Draw(t, "pk"), item.Value{}
		if rapid.Bool().Draw(t, "has a sort key") {
			sk = values.Draw(t, "sk")
		}
		r, err := state.MakeRow(pk, sk)
		if err != nil {
			t.Fatal(err)
		}
		p, s, err := r.Decode()
		if err != nil || !p.Equal(pk) || s.Exists() != sk.Exists() || sk.Exists() && !s.Equal(sk) {
			t.Fatalf("%q came back as %s %s (%v)", r, p.AppendJSON(nil), s.AppendJSON(nil), err)
		}
	})
}

func TestMakeRow_Refuses(t *testing.T) {
	for _, v := range []item.Value{{}, item.StringValue(""), item.BoolValue(true), item.NullValue()} {
		if r, err := state.MakeRow(v, item.Value{}); err == nil {
			t.Errorf("%s makes the row %q", v.Kind(), r)
		}
	}
}
