package jsoncursor_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/jsoncursor"
)

func TestMembers(t *testing.T) {
	c := jsoncursor.New([]byte(` {"a": 12, "b\u0063":[ {"x":"q\"]"} , null],"d":{"e":"f"}, "n":-1} `))
	var got []string
	for name := range c.Members() {
		switch jsoncursor.Unquote(name) {
		case "a", "n":
			got = append(got, string(name), strings.Repeat("i", c.Integer()))
		case "bc":
			for range c.Elements() {
				for name := range c.Members() {
					got = append(got, string(name), jsoncursor.Unquote(c.Text()))
				}
			}
		}
	}
	if want := []string{"a", "iiiiiiiiiiii", "x", `q"]`, "n", ""}; !slices.Equal(got, want) || c.Failed() || c.Peek() != 0 {
		t.Errorf("read %q (failed: %t), want %q", got, c.Failed(), want)
	}
}

// A value that is not an object has no members and is skipped. A value that is not an array has no elements and is
// skipped too.
func TestMembers_OfSomethingElse(t *testing.T) {
	c := jsoncursor.New([]byte(`[{"a":1},[2],"x" 3`))
	n := 0
	for range c.Elements() {
		for range c.Members() {
			n++
		}
	}
	if n != 1 || !c.Failed() {
		t.Errorf("%d members, failed: %t", n, c.Failed())
	}
	c = jsoncursor.New([]byte(`{"a":1}2`))
	for range c.Elements() {
		t.Error("an object has an element")
	}
	if c.Failed() || c.Integer() != 2 {
		t.Error("what follows an object is not 2")
	}
}

func TestMeans(t *testing.T) {
	for _, tt := range []struct {
		text, s string
		want    bool
	}{
		{"abc", "abc", true},
		{"abc", "abd", false},
		{`\u0061bc`, "abc", true},
		{`\u00zz`, "", true},
		{`\`, "x", false},
	} {
		if got := jsoncursor.Means([]byte(tt.text), tt.s); got != tt.want {
			t.Errorf("%s means %q: %t", tt.text, tt.s, got)
		}
	}
}

// The cursor steps over all JSON that encoding/json accepts. It ends at any other input, and never reads beyond the
// input.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{`{}`, `{"items":[]}`, `{"error":"x"}`, `{"docs":[{"_source":{"_tw":{"version":"1"}}},{"found":false}]}`, `[1,-2.5e3,true,null,"\\"]`, `"`, `"\`, `{"a":}`, `,`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := jsoncursor.New(b)
		whole := c.Value()
		valid := json.Valid(b)
		if valid && (c.Failed() || !bytes.Equal(whole, bytes.TrimSpace(b))) {
			t.Errorf("%q is JSON, of which %q was read (failed: %t)", b, whole, c.Failed())
		}
		walk := jsoncursor.New(b)
		var members map[string]json.RawMessage
		object := utf8.Valid(b) && json.Unmarshal(b, &members) == nil && members != nil
		for name := range walk.Members() {
			at := jsoncursor.Unquote(name)
			if value := walk.Value(); object && members[at] == nil {
				t.Errorf("%q has no member %q with %q", b, at, value)
			}
		}
		elements := jsoncursor.New(b)
		for range elements.Elements() {
			elements.Value()
		}
		if valid && (walk.Failed() || elements.Failed()) {
			t.Errorf("%q is JSON, and walking over it fails", b)
		}
	})
}
