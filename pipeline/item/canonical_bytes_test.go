package item_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Values have the same canonical bytes if and only if they are equal. AppendCanonical keeps the bytes before them.
func TestAppendCanonical(t *testing.T) {
	var up, down []string
	for i := range 40 { // more elements than a fixed buffer holds
		up, down = append(up, fmt.Sprintf("%q", fmt.Sprint("e", i))), append([]string{fmt.Sprintf("%q", fmt.Sprint("e", i))}, down...)
	}
	groups := [][]string{ // the values of one group are equal
		{`{"S":"a"}`, `{"S":"\u0061"}`}, {`{"S":""}`}, {`{"S":"1"}`}, {`{"B":"AQ=="}`}, {`{"BOOL":true}`}, {`{"BOOL":false}`}, {`{"NULL":true}`},
		{`{"N":"1"}`, `{"N":"1.0"}`, `{"N":"10e-1"}`}, {`{"N":"-1"}`}, {`{"N":"0"}`, `{"N":"0.00"}`},
		{`{"SS":["b","a"]}`, `{"SS":["a","b"]}`, `{"SS":["b","\u0061"]}`}, {`{"SS":["ab"]}`}, {`{"SS":["a"]}`}, {`{"L":[{"S":"a"},{"S":"b"}]}`}, {`{"L":[{"S":"b"},{"S":"a"}]}`},
		{`{"NS":["2","1"]}`, `{"NS":["1.0","20e-1"]}`}, {`{"NS":["2","10"]}`, `{"NS":["10","2"]}`}, {`{"BS":["AQ==","Ag=="]}`, `{"BS":["Ag==","AQ=="]}`},
		{`{"SS":[` + strings.Join(up, ",") + `]}`, `{"SS":[` + strings.Join(down, ",") + `]}`}, {`{"SS":[` + strings.Join(up[1:], ",") + `]}`},
		{`{"M":{"a":{"N":"1"},"b":{"SS":["y","x"]}}}`, `{"M":{"b":{"SS":["x","y"]},"a":{"N":"1.0"}}}`}, {`{"M":{"a":{"N":"1"}}}`}, {`{"M":{}}`}, {`{"L":[]}`},
	}
	seen := make(map[string]string)
	for _, group := range groups {
		var first []byte
		for i, text := range group {
			image, err := item.Parse([]byte(`{"v":` + text + `}`))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			v, _ := image.Get("v")
			b := v.AppendCanonical(nil)
			if i == 0 {
				if other, ok := seen[string(b)]; ok {
					t.Errorf("%s has the bytes of %s", text, other)
				}
				first, seen[string(b)] = b, text
			}
			if !bytes.Equal(b, first) {
				t.Errorf("%s has %q, and %s has %q", text, b, group[0], first)
			}
			if got := v.AppendCanonical([]byte("before")); string(got) != "before"+string(b) {
				t.Errorf("%s behind others: %q, want %q", text, got, b)
			}
		}
	}
}
