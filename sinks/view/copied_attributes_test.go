package view

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/template"
)

func TestCopyAll(t *testing.T) {
	hidden := func(sources ...string) *mask.Mask {
		var ps []item.Pattern
		for _, src := range sources {
			p, err := item.ParsePattern(src)
			if err != nil {
				t.Fatal(err)
			}
			ps = append(ps, p)
		}
		m, err := mask.New(ps, []byte("0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	key, err := template.Parse("{@key}", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	image, err := item.Parse([]byte(`{"PK":{"S":"1"},"id":{"S":"2"},"Total":{"N":"12.50"},"Gone":{"NULL":true},"Empty":{"S":""},"Lines":{"L":[{"M":{"sku":{"S":"a"}}}]},` +
		`"_tw":{"S":"x"},"_twx":{"S":"x"},"aws:rep:deleting":{"BOOL":true},"Email":{"S":"a@b"},"expiresAt":{"N":"1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mask *mask.Mask
		want string
	}{
		{nil, "id Total Gone Empty Lines Email expiresAt"},
		{hidden("Email", "Lines[*].sku"), "id Total Gone Empty expiresAt"},
		{hidden("**"), ""},
	} {
		s, err := New(Options{Name: "v", Pipeline: "p", Table: "t", PK: Attribute{"PK", key}, All: &CopyAll{Hidden: tt.mask}})
		if err != nil {
			t.Fatal(err)
		}
		if needs := s.Requires(); !needs.New {
			t.Error("the item is not needed")
		}
		columns, err := s.columns(nil, &template.Scope{Item: image})
		var names []string
		for _, c := range columns {
			names = append(names, c.Name)
			if v, _ := image.Get(c.Name); !v.Equal(c.Value) {
				t.Errorf("%s is copied as %v", c.Name, c.Value)
			}
		}
		if got := strings.Join(names, " "); got != tt.want || err != nil {
			t.Errorf("copies %q, %v; want %q", got, err, tt.want)
		}
	}
	_, err = New(Options{Name: "v", Pipeline: "p", Table: "t", PK: Attribute{"PK", key}, All: &CopyAll{}, Attributes: []Attribute{{"a", key}}})
	if err == nil || !strings.Contains(err.Error(), "Attributes must be empty") {
		t.Errorf("All and Attributes: %v", err)
	}
}
