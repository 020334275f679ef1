package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// orderScope returns the scope of an entity whose key binds UserId and Number, without declared types.
func orderScope(t testing.TB) *entity.Scope {
	t.Helper()
	e := &entity.Entity{Name: "Order"}
	for i, src := range []string{"USER#{UserId}", "{Number}"} {
		p, err := entity.ParsePattern(src)
		if err != nil {
			t.Fatal(err)
		}
		e.Key = append(e.Key, entity.KeyPattern{Attribute: []string{"PK", "SK"}[i], Pattern: p})
	}
	return entity.NewSet(e).Scope("Order")
}

func TestBoundNames(t *testing.T) {
	env := Env{Scope: orderScope(t)}
	order, err := item.Parse([]byte(`{"PK":{"S":"USER#42"},"SK":{"N":"7"},"UserId":{"S":"attribute"},"Lines":{"L":[{"M":{"sku":{"S":"42"}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		src  string
		want bool
	}{
		{`UserId == "42"`, true},
		{`UserId == "43"`, false},
		{`UserId in ["41", "42"]`, true},
		{`UserId.startsWith("4")`, true},
		{`Number == 7 && item.UserId == "attribute"`, true},
		{`Number > 7`, false},
		{`UserId != null`, true},
		{`UserId + "!" == "42!"`, true}, // has no direct form
		{`item.Lines.exists(l, l.sku == UserId)`, true},
		{`UserId == item.Lines[0].sku`, true},
		{`size(UserId) == 2`, true},
	} {
		x, err := env.CompileItem(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if got, err := x.Match(order); got != tt.want || err != nil {
			t.Errorf("%s is %v, %v", tt.src, got, err)
		}
		change, err := env.CompileChange(strings.ReplaceAll(tt.src, "item.", "new."))
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if got, err := change.Match(&record.Change{Keys: order, New: order}); got != tt.want || err != nil {
			t.Errorf("%s of a change is %v, %v", tt.src, got, err)
		}
	}
	x, err := env.CompileChange(`UserId == "42"`)
	if err != nil || !x.KeysOnly() || x.direct == nil {
		t.Errorf("a bound name reads the key alone, directly: %v", err)
	}
	for _, tt := range []struct{ src, hint string }{
		{`UserIt == "42"`, "did you mean UserId?"},
		{`UserId > 5`, ""},
		{`item.Lines.exists(UserId, UserId.sku == "1")`, "another name"},
	} {
		if _, err := env.CompileItem(tt.src); err == nil || !strings.Contains(err.Error(), tt.hint) {
			t.Errorf("%s: %v; want the hint %q", tt.src, err, tt.hint)
		}
	}
}

func TestReadPaths(t *testing.T) {
	x, err := Env{}.CompileItem(`item.A.B[0]["c-d"] == 1 && has(item.E.F) && item.Lines.exists(l, l.sku == item["G"])`)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, p := range x.ReadPaths() {
		text := ""
		for _, s := range p.Segments {
			text += fmt.Sprintf("/%s%d", s.Name, s.Index)
		}
		paths = append(paths, text)
	}
	slices.Sort(paths)
	want := []string{"/A-1", "/A-1/B-1", "/A-1/B-1/0", "/A-1/B-1/0/c-d-1", "/E-1", "/E-1/F-1", "/G-1", "/Lines-1"}
	if !slices.Equal(slices.Compact(paths), want) {
		t.Errorf("reads %q, want %q", paths, want)
	}
}

func TestDeclareHint(t *testing.T) {
	env := Env{Attributes: map[string]item.Kind{"Status": item.KindS}, DeclareHint: func(name string) string { return "declare " + name }}
	for src, want := range map[string]string{`item.Statu == "x"`: "did you mean Status? Or declare Statu", `item.Other == "x"`: "declare Other"} {
		if _, err := env.CompileItem(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", src, err, want)
		}
	}
}
