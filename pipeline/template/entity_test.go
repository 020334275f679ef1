package template

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// orders returns the entities Order, with a key of two attributes, and Refund, with a condition.
func orders(t testing.TB) *entity.Set {
	t.Helper()
	key := func(pk, sk string) (ks []entity.KeyPattern) {
		for i, src := range []string{pk, sk} {
			p, err := entity.ParsePattern(src)
			if err != nil {
				t.Fatal(err)
			}
			ks = append(ks, entity.KeyPattern{Attribute: []string{"PK", "SK"}[i], Pattern: p})
		}
		return ks
	}
	return entity.NewSet(
		&entity.Entity{Name: "Order", Key: key("USER#{UserId}", "ORDER#{Date}#{OrderId}")},
		&entity.Entity{Name: "Refund", Key: key("USER#{UserId}", "{Any}"), When: isRefund{}},
	)
}

type isRefund struct{}

func (isRefund) Match(m item.Image) (bool, error) {
	v, ok := m.Get("Refund")
	if v.Kind() == item.KindN {
		return false, errors.New("a number")
	}
	return ok, nil
}

func (isRefund) Paths() []string { return []string{"Refund", "first-name"} }

func TestBoundNames(t *testing.T) {
	es := orders(t)
	order, err := item.Parse([]byte(`{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#2026-01-02#7"},"Total":{"N":"12.5"},"Date":{"S":"attribute"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		template, want string
		names          string // BoundNames
	}{
		{"{OrderId}", "7", "OrderId"},
		{"ORDER#{Date}#{OrderId}", "ORDER#2026-01-02#7", "Date OrderId"},
		{"{Date|date:02.01.2006}/{UserId|pad:4}", "02.01.2026/0001", ""},
		{"{Total|sortable}#{OrderId}", "2502125-#7", "OrderId"},
		{"{item.Total}#{OrderId}", "12.5#7", ""},
		{"{item.Date}", "attribute", ""},
		{`{item["Date"]}`, "attribute", ""},
		{`{item["Date"]|esc}#{OrderId|esc}`, "attribute#7", "OrderId"},
		{"{OrderId|hash}", "", ""},
		{"{OrderId|sortable}", "25017-", ""}, // the same as for 07 and 7.0
		{"{@entity}#{OrderId}", "Order#7", "OrderId"},
	} {
		tpl, err := Parse(tt.template, Options{Entities: es, Scope: es.Scope("Order")})
		if err != nil {
			t.Errorf("%s: %v", tt.template, err)
			continue
		}
		got, missing, err := tpl.AppendText(nil, Scope{Item: order})
		if tt.want != "" && string(got) != tt.want || missing != "" || err != nil {
			t.Errorf("%s: %q, %q, %v; want %q", tt.template, got, missing, err, tt.want)
		}
		if names := strings.Join(tpl.BoundNames(), " "); names != tt.names {
			t.Errorf("%s: BoundNames = %q, want %q", tt.template, names, tt.names)
		}
		if !tpl.Stable() || tpl.OfTable() {
			t.Errorf("%s is a function of the item", tt.template)
		}
	}
	whole, err := Parse("{OrderId}", Options{Scope: es.Scope("Order")})
	if err != nil || whole.Bound().Name() != "OrderId" || len(whole.Paths()) > 0 || !slices.Equal(whole.KeyPaths(), []string{"SK"}) {
		t.Errorf("{OrderId} reads %q of the key", whole.KeyPaths())
	}
	if v, _, err := whole.Value(Scope{Item: order}); err != nil || v.String() != `{"S":"7"}` {
		t.Errorf("{OrderId} is %v, %v", v, err)
	}
	if _, ok := whole.Path(); ok {
		t.Error("a bound name is no path")
	}
	if n := testing.AllocsPerRun(100, func() {
		var buf [64]byte
		_, _, _ = whole.AppendText(buf[:0], Scope{Item: order})
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The name of an entity can reveal a hidden attribute, because the condition of the entity may read that attribute.
func TestEntityName_Masked(t *testing.T) {
	es := orders(t)
	tpl, err := Parse("{@entity}/{item.Total}", Options{Entities: es, Scope: es.Scope("Order")})
	if err != nil {
		t.Fatal(err)
	}
	m, err := item.Parse([]byte(`{"PK":{"S":"USER#1"},"SK":{"S":"x"},"Refund":{"BOOL":true},"Total":{"N":"7"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		hidden string
		masked bool
	}{{"Refund", true}, {`["first-name"]`, true}, {"Email", false}} {
		got, _, err := tpl.AppendText(nil, Scope{Item: m, Mask: maskOf(t, tt.hidden)})
		if err != nil || bytes.Contains(got, []byte("Refund")) == tt.masked || !bytes.HasSuffix(got, []byte("/7")) {
			t.Errorf("%s is hidden: %q, %v", tt.hidden, got, err)
		}
	}
}

func TestEntityName(t *testing.T) {
	es := orders(t)
	tpl, err := Parse("{@entity}", Options{Entities: es})
	if err != nil {
		t.Fatal(err)
	}
	if !tpl.ReadsEntity() || !slices.Equal(tpl.Paths(), []string{"Refund", `["first-name"]`}) {
		t.Errorf("@entity reads %q", tpl.Paths())
	}
	other, err := Parse("{@key}/{@table}/{@op}", Options{Entities: es})
	if err != nil || len(other.Paths()) > 0 {
		t.Errorf("a template without @entity reads %q, %v", other.Paths(), err)
	}
	for _, tt := range []struct{ item, want, object string }{
		{`{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#d#7"}}`, "Order", "Order"},
		{`{"PK":{"S":"USER#1"},"SK":{"S":"x"},"Refund":{"BOOL":true}}`, "Refund", "Refund"},
		{`{"PK":{"S":"USER#1"},"SK":{"S":"x"}}`, "", "_none"},
	} {
		m, err := item.Parse([]byte(tt.item))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := tpl.AppendText(nil, Scope{Item: m})
		object, objectErr := tpl.AppendObjectKey(nil, Scope{Item: m})
		if err != nil || objectErr != nil || string(got) != tt.want || string(object) != tt.object {
			t.Errorf("%s: %q and %q, %v; want %q and %q", tt.item, got, object, err, tt.want, tt.object)
		}
	}
	bad, err := item.Parse([]byte(`{"PK":{"S":"USER#1"},"SK":{"S":"x"},"Refund":{"N":"1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := tpl.AppendText(nil, Scope{Item: bad}); err == nil {
		t.Error("the error of the condition is lost")
	}
	if _, err := Parse("{@entity}", Options{}); err == nil || !strings.Contains(err.Error(), "add entities") {
		t.Errorf("@entity without entities: %v", err)
	}
}

func TestBoundNamesAreMasked(t *testing.T) {
	hidden, err := item.ParsePattern("SK")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mask.New([]item.Pattern{hidden}, []byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := item.Parse([]byte(`{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#d#7"}}`))
	if err != nil {
		t.Fatal(err)
	}
	es := orders(t)
	for _, src := range []string{"{UserId}#{OrderId}", "{UserId}#{OrderId|pad:4}"} {
		tpl, err := Parse(src, Options{Scope: es.Scope("Order")})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := tpl.AppendText(nil, Scope{Item: keys, Mask: m, Change: &record.Change{Keys: keys}})
		if err != nil || !strings.HasPrefix(string(got), "1#masked-") {
			t.Errorf("%s is shown as %q, %v", src, got, err)
		}
	}
	tpl, err := Parse("{OrderId}", Options{Scope: es.Scope("Order")})
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := tpl.Value(Scope{Item: keys, Mask: m}); err != nil || !strings.Contains(v.String(), "masked-") {
		t.Errorf("{OrderId} is shown as %v, %v", v, err)
	}
}
