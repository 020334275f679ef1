package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

const entities = head + `
entities:
  Order: {key: {PK: 'USER#{UserId}#ORDER#{OrderId}'}}
  Paid: {key: {PK: 'CART#{CartId}'}, when: 'item.Status == "paid"'}
sinks: {nothing: {custom: {name: discard}}}
`

type typedOrder struct {
	UserId, OrderId, Status string //nolint:staticcheck // names of attributes
	Total                   float64
}

// letterBox is a set of stores that keeps dead letters as texts.
type letterBox struct {
	discard
	mu      sync.Mutex
	letters []string
}

func (l *letterBox) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return l, nil
}

func (l *letterBox) Put(_ context.Context, ds []pipeline.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range ds {
		l.letters = append(l.letters, fmt.Sprintf("%s %s: %s", d.Sink, d.Key, d.Error))
	}
	return nil
}

// runOn runs changes through a pipeline with the option, and returns the dead letters.
func runOn(t *testing.T, cfg *config.Config, option sinks.Option, changes ...any) []string {
	t.Helper()
	var box letterBox
	p, err := sinks.Assemble(t.Context(), cfg, &box, option)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), source(changes...), nil); err != nil {
		t.Fatal(err)
	}
	if l := p.Ledger(); l.Check() != nil {
		t.Error(l.Check())
	}
	return box.letters
}

// show returns a function for On that appends each of its changes to seen as text. The function fails for an item with
// the status failing.
func show(seen *[]string) func(context.Context, sinks.TypedChange[typedOrder]) error {
	return func(_ context.Context, c sinks.TypedChange[typedOrder]) error {
		text := func(o *typedOrder) string {
			if o == nil {
				return "nil"
			}
			return fmt.Sprintf("%+v", *o)
		}
		*seen = append(*seen, fmt.Sprintf("%v %s -> %s", c.Op, text(c.Old), text(c.New)))
		if c.New != nil && c.New.Status == "failing" {
			return errors.New("no")
		}
		return nil
	}
}

// A function gets only items of its entity, with fields for the names in the key. If a change fails or does not fit the
// type, only this change becomes a dead letter.
func TestOn_TypedChanges(t *testing.T) {
	var seen []string
	letters := runOn(t, parse(t, entities), sinks.On("Order", show(&seen)),
		insert(t, "USER#ann#ORDER#1", `"Status":{"S":"new"},"Total":{"N":"1.5"}`),
		insert(t, "USER#bo", `"Status":{"S":"new"}`),
		remove(t, "USER#cy#ORDER#2", `"Status":{"S":"old"},"OrderId":{"S":"an attribute"}`),
		insert(t, "USER#dee#ORDER#3", `"Status":{"S":"failing"}`),
		insert(t, "USER#ed#ORDER#4", `"Status":{"S":"new"},"Total":{"S":"many"}`),
		insert(t, `USER#"f" ü#ORDER#5`, `"Status":{"S":"new"},"orderid":{"S":"in lower case"}`),
	)
	slices.Sort(seen)
	want := []string{
		`INSERT nil -> {UserId:"f" ü OrderId:in lower case Status:new Total:0}`,
		"INSERT nil -> {UserId:ann OrderId:1 Status:new Total:1.5}",
		"INSERT nil -> {UserId:dee OrderId:3 Status:failing Total:0}",
		"REMOVE {UserId:cy OrderId:an attribute Status:old Total:0} -> nil",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	slices.Sort(letters)
	if len(letters) != 2 || !strings.HasPrefix(letters[0], "on_Order USER%23dee") || !strings.HasPrefix(letters[1], "on_Order USER%23ed") {
		t.Errorf("dead letters: %q", letters)
	}
}

// If an item has an attribute with the same name as a name in the key, the field gets the attribute. This is so also if
// the name comes from the tag of the field.
func TestOn_AttributeOfATag(t *testing.T) {
	type order struct {
		User string `dynamodbav:"userId"`
	}
	for attributes, want := range map[string]string{`"userId":{"S":"attribute"}`: "attribute", `"Status":{"S":"new"}`: "ann"} {
		var got string
		runOn(t, parse(t, entities), sinks.On("Order", func(_ context.Context, c sinks.TypedChange[order]) error {
			got = c.New.User
			return nil
		}), insert(t, "USER#ann#ORDER#1", attributes))
		if got != want {
			t.Errorf("%s: User is %q, want %q", attributes, got, want)
		}
	}
}

// If an item no longer meets the condition of the entity, the function gets the change as a removal.
func TestOn_ConditionOfAnEntity(t *testing.T) {
	modify := func(pk, was, is string) any {
		p := decode(t, recordJSON("MODIFY", pk, fmt.Sprintf(`,"OldImage":{"PK":{"S":%[1]q},"Status":{"S":%[2]q}},"NewImage":{"PK":{"S":%[1]q},"Status":{"S":%[3]q}}`, pk, was, is)))
		return &p.Changes[0]
	}
	var seen []string
	runOn(t, parse(t, entities), sinks.On("Paid", show(&seen)),
		modify("CART#1", "new", "paid"), modify("CART#2", "paid", "sent"), modify("CART#3", "new", "sent"))
	slices.Sort(seen)
	want := []string{"MODIFY nil -> {UserId: OrderId: Status:paid Total:0}", "MODIFY {UserId: OrderId: Status:paid Total:0} -> nil"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// A function gets no sensitive values and no names from a sensitive key. The condition of the entity still reads the
// whole item.
func TestOn_LeavesOutWhatIsSensitive(t *testing.T) {
	cfg := parse(t, entities)
	cfg.HMACKey, cfg.Sensitive = "a secret of the test", patternsOf(t, "PK Status Total")
	var seen []string
	runOn(t, cfg, sinks.On("Paid", show(&seen)), insert(t, "CART#1", `"Status":{"S":"paid"},"Total":{"N":"9"},"OrderId":{"S":"7"}`))
	if want := "INSERT nil -> {UserId: OrderId:7 Status: Total:0}"; len(seen) != 1 || seen[0] != want {
		t.Errorf("%q, want %s", seen, want)
	}
	seen = nil
	runOn(t, cfg, sinks.On("Order", show(&seen)), insert(t, "USER#ann#ORDER#1", `"Total":{"N":"1"}`))
	if len(seen) != 1 || strings.Contains(seen[0], "ann") {
		t.Errorf("%q, want no UserId", seen)
	}
}

// The indexes in a BatchError of the function refer to the changes that the function received, without those that did
// not fit the type.
func TestOnBatch_NamesWhatFailed(t *testing.T) {
	letters := runOn(t, parse(t, entities), sinks.OnBatch("Order", func(_ context.Context, cs []sinks.TypedChange[typedOrder]) error {
		var failed pipeline.BatchError
		for i, c := range cs {
			if c.New.OrderId == "3" {
				failed.Add(i, errors.New("no"))
			}
		}
		return failed.OrNil()
	}),
		insert(t, "USER#ann#ORDER#1", `"Total":{"S":"many"}`),
		insert(t, "USER#bo#ORDER#2", `"Total":{"N":"1"}`),
		insert(t, "USER#cy#ORDER#3", `"Total":{"N":"1"}`))
	slices.Sort(letters)
	if len(letters) != 2 || !strings.Contains(letters[0], "USER%23ann") || !strings.Contains(letters[1], "USER%23cy") {
		t.Errorf("dead letters: %q", letters)
	}
}

// If the BatchError of the function is invalid, no change counts as written.
func TestOnBatch_BreaksTheContract(t *testing.T) {
	for name, failed := range map[string]map[int]error{
		"index out of range": {5: errors.New("no")},
		"negative index":     {-1: nil},
		"no cause":           {0: nil},
	} {
		letters := runOn(t, parse(t, entities), sinks.OnBatch("Order", func(context.Context, []sinks.TypedChange[typedOrder]) error {
			return &pipeline.BatchError{Failed: failed}
		}), insert(t, "USER#bo#ORDER#2", `"Total":{"N":"1"}`))
		if len(letters) != 1 {
			t.Errorf("%s: dead letters: %q", name, letters)
		}
	}
}

func TestOn_WrongEntity(t *testing.T) {
	nothing := func(context.Context, sinks.TypedChange[typedOrder]) error { return nil }
	twice := func(o sinks.Option) []sinks.Option { return []sinks.Option{o, o} }
	for want, options := range map[string][]sinks.Option{
		`no entity is named 'Ordr': did you mean Order?`: {sinks.On("Ordr", nothing)},
		"the name on_Order is taken":                     twice(sinks.On("Order", nothing)),
	} {
		if _, err := sinks.Assemble(t.Context(), parse(t, entities), discard{}, options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
