package template

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// {@each} is the escaped identity of an element.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		src, id, want string
		cut           bool
	}{
		{"{@each}", "a#b", "a%23b", true},
		{"{@key}#{@each}", "7", "k#7", true},
		{"{@each}#{Name}", "7", "7#n", true},
		{"{Name}{@each}", "7", "n7", false},
		{"{@each|hash}", "7", "7902699be42c8a8e46fbbb4501726517", false},
		{"LINE#{@each|pad:3}", "7", "LINE#007", false},
		{"{@each}", "", "", true},
	} {
		tm, err := Parse(tt.src, Options{Identity: true})
		if err != nil {
			t.Fatal(err)
		}
		image, err := item.Parse([]byte(`{"Name":{"S":"n"}}`))
		if err != nil {
			t.Fatal(err)
		}
		got, missing, err := tm.AppendText(nil, Scope{Change: &record.Change{Key: "k"}, Item: image, ID: tt.id})
		if string(got) != tt.want || err != nil || tt.id == "" && missing != "@each" {
			t.Errorf("%s of %q: %q, missing %q, %v", tt.src, tt.id, got, missing, err)
		}
		if tm.HasIdentity() != tt.cut || !tm.ReadsIdentity() || !tm.Stable() {
			t.Errorf("%s: HasIdentity is %v", tt.src, tm.HasIdentity())
		}
	}
	if _, err := Parse("{@each}", Options{}); err == nil || !strings.Contains(err.Error(), "there is none here") {
		t.Errorf("without for_each: %v", err)
	}
}

// A mask hides an identity that comes from a hidden value.
func TestIdentity_Masked(t *testing.T) {
	p, err := item.ParsePattern("Lines[*].sku")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mask.New([]item.Pattern{p}, []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	tm, err := Parse("L#{@each}", Options{Identity: true})
	if err != nil {
		t.Fatal(err)
	}
	for of, hidden := range map[string]bool{"Lines[*].sku": true, "Lines[*].qty": false, "": false} {
		got, _, err := tm.AppendText(nil, Scope{ID: "shoe", IDOf: of, Mask: m})
		if err != nil || strings.Contains(string(got), "shoe") == hidden {
			t.Errorf("the identity by %q is shown as %q, %v", of, got, err)
		}
	}
}
