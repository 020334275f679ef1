package state_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// versions draws the zero version, versions of streams and versions of Kinesis.
func versions() *rapid.Generator[record.Version] {
	return rapid.Custom(func(t *rapid.T) record.Version {
		text := rapid.OneOf(
			rapid.StringMatching(`[0-9]{50}`),
			rapid.StringMatching(`1767323045[0-9]{40}`),
			rapid.StringMatching(`k[0-9]{76}`),
			rapid.Just(""),
		).Draw(t, "version")
		v, err := record.ParseVersion(text)
		if err != nil && text != "" {
			t.Fatal(err)
		}
		return v
	})
}

func contributions() *rapid.Generator[state.Contribution] {
	return rapid.Custom(func(t *rapid.T) state.Contribution {
		c := state.Contribution{Version: versions().Draw(t, "version"), Since: versions().Draw(t, "since")}
		if rapid.Bool().Draw(t, "never changed") {
			c.Since = c.Version
		}
		for range rapid.IntRange(0, 4).Draw(t, "shares") {
			s := state.Share{Group: state.Row(rapid.StringN(0, 200, -1).Draw(t, "group"))}
			for range rapid.IntRange(0, 3).Draw(t, "values") {
				s.Values = append(s.Values, rapid.String().Draw(t, "value"))
			}
			c.Shares = append(c.Shares, s)
		}
		return c
	})
}

func sameContribution(a, b state.Contribution) bool {
	return a.Version == b.Version && a.Since == b.Since && slices.EqualFunc(a.Shares, b.Shares, func(x, y state.Share) bool {
		return x.Group == y.Group && slices.Equal(x.Values, y.Values)
	})
}

// A contribution is read back unchanged. A part of its bytes, or its bytes with one more, cannot be read.
func TestContribution_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := contributions().Draw(t, "contribution")
		b := want.AppendShares([]byte("prefix"))[len("prefix"):]
		got, err := state.ParseContribution(want.Version, b)
		if err != nil || !sameContribution(got, want) {
			t.Fatalf("came back as %+v (%v)", got, err)
		}
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if got, err := state.ParseContribution(want.Version, b[:cut]); err == nil {
			t.Fatalf("%d of %d bytes are read as %+v", cut, len(b), got)
		}
		if got, err := state.ParseContribution(want.Version, append(b, 0)); err == nil {
			t.Fatalf("a byte too many is read as %+v", got)
		}
	})
}

// A typical contribution takes at most 8 bytes more than its texts.
func TestContribution_IsCompact(t *testing.T) {
	v, err := record.ParseVersion("1767323045" + fmt.Sprintf("%040d", 7))
	if err != nil {
		t.Fatal(err)
	}
	c := state.Contribution{Version: v, Since: v, Shares: []state.Share{{Group: "REVENUE%23EUR,2026-01-02", Values: []string{"12345.5", ""}}}}
	texts := len(c.Shares[0].Group) + len(c.Shares[0].Values[0])
	if n := len(c.AppendShares(nil)); n > texts+8 {
		t.Errorf("%d bytes for %d bytes of texts", n, texts)
	}
}

func FuzzParseContribution(f *testing.F) {
	v, err := record.ParseVersion("1767323045" + strings.Repeat("1", 40))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []state.Contribution{
		{Version: v, Since: v},
		{Version: v, Shares: []state.Share{{Group: "g,1", Values: []string{"1.5", ""}}, {Group: "g,2"}}},
	} {
		f.Add(c.AppendShares(nil))
		c.Version, c.Since = record.Version{}, v
		f.Add(c.AppendShares(nil))
	}
	f.Add([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		own := bytes.Clone(b)
		c, err := state.ParseContribution(v, own)
		if err != nil {
			return
		}
		clear(own) // the contribution must not share memory with these bytes
		back, err := state.ParseContribution(v, c.AppendShares(nil))
		if err != nil || !sameContribution(back, c) {
			t.Errorf("%x is read as %+v, and written and read again as %+v (%v)", b, c, back, err)
		}
	})
}
