package record_test

import (
	"cmp"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Fact 1: sequence numbers are 21 to 40 decimal digits. They are compared as numbers of any length, never as text or as
// int64.
func TestFact1_SequencesAreNumbers(t *testing.T) {
	digits := rapid.StringMatching(`0{0,5}[0-9]{1,40}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := digits.Draw(t, "a"), digits.Draw(t, "b")
		x, _ := new(big.Int).SetString(a, 10)
		y, _ := new(big.Int).SetString(b, 10)
		if got := record.CompareSequence(a, b); got != x.Cmp(y) {
			t.Fatalf("%s and %s: %d", a, b, got)
		}
	})
}

// Fact 2: ApproximateCreationDateTime is rounded down to a second, so it alone must not order, deduplicate or version
// records.
func TestFact2_TimeIsNoVersion(t *testing.T) {
	first := one(t, record.DecoderOptions{}, pipelinetest.Insert)
	sameSecond := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `"000000100000000005391461882"`, `"000000100000000005391461883"`))
	clockWentBack := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Modify, `1.79525166E9`, `1795251000`))
	again := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `1795251660`, `1795251661`))
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
	stream := rapid.StringMatching(`[0-9]{50}(r00000000[1-9])?`)
	kinesis := rapid.StringMatching(`k[0-9]{76}(r[1-9][0-9]{8})?`)
	version := rapid.OneOf(stream, kinesis, rapid.SampledFrom([]string{strings.Repeat("0", 50), "1795251600" + strings.Repeat("0", 40)}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := version.Draw(t, "a"), version.Draw(t, "b")
		v, err := record.ParseVersion(a)
		if err != nil || v.String() != a || string(v.Append([]byte("x"))) != "x"+a || v.Kinesis() != (a[0] == 'k') || v.IsZero() {
			t.Fatalf("%s: %v %v", a, v, err)
		}
		w, err := record.ParseVersion(b)
		if err != nil {
			t.Fatal(err)
		}
		if v.Compare(w) != cmp.Compare(a, b) || (v == w) != (a == b) {
			t.Fatalf("%s and %s: %d", a, b, v.Compare(w))
		}
	})
	fifty := strings.Repeat("1", 50)
	for _, s := range []string{fifty + "r", fifty + "r1", fifty + "r000000000", fifty + "r0000000001", fifty + "r00000000x", fifty + "r000000001r000000001"} {
		if v, err := record.ParseVersion(s); err == nil {
			t.Errorf("%q parses as %v", s, v)
		}
	}
	for _, s := range []string{"", "1", strings.Repeat("1", 49), strings.Repeat("1", 51), "k" + strings.Repeat("1", 75), strings.Repeat("1", 49) + "x", "k" + strings.Repeat("1", 49)} {
		if v, err := record.ParseVersion(s); err == nil {
			t.Errorf("%q parses as %v", s, v)
		}
	}
	if !(record.Version{}).IsZero() {
		t.Error("the zero version is not zero")
	}
}

// Repairs of a state come between its change and the next change, in their order.
func TestVersion_NextRepair(t *testing.T) {
	digit := rapid.StringMatching(`[0-9]{50}|k[0-9]{76}`)
	rapid.Check(t, func(t *rapid.T) {
		text, laterText := digit.Draw(t, "change"), digit.Draw(t, "later")
		v, err := record.ParseVersion(text)
		later, laterErr := record.ParseVersion(laterText)
		if err != nil || laterErr != nil {
			t.Fatal(err, laterErr)
		}
		last := v
		for range rapid.IntRange(1, 12).Draw(t, "repairs") {
			next := last.NextRepair()
			parsed, err := record.ParseVersion(next.String())
			if err != nil || parsed != next || next.Compare(last) <= 0 || next.String() <= last.String() {
				t.Fatalf("%v after %v (%v)", next, last, err)
			}
			last = next
		}
		if last.WithoutRepair() != v || v.WithoutRepair() != v || last.Sequence() != v.Sequence() || last.Epoch() != v.Epoch() || last.Kinesis() != v.Kinesis() {
			t.Fatalf("%v is not of the change %v", last, v)
		}
		if later != v && last.Compare(later) != v.Compare(later) {
			t.Fatalf("%v and the change %v: %d", last, later, last.Compare(later))
		}
	})
}

// Version 0 of a backfilled item without a stream ARN is newer than no version.
func TestVersion_ZeroOfEpochZero(t *testing.T) {
	zero, err := record.ParseVersion(strings.Repeat("0", 50))
	if err != nil || zero.IsZero() {
		t.Fatalf("%v %v", zero, err)
	}
	none := record.Version{}
	if zero.Compare(none) != 1 || none.Compare(zero) != -1 || none.Compare(record.Version{}) != 0 {
		t.Errorf("%d %d", zero.Compare(none), none.Compare(zero))
	}
}
