package pushdown_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

// Lambda filters by the beginnings of the entities' keys.
func TestEntities(t *testing.T) {
	const file = `
version: 1
name: shop
source: {table: shop}
state: {table: state}
entities:
  User: {key: {PK: 'USER#{UserId}', SK: META}}
  Order: {key: {PK: 'USER#{UserId}', SK: 'ORDER#{Date}#{OrderId}'}, unique: OrderId}
sinks:
  users: {archive: {of: User, bucket: users}}
  orders: {view: {of: Order, table: orders, key: {PK: 'ORDER#{OrderId}'}, when: 'item.Status == "paid"'}}
`
	cfg, err := config.Parse("shop.yaml", []byte(file), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.Sinks[1].View.RowsGuardThemselves() {
		t.Error("the names that identify an order are in the row's key")
	}
	plan, err := pushdown.New(cfg, pushdown.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"USER#"}]},"SK":{"S":["META"]}}}}`,
		`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"USER#"}]},"SK":{"S":[{"prefix":"ORDER#"}]}},"NewImage":{"Status":{"S":["paid"]}}}}`,
		`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"USER#"}]},"SK":{"S":[{"prefix":"ORDER#"}]}},"OldImage":{"Status":{"S":["paid"]}}}}`,
	}
	for _, w := range want {
		if !slices.Contains(plan.Patterns, w) {
			t.Errorf("no pattern %s in\n%s", w, strings.Join(plan.Patterns, "\n"))
		}
	}
	left := strings.Join(plan.Parts[len(plan.Parts)-1].Left, "; ")
	if !strings.Contains(left, "of Order: Lambda is asked how a key begins") {
		t.Errorf("left to the function: %s", left)
	}

	// A Go function about orders, which the file does not name, gets those that no sink needs.
	plan, err = pushdown.New(cfg, pushdown.Options{FunctionEntities: []string{"Order"}})
	const orders = `{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"USER#"}]},"SK":{"S":["META",{"prefix":"ORDER#"}]}}}}`
	if err != nil || !slices.Contains(plan.Patterns, orders) {
		t.Errorf("%v: no pattern %s in\n%s", err, orders, strings.Join(plan.Patterns, "\n"))
	}
	if _, err := pushdown.New(cfg, pushdown.Options{FunctionEntities: []string{"Odrer"}}); err == nil || !strings.Contains(err.Error(), "did you mean Order?") {
		t.Errorf("an unknown entity: %v", err)
	}
}

// The events of a notify sink without of are about the entities of its detectors: Lambda drops what is of none of them. One event
// of every item needs every change.
func TestEntities_OfEvents(t *testing.T) {
	const file = `
version: 1
name: shop
source: {table: shop}
entities:
  Order: {key: {PK: 'USER#{UserId}', SK: 'ORDER#{OrderId}'}}
  User: {key: {PK: 'USER#{UserId}', SK: META}}
  Note: {key: {PK: 'NOTE#{NoteId}', SK: META}}
detect:
  placed: {of: Order, op: [INSERT]}
  moved: {of: [Order, User], attribute: City}
  any: {op: [REMOVE]}
sinks:
  mail: {notify: {events: [placed, moved]}}
`
	patterns := func(text string) []string {
		t.Helper()
		cfg, err := config.Parse("shop.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pushdown.New(cfg, pushdown.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Patterns
	}
	const want = `{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"USER#"}]},"SK":{"S":["META",{"prefix":"ORDER#"}]}}}}`
	if got := patterns(file); !slices.Contains(got, want) {
		t.Errorf("no pattern %s in\n%s", want, strings.Join(got, "\n"))
	}
	if got := patterns(strings.Replace(file, "[placed, moved]", "[placed, any]", 1)); len(got) > 0 {
		t.Errorf("an event of every item, and Lambda drops by\n%s", strings.Join(got, "\n"))
	}
}
