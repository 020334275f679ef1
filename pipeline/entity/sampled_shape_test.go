package entity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

func TestSampled(t *testing.T) {
	for want, items := range map[string]string{
		`{"a": N, "b": S}`:   `{"b":{"S":"x"}} {"a":{"N":"1"}}`,
		`{"a": N}`:           `{"a":{"NULL":true}} {"a":{"N":"1"}}`,
		`{"a": NULL}`:        `{"a":{"NULL":true}}`,
		`{"a": {"b": BOOL}}`: `{"a":{"M":{"b":{"BOOL":true}}}} {"a":{"M":{}}}`,
		`{"a": [{"b": N}]}`:  `{"a":{"L":[{"M":{"b":{"N":"1"}}}]}} {"a":{"L":[]}}`,
		`{"a": L}`:           `{"a":{"L":[{"N":"1"},{"S":"x"}]}}`,
	} {
		var s Sampled
		n := 0
		for src := range strings.FieldsSeq(items) {
			s.Add(image(t, src).Value())
			n++
		}
		if got := s.Shape().String(); got != want || s.Count() != n {
			t.Errorf("%s: %s of %d items, want %s of %d", items, got, s.Count(), want, n)
		}
	}
	var s Sampled
	s.Add(item.StringValue("x"))
	s.Add(image(t, `{"a":{"N":"1"}}`).Value())
	if shape := s.Shape(); shape.Kind != item.Absent || shape.Members != nil {
		t.Errorf("values of several kinds: %+v", shape)
	}
}

// A map with more names than maxDeclared has data as names, so the shape declares none of them.
func TestSampled_ManyNames(t *testing.T) {
	for _, n := range []int{maxDeclared, maxDeclared + 1} {
		var s Sampled
		for i := range n {
			s.Add(image(t, fmt.Sprintf(`{"a%d":{"N":"1"}}`, i)).Value())
		}
		if shape := s.Shape(); (len(shape.Members) == n) != (n <= maxDeclared) {
			t.Errorf("of %d names the shape declares %d", n, len(shape.Members))
		}
	}
}
