package pipelinetest

import (
	"encoding/json"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// CheckImage fails the test if the getters of an image contradict each other, or if the image cannot be encoded and
// parsed again.
func CheckImage(t *testing.T, m item.Image) {
	t.Helper()
	again, err := item.Parse(m.AppendDynamoDBJSON(nil))
	if err != nil || !again.Equal(m) || !m.Equal(again) {
		t.Fatalf("%s does not read back: %v", m.AppendDynamoDBJSON(nil), err)
	}
	if plain := m.AppendJSON(nil); !json.Valid(plain) {
		t.Fatalf("not JSON: %s", plain)
	}
	n := 0
	for name, v := range m.All() {
		if got, ok := m.Get(name); !ok || !got.Equal(v) || !v.Exists() || !v.Clone().Equal(v) {
			t.Fatalf("attribute %q is not found, or not equal to itself", name)
		}
		walk(v)
		n++
	}
	if m.Len() != n {
		t.Fatalf("Len %d of %d attributes", m.Len(), n)
	}
}

// walk calls every getter of v and of the values inside it.
func walk(v item.Value) {
	v.Text()
	v.Number()
	v.Bytes()
	v.Bool()
	v.Len()
	for name, m := range v.Members() {
		v.Get(name)
		walk(m)
	}
	for i, e := range v.Elements() {
		v.Index(i)
		walk(e)
	}
}
