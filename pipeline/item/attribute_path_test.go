package item_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

const address = `{"Status":{"S":"paid"},"Address":{"M":{"City":{"S":"Zug"},"Lines":{"L":[{"M":{"sku":{"S":"a"}}},{"S":"b"}]}}},` +
	`"first-name":{"S":"Ada"},"Tags":{"SS":["x","y"]},"a.b":{"S":"dot"},"\"":{"S":"quote"},"é":{"S":"accent"},"gone":{"NULL":true}}`

func TestLookup(t *testing.T) {
	m := pipelineImage(t, address)
	plain := pipelineImage(t, strings.Replace(address, `"\""`, `"quote"`, 1))
	for path, want := range map[string]string{
		`Status`:                 `{"S":"paid"}`,
		`Address.City`:           `{"S":"Zug"}`,
		`Address["City"]`:        `{"S":"Zug"}`,
		`Address.Lines[0].sku`:   `{"S":"a"}`,
		`Address.Lines[1]`:       `{"S":"b"}`,
		`["first-name"]`:         `{"S":"Ada"}`,
		`Tags[1]`:                `{"S":"y"}`,
		`["a.b"]`:                `{"S":"dot"}`,
		`["\""]`:                 `{"S":"quote"}`,
		`["é"]`:                  `{"S":"accent"}`,
		`gone`:                   `{"NULL":true}`,
		`status`:                 `absent`,
		`Address.Lines[2]`:       `absent`,
		`Address.Lines.sku`:      `absent`,
		`Address[0]`:             `absent`,
		`Status.x`:               `absent`,
		`Address.Lines[0].sku.x`: `absent`,
	} {
		v, ok := m.Lookup(path)
		if v.String() != want || ok != (want != "absent") {
			t.Errorf("%s: got %v %v, want %s", path, v, ok, want)
		}
		p, err := item.ParsePath(path)
		if at, found := m.At(p); err != nil || found != ok || !at.Equal(v) || p.String() != path {
			t.Errorf("%s: At says %v %v, %v", path, at, found, err)
		}
		if n := testing.AllocsPerRun(10, func() { plain.Lookup(path); plain.At(p) }); n > 0 && path != `["\""]` {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
	if _, ok := m.At(item.Path{}); ok {
		t.Error("the zero path leads somewhere")
	}
}

func TestUnsoundPaths(t *testing.T) {
	for path, column := range map[string]int{
		``: 1, `.a`: 1, `a.`: 2, `a..b`: 2, `a b`: 2, `a[`: 2, `a[x]`: 2, `a[-1]`: 2, `a[1`: 2, `a[1]b`: 5, `a[""]`: 2, `a["b]`: 2, `a["b"`: 2,
		`[0]`: 1, `1a`: 1, `a-b`: 2, `é`: 1, `a[*]`: 2, `a.*`: 2, `a[9999999999]`: 2,
	} {
		_, err := item.ParsePath(path)
		bad, ok := errors.AsType[*item.PathError](err)
		if !ok || bad.Column != column || bad.Path != path {
			t.Errorf("%q: got %v, want column %d", path, err, column)
		}
		if v, ok := pipelineImage(t, address).Lookup(path); ok {
			t.Errorf("%q leads to %v", path, v)
		}
	}
}

func TestPathSegments(t *testing.T) {
	p, err := item.ParsePath(`Address.Lines[3]["a b"]`)
	if err != nil || p.Root() != "Address" || p.IsZero() {
		t.Fatalf("%v %v", p, err)
	}
	got := ""
	for _, s := range p.Segments() {
		got += fmt.Sprintf("%q %d;", s.Name, s.Index)
	}
	if want := `"Address" -1;"Lines" -1;"" 3;"a b" -1;`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
