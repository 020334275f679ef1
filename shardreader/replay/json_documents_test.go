package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// split cuts a document stream into records, its blocks being tiny, so that every
// value is met at the end of the bytes in memory.
func split(text string) (records []string, err error) {
	d := documents{w: &window{r: iotest.OneByteReader(strings.NewReader(text)), blockBytes: 1, maxRecord: maxRecordBytes, line: 1}, nesting: betweenDocuments}
	var broken []error
	for {
		r, err := d.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			for _, f := range d.faults {
				broken = append(broken, f)
			}
			return records, errors.Join(broken...)
		}
		if r.broken != nil {
			broken = append(broken, r.broken)
			continue
		}
		if got := text[r.offset : r.offset+int64(len(r.raw))]; got != string(r.raw) {
			return nil, errors.New("record " + string(r.raw) + " does not stand at its offset, where " + got + " does")
		}
		if want := int64(1 + strings.Count(text[:r.offset], "\n")); want != r.line {
			return nil, errors.New("record " + string(r.raw) + " has the wrong line")
		}
		records = append(records, string(r.raw))
	}
}

func TestDocuments_Split(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		err      string
	}{
		{"nothing", "", nil, ""},
		{"white space", " \n\t\r\n", nil, ""},
		{"a record", `{"a":1}`, []string{`{"a":1}`}, ""},
		{"records on lines", "{\"a\":1}\n{\"a\":2}\r\n", []string{`{"a":1}`, `{"a":2}`}, ""},
		{"records without a line end", `{"a":1}{"a":2}`, []string{`{"a":1}`, `{"a":2}`}, ""},
		{"an array", ` [ {"a":1} , {"a":[{"b":"]"}]} ] `, []string{`{"a":1}`, `{"a":[{"b":"]"}]}`}, ""},
		{"an empty array", `[]`, nil, ""},
		{"an event", `{"Records":[{"a":1},{"a":2}]}`, []string{`{"a":1}`, `{"a":2}`}, ""},
		{"an empty event", `{"Records":[]}`, nil, ""},
		{"an event of white space", "{ \"Records\" : [ {\"a\":1}\n,\n{\"a\":2} ] }", []string{`{"a":1}`, `{"a":2}`}, ""},
		{"get-records output", `{"NextShardIterator":"x","Records":[{"a":1}]}`, []string{`{"a":1}`}, ""},
		{"get-records output the other way", `{"Records":[{"a":1}],"NextShardIterator":"x"}`, []string{`{"a":1}`}, ""},
		{"events behind each other", "{\"Records\":[{\"a\":1}]}\n{\"Records\":[{\"a\":2}]}", []string{`{"a":1}`, `{"a":2}`}, ""},
		{"an array of events", `[{"Records":[{"a":1}],"x":{}},{"Records":[]},{"a":2}]`, []string{`{"a":1}`, `{"a":2}`}, ""},
		{"everything", `[{"a":1}]{"Records":[{"a":2}]}{"a":3}`, []string{`{"a":1}`, `{"a":2}`, `{"a":3}`}, ""},
		{"Records that is no array", `{"Records":"x"}`, []string{`{"Records":"x"}`}, ""},
		{"Records further down", `{"a":{"Records":[1]}}`, []string{`{"a":{"Records":[1]}}`}, ""},
		{"elements that are no objects", `[1,-2.5e+3,"x",null,true,[{}]]`, []string{"1", "-2.5e+3", `"x"`, "null", "true", "[{}]"}, ""},
		{"quotes and escapes", `[{"a\"}":"\\","b":"\u00e9]"}]`, []string{`{"a\"}":"\\","b":"\u00e9]"}`}, ""},

		{"cut in an array", `[{"a":1},{"a":`, []string{`{"a":1}`}, errCut.Error()},
		{"cut behind a comma", `[{"a":1},`, []string{`{"a":1}`}, errCut.Error()},
		{"cut behind the records", `{"Records":[{"a":1}]`, []string{`{"a":1}`}, errCut.Error()},
		{"a comma too many", `[{"a":1},]`, []string{`{"a":1}`}, `a comma too many`},
		{"a comma too few", `[{"a":1}{"a":2}]`, []string{`{"a":1}`, `{"a":2}`}, `a comma, or the end`},
		{"the wrong bracket", `[{"a":[1}]`, nil, `unexpected '}'`},
		{"garbage behind", `{"a":1} x`, []string{`{"a":1}`}, `unexpected 'x'`},
		{"a name without quotes", `{a:1}`, nil, `unexpected 'a'`},
		{"a line end in a string", "{\"a\":\"x\n\"}", nil, `a line ends within a string`},
		{"two members named Records", `{"Records":[1],"Records":[2]}`, []string{"1", "2"}, "two members named Records"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := split(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("error: %v", err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}

// The scanner takes what encoding/json takes, and nothing else.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,{"b":null}],"c":"\u00e9\n"}`, `-0.1E+5`, `01`, `"\x"`, `[tru]`, "\"\x01\"", `{"a":1,}`, `--1`, `"`, `1e`, `{}`, `[[[]]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s scanner
		start := skipSpace(b, 0)
		end, st := s.scanValue(b, start)
		whole := st == complete && skipSpace(b, end) == len(b)
		if whole != json.Valid(b) {
			t.Fatalf("%q: scan says %v at %d, json.Valid %v", b, st, end, json.Valid(b))
		}
		if st != complete {
			return
		}
		// A value is whole no sooner: no part of it is one, but for a number's.
		for cut := start; cut < end; cut++ {
			if _, st := s.scanValue(b[:cut], start); st == invalid || st == complete && b[start] != '-' && (b[start] < '0' || b[start] > '9') {
				t.Fatalf("%q cut to %q: %v", b, b[:cut], st)
			}
		}
	})
}

// Splitting finds the very elements that decoding the whole finds, in every shape.
func TestDocuments_SplitAsDecodedWhole(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) json.RawMessage {
		var b bytes.Buffer
		randomJSON(t, &b, 3)
		return b.Bytes()
	})
	object := rapid.Custom(func(t *rapid.T) json.RawMessage {
		members := rapid.MapOfN(rapid.String().Filter(func(s string) bool { return s != "Records" }), value, 0, 4).Draw(t, "members")
		b, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		var want []json.RawMessage
		for range rapid.IntRange(0, 4).Draw(t, "documents") {
			var doc any
			switch records := rapid.SliceOfN(object, 1, 5).Draw(t, "records"); rapid.IntRange(0, 3).Draw(t, "shape") {
			case 0:
				doc, want = records[0], append(want, records[0])
			case 1:
				doc, want = records, append(want, records...)
			case 2:
				doc, want = map[string]any{"A": 1, "Records": records, "Z": []int{1}}, append(want, records...)
			case 3:
				doc, want = []any{map[string]any{"Records": records}, records[0]}, append(append(want, records...), records[0])
			}
			b, err := json.Marshal(doc)
			if err == nil && rapid.Bool().Draw(t, "pretty") {
				var pretty bytes.Buffer
				err = json.Indent(&pretty, b, "", "  ")
				b = pretty.Bytes()
			}
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
			text.WriteString(rapid.SampledFrom([]string{"", "\n", " \r\n"}).Draw(t, "between"))
		}
		got, err := split(text.String())
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d records and %v of %d in %s", len(got), err, len(want), text.String())
		}
		for i := range got {
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(got[i])); err != nil {
				t.Fatal(err)
			}
			var w bytes.Buffer
			if err := json.Compact(&w, want[i]); err != nil {
				t.Fatal(err)
			}
			if b.String() != w.String() {
				t.Fatalf("record %d is %s, want %s", i, &b, &w)
			}
		}
	})
}

func randomJSON(t *rapid.T, b *bytes.Buffer, depth int) {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 4)
	}
	switch kind {
	case 0:
		b.WriteString("null")
	case 1:
		b.WriteString("true")
	case 2:
		b.WriteString(rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number"))
	case 3, 4:
		s, err := json.Marshal(rapid.String().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(s)
	case 5:
		b.WriteByte('[')
		for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
			if i > 0 {
				b.WriteByte(',')
			}
			randomJSON(t, b, depth-1)
		}
		b.WriteByte(']')
	case 6:
		b.WriteByte('{')
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"m` + string(rune('a'+i)) + `":`)
			randomJSON(t, b, depth-1)
		}
		b.WriteByte('}')
	}
}
