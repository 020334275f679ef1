package pipeline_test

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ table, keys, want string }{
		{"", `{"PK":{"S":"USER#1"},"SK":{"S":"a,b!c%+="}}`, "USER%231,a%2Cb%21c%25%2B%3D"},
		{"", `{"SK":{"S":"second"},"PK":{"S":"first"}}`, "first,second"},
		{"", `{"id":{"N":"-1.50e2"}}`, "+-150"},
		{"", `{"id":{"S":"-150"}}`, "-150"},
		{"", `{"id":{"B":"+\/8="}}`, "=-_8"},
		{"", `{"id":{"S":"\u00e9"}}`, "%C3%A9"},
		{"shop-1", `{"id":{"S":"a"}}`, "shop-1!a"},
	} {
		keys := pipelineImage(t, tt.keys)
		k, err := pipeline.MakeKey(tt.table, keys)
		if err != nil || string(k) != tt.want {
			t.Errorf("%s: got %s %v, want %s", tt.keys, k, err, tt.want)
			continue
		}
		table, values, err := k.Decode()
		if err != nil || table != tt.table || len(values) != keys.Len() {
			t.Errorf("%s: %q %v %v", k, table, values, err)
			continue
		}
		names := []string{}
		for name := range keys.All() {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			if v, _ := keys.Get(name); !v.Equal(values[i]) {
				t.Errorf("%s: value %d is %v, want %v", k, i, values[i], v)
			}
		}
	}
	for _, keys := range []string{`{}`, `{"a":{"S":""}}`, `{"a":{"B":""}}`, `{"a":{"BOOL":true}}`, `{"a":{"S":"x"},"b":{"M":{}}}`, `{"a":{"S":"x"},"b":{"S":"x"},"c":{"S":"x"}}`} {
		if k, err := pipeline.MakeKey("", pipelineImage(t, keys)); err == nil || k != "" {
			t.Errorf("%s makes a key: %q", keys, k)
		}
	}
	for _, k := range []pipeline.Key{"", ",", "a,", ",b", "a,b,c", "!a", "t!", "a!b!c", "%", "%zz", "%41", "%ff", "%FF", "+", "+1.0", "+x", "+1e2", "=", "=A", "=A+", "=AA==", "=AA\n", "a b"} {
		if table, values, err := k.Decode(); err == nil {
			t.Errorf("%q decodes as %q %v", k, table, values)
		}
	}
}

// Keys are injective: two keys are the same text where the items are the same only.
func TestKeysAreInjective(t *testing.T) {
	part := func(t *rapid.T) pipeline.Value {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return pipeline.StringValue(rapid.StringOfN(rapid.SampledFrom([]rune("a+=!,%-_.1é")), 1, 4, -1).Draw(t, "S"))
		case 1:
			d, err := pipeline.ParseDecimal(rapid.StringMatching(`-?[0-9]{1,2}(\.[0-9])?`).Draw(t, "N"))
			if err != nil {
				t.Fatal(err)
			}
			return pipeline.NumberValue(d)
		}
		return pipeline.BinaryValue(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 0xff}), 1, 3).Draw(t, "B"))
	}
	item := func(t *rapid.T) (string, pipeline.Image) {
		b := part(t).AppendDynamoDBJSON([]byte(`{"a":`))
		if rapid.Bool().Draw(t, "sort key") {
			b = part(t).AppendDynamoDBJSON(append(b, `,"b":`...))
		}
		m, err := pipeline.ParseImage(append(b, '}'))
		if err != nil {
			t.Fatal(err)
		}
		return rapid.SampledFrom([]string{"", "t", "t.2"}).Draw(t, "table"), m
	}
	rapid.Check(t, func(t *rapid.T) {
		ta, a := item(t)
		tb, b := item(t)
		ka, err := pipeline.MakeKey(ta, a)
		if err != nil {
			t.Fatal(err)
		}
		kb, err := pipeline.MakeKey(tb, b)
		if err != nil {
			t.Fatal(err)
		}
		if (ka == kb) != (ta == tb && a.Equal(b)) {
			t.Fatalf("%q of %s, %q of %s", ka, a.Value(), kb, b.Value())
		}
		if table, values, err := ka.Decode(); err != nil || table != ta || len(values) != a.Len() {
			t.Fatalf("%q: %v", ka, err)
		}
	})
}

// Fact 1: sequence numbers are 21 to 40 decimal digits. Compare numerically (strip
// zeros, length, text); never as text, never as int64.
func TestFact1_SequencesAreNumbers(t *testing.T) {
	digits := rapid.StringMatching(`0{0,5}[0-9]{1,40}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := digits.Draw(t, "a"), digits.Draw(t, "b")
		x, _ := new(big.Int).SetString(a, 10)
		y, _ := new(big.Int).SetString(b, 10)
		if got := pipeline.CompareSequence(a, b); got != x.Cmp(y) {
			t.Fatalf("%s and %s: %d", a, b, got)
		}
	})
}

// Fact 2: ApproximateCreationDateTime is rounded down to a second. Never sort,
// dedupe or version on it alone.
func TestFact2_TimeIsNoVersion(t *testing.T) {
	first := one(t, pipeline.DecoderOptions{}, insert)
	sameSecond := one(t, pipeline.DecoderOptions{}, with(insert, `"000000100000000005391461882"`, `"000000100000000005391461883"`))
	clockWentBack := one(t, pipeline.DecoderOptions{}, with(modify, `1.79525166E9`, `1795251000`))
	again := one(t, pipeline.DecoderOptions{}, with(insert, `1795251660`, `1795251661`))
	if !sameSecond.Time.Equal(first.Time) || sameSecond.Version.Compare(first.Version) <= 0 {
		t.Errorf("%v is not newer than %v of its second", sameSecond.Version, first.Version)
	}
	if !clockWentBack.Time.Before(first.Time) || clockWentBack.Version.Compare(first.Version) <= 0 {
		t.Errorf("%v is not newer than %v, whose time is later", clockWentBack.Version, first.Version)
	}
	if again.Version != first.Version {
		t.Errorf("one sequence number has the versions %v and %v", first.Version, again.Version)
	}
}

func TestVersions(t *testing.T) {
	stream := rapid.StringMatching(`[0-9]{50}`)
	kinesis := rapid.StringMatching(`k[0-9]{76}`)
	version := rapid.OneOf(stream, kinesis, rapid.SampledFrom([]string{strings.Repeat("0", 50), "1795251600" + strings.Repeat("0", 40)}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := version.Draw(t, "a"), version.Draw(t, "b")
		v, err := pipeline.ParseVersion(a)
		if err != nil || v.String() != a || string(v.Append([]byte("x"))) != "x"+a || v.Kinesis() != (a[0] == 'k') || v.IsZero() {
			t.Fatalf("%s: %v %v", a, v, err)
		}
		w, err := pipeline.ParseVersion(b)
		if err != nil {
			t.Fatal(err)
		}
		if v.Compare(w) != cmp.Compare(a, b) || (v == w) != (a == b) {
			t.Fatalf("%s and %s: %d", a, b, v.Compare(w))
		}
	})
	for _, s := range []string{"", "1", strings.Repeat("1", 49), strings.Repeat("1", 51), "k" + strings.Repeat("1", 75), strings.Repeat("1", 49) + "x", "k" + strings.Repeat("1", 49)} {
		if v, err := pipeline.ParseVersion(s); err == nil {
			t.Errorf("%q parses as %v", s, v)
		}
	}
	if !(pipeline.Version{}).IsZero() {
		t.Error("the zero version is not zero")
	}
}
