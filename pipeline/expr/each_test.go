package expr

import (
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// With for_each, an expression over an item can also read the element.
func TestEach(t *testing.T) {
	it, err := item.Parse([]byte(`{"Status":{"S":"paid"},"Lines":{"L":[{"M":{"sku":{"S":"a"},"qty":{"N":"2"},"tags":{"SS":["x"]}}},{"S":"b"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	line, _ := it.Lookup("Lines[0]")
	text, _ := it.Lookup("Lines[1]")
	for _, tt := range []struct {
		src         string
		line, text  bool
		reads, none bool // whether the expression reads each; its result without an element
	}{
		{`each.qty > 1`, true, false, true, false},
		{`each.sku == "a" && item.Status == "paid"`, true, false, true, false},
		{`each == "b"`, false, true, true, false},
		{`each == null`, false, false, true, true},
		{`"x" in each.tags`, true, false, true, false},
		{`each.sku + "!" == "a!"`, true, false, true, false},
		{`each["sku"] == "a"`, true, false, true, false},
		{`item.Lines.exists(l, l.sku == each.sku)`, true, false, true, false},
		{`item.Status == "paid"`, true, true, false, true},
	} {
		x, err := Env{Each: true}.CompileItem(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if x.ReadsElement() != tt.reads {
			t.Errorf("%s: ReadsElement is %v", tt.src, x.ReadsElement())
		}
		if got, err := x.MatchElement(it, line); got != tt.line || err != nil {
			t.Errorf("%s of a line is %v, %v", tt.src, got, err)
		}
		if got, err := x.MatchElement(it, text); got != tt.text && err == nil {
			t.Errorf("%s of a text is %v, %v", tt.src, got, err)
		}
		if got, _ := x.Match(it); got != tt.none && !strings.Contains(tt.src, "+") && !strings.Contains(tt.src, "exists") {
			t.Errorf("%s without an element is %v", tt.src, got)
		}
	}
	if _, err := (Env{}).CompileItem(`each.qty > 1`); err == nil {
		t.Error("each is a name without for_each")
	}
}

// ReadPaths separates the paths inside an element from those of the item.
func TestEach_ReadPaths(t *testing.T) {
	x, err := Env{Each: true}.CompileItem(`each.size.w > 1 && item.Status == "paid"`)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, p := range x.ReadPaths() {
		text := "item"
		if p.Each {
			text = "each"
		}
		for _, s := range p.Segments {
			text += "." + s.Name
		}
		paths = append(paths, text)
	}
	slices.Sort(paths)
	if got := strings.Join(paths, " "); !strings.Contains(got, "each.size.w") || !strings.Contains(got, "item.Status") {
		t.Errorf("paths are %s", got)
	}
	if slices.Contains(x.Paths(), "size") {
		t.Errorf("attributes are %q", x.Paths())
	}
}
