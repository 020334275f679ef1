package rules_test

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

type typeIs string

func (w typeIs) Match(m item.Image) (bool, error) {
	v, ok := m.Get("Type")
	if !ok {
		return false, errors.New("no Type")
	}
	text, _ := v.Text()
	return text == string(w), nil
}

func (typeIs) Paths() []string { return []string{"Type"} }

func parseImage(t *testing.T, src string) item.Image {
	t.Helper()
	m, err := item.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func scope(t *testing.T, when entity.Condition) *entity.Scope {
	t.Helper()
	p, err := entity.ParsePattern("ORDER#{Id}")
	if err != nil {
		t.Fatal(err)
	}
	return entity.NewSet(&entity.Entity{Name: "Order", Key: []entity.KeyPattern{{Attribute: "PK", Pattern: p}}, When: when}).Scope("Order")
}

func TestOfEntities(t *testing.T) {
	order := parseImage(t, `{"PK":{"S":"ORDER#1"}}`)
	byKey := rules.OfEntities(scope(t, nil))
	if !rules.ReadsKeysOnly(byKey) || !rules.ReadsKeysOnly(rules.Keep("of", byKey)) {
		t.Error("the key decides")
	}
	for _, tt := range []struct {
		keys string
		want bool
	}{{`{"PK":{"S":"ORDER#1"}}`, true}, {`{"PK":{"S":"USER#1"}}`, false}} {
		if got, err := byKey.Match(&record.Change{Keys: parseImage(t, tt.keys)}); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v", tt.keys, got, err)
		}
	}

	typed := scope(t, typeIs("Order"))
	c := rules.OfEntities(typed)
	if needs := c.(pipeline.Requirer).Requires(); rules.ReadsKeysOnly(c) || !needs.Old || !needs.New {
		t.Error("a condition reads the images")
	}
	is, other := parseImage(t, `{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"}}`), parseImage(t, `{"PK":{"S":"ORDER#1"},"Type":{"S":"Draft"}}`)
	for _, tt := range []struct {
		change record.Change
		want   bool
	}{
		{record.Change{Keys: order, New: is}, true},
		{record.Change{Keys: order, Old: is, New: other}, false}, // the new image decides
		{record.Change{Keys: order, Old: is}, true},
	} {
		if got, err := c.Match(&tt.change); got != tt.want || err != nil {
			t.Errorf("%+v: %v, %v", tt.change, got, err)
		}
	}
	if _, err := c.Match(&record.Change{Keys: order}); err == nil {
		t.Error("the error is lost")
	}
	if got, err := rules.OfKeys(typed).Match(&record.Change{Keys: order}); !got || err != nil {
		t.Errorf("the key alone: %v, %v", got, err)
	}
	for _, tt := range []struct {
		c     pipeline.Condition
		fails bool
	}{{byKey, false}, {c, true}, {rules.OfKeys(typed), false}} {
		if k := rules.ClauseOf(tt.c); k.Kind != rules.KeyOf || k.CanFail != tt.fails || k.Scope == nil {
			t.Errorf("%T: %+v", tt.c, k)
		}
	}
}

func TestItemOf(t *testing.T) {
	paid := item.Image{}
	when := itemCondition(func(m item.Image) (bool, error) { paid = m; v, ok := m.Get("Paid"); return ok && v.Exists(), nil })
	c := rules.ItemOf(scope(t, typeIs("Order")), when)
	for _, tt := range []struct {
		item string
		want bool
	}{
		{`{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Paid":{"BOOL":true}}`, true},
		{`{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"}}`, false},
		{`{"PK":{"S":"USER#1"},"Paid":{"BOOL":true}}`, false},
	} {
		if got, err := c.Match(parseImage(t, tt.item)); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v", tt.item, got, err)
		}
	}
	if v, _ := paid.Get("PK"); v.String() != `{"S":"ORDER#1"}` {
		t.Error("when is evaluated for an item of another entity")
	}
	if got, err := rules.ItemOf(scope(t, typeIs("Order")), nil).Match(parseImage(t, `{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"}}`)); !got || err != nil {
		t.Errorf("without when: %v, %v", got, err)
	}
}

type itemCondition func(item.Image) (bool, error)

func (f itemCondition) Match(m item.Image) (bool, error) { return f(m) }
