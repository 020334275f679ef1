package pipeline_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline"
)

// TestDecodeTextsApart: a short text of a large item does not keep the others in memory.
func TestDecodeTextsApart(t *testing.T) {
	m, err := pipeline.ParseImage([]byte(`{"Tags":{"L":[{"S":"first"}` + strings.Repeat(`,{"S":"0123456789abcdefg"}`, 5000) + `,{"S":"last"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := pipeline.Decode[struct{ Tags []string }](m)
	if err != nil || len(got.Tags) != 5002 || got.Tags[0] != "first" || got.Tags[5001] != "last" {
		t.Fatalf("%d texts: %v", len(got.Tags), err)
	}
	pieces := 1
	for i, tag := range got.Tags[1:] {
		if i < 5000 && tag != "0123456789abcdefg" {
			t.Fatalf("text %d is %q", i+1, tag)
		}
		before := got.Tags[i]
		if unsafe.Add(unsafe.Pointer(unsafe.StringData(before)), len(before)) != unsafe.Pointer(unsafe.StringData(tag)) {
			pieces++
		}
	}
	if pieces < 5000*17/2048 {
		t.Errorf("85 KB of short texts in %d pieces, want about one a kilobyte", pieces)
	}
}
