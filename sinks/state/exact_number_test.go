package state_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// decimals draws numbers from the whole range of DynamoDB.
func decimals() *rapid.Generator[decimal.Decimal] {
	return rapid.Custom(func(t *rapid.T) decimal.Decimal {
		text := rapid.StringMatching(`-?[0-9]{1,38}`).Draw(t, "digits")
		exp := rapid.IntRange(-130, 87).Draw(t, "exponent")
		d, err := decimal.Parse(text + "e" + strconv.Itoa(exp))
		if err != nil { // the number is too small
			d = decimal.Of(int64(exp))
		}
		return d
	})
}

func rat(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is not a number", text)
	}
	return r
}

// A sum of any numbers is exact and can be read back from its text. After all numbers are subtracted again, the sum is
// 0.
func TestNumber_IsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := rapid.SliceOfN(decimals(), 1, 12).Draw(t, "numbers")
		var sum state.Number
		want := new(big.Rat)
		for _, d := range ds {
			sum = sum.Add(state.NumberOf(d))
			want.Add(want, rat(t, d.String()))
		}
		if rat(t, sum.String()).Cmp(want) != 0 || sum.Sign() != want.Sign() {
			t.Fatalf("the sum is %s, want %s", sum, want.FloatString(140))
		}
		back, err := state.ParseNumber(sum.String())
		if err != nil || back.String() != sum.String() {
			t.Fatalf("%s came back as %s (%v)", sum, back, err)
		}
		for _, d := range ds {
			sum = sum.Add(state.NumberOf(d).Neg())
		}
		if sum.String() != "0" || sum.Sign() != 0 {
			t.Fatalf("all taken away leaves %s", sum)
		}
	})
}

// A number with more than 38 digits does not fit into an N, so its value is a string with the exact number.
func TestNumber_Value(t *testing.T) {
	one, err := decimal.Parse("1e100")
	if err != nil {
		t.Fatal(err)
	}
	n := state.NumberOf(one).Add(state.NumberOf(decimal.Of(1)))
	text, ok := n.Value().Text()
	if want := "1" + strings.Repeat("0", 99) + "1"; !ok || text != want || n.Value().Kind() != item.KindS {
		t.Errorf("the value is %s %q, want the text %s", n.Value().Kind(), text, want)
	}
	if v := state.NumberOf(one).Value(); v.Kind() != item.KindN {
		t.Errorf("a number of DynamoDB is %s", v.Kind())
	}
}

func TestParseNumber_Refuses(t *testing.T) {
	for _, text := range []string{"", "-", "x", "1x", "--1", "1.2.3", "+" + strings.Repeat("1", 40), strings.Repeat("1", 40) + "e1", "."} {
		if n, err := state.ParseNumber(text); err == nil {
			t.Errorf("%q is read as %s", text, n)
		}
	}
}
