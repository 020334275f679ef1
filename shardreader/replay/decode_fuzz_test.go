package replay

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Splitting a document and decoding its records gives the same as decoding it whole. For a broken document it gives at
// least the records before the break.
func FuzzSplitAsDecodedWhole(f *testing.F) {
	rs := recordsJSON(0, 3)
	wrong := slices.Insert(slices.Clone(rs), 1, `{"eventID":"x"}`, `7`, `{"eventID":"`+"\xff"+`"}`)
	for _, s := range []string{
		rs[0], array(rs), event(rs), array(wrong), event(wrong), pretty(f, event(rs)),
		strings.Replace(event(rs), `]}`, `],"NextShardIterator":null}`, 1), array(rs)[:900], event(rs) + "x", `{"Records":[],"Records":[]}`,
		strings.Replace(array(rs), `"S":"item`, `"M":{}},"x":{"S":"item`, 1), `{"\u0052ecords":[` + rs[0] + `]}`, `0"0`,
	} {
		f.Add([]byte(s), 100)
	}
	f.Fuzz(func(t *testing.T, b []byte, blockBytes int) {
		options := record.DecoderOptions{StreamARN: arn}
		whole, framing := record.NewDecoder(options).Decode(bytes.Clone(b))
		g := readAll(t, open(t, Options{Paths: []string{"-"}, Stdin: bytes.NewReader(b), BlockBytes: 1 + blockBytes&0xfff, Decoder: options}))
		if errors.Is(g.err, errForeign) || nestsEvents(b) {
			return // replay refuses what holds no records, and reads events in arrays
		}
		want := make([]string, len(whole.Changes)+len(whole.Errors))
		for _, c := range whole.Changes {
			want[c.Index] = c.Sequence
		}
		for _, e := range whole.Errors {
			want[e.Index] = "!"
		}
		got := g.sequences
		if framing == nil && g.err != nil {
			t.Fatalf("%q: decoded whole it is sound, replay says %v", b, g.err)
		}
		if framing != nil {
			// A document that breaks is decoded on as lines, or by a scanner that is less strict.
			got = got[:min(len(got), len(want))]
			// Broken text that the end of the input cuts off is an error of the input, and not of a record.
			for isBroken := g.err != nil; isBroken && len(want) > len(got) && want[len(want)-1] == "!"; {
				want = want[:len(want)-1]
			}
		}
		if diff := cmp.Diff(want, append([]string{}, got...)); diff != "" {
			t.Fatalf("%q (-decoded whole +replayed):\n%s", b, diff)
		}
	})
}

// nestsEvents reports whether an event may be where decoding whole expects a record, or a name beside its records is
// not UTF-8, which decoding whole refuses.
func nestsEvents(b []byte) bool {
	return !utf8.Valid(b) && bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) || bytes.Count(b, []byte("ecords")) > 1 || bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) && bytes.Contains(b, []byte("ecords"))
}
