package view_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// wants returns the items that request each address after a history. The first item of an address is its owner by the
// rule.
func wants(history []*record.Change, rule view.Collision) map[string][]*record.Change {
	final := make(map[item.Key]*record.Change)
	for _, c := range history {
		if was := final[c.Key]; was == nil || was.Version.Compare(c.Version) < 0 {
			final[c.Key] = c
		}
	}
	byAddress := make(map[string][]*record.Change)
	for _, c := range final {
		if email, ok := c.New.Get("Email"); ok {
			text, _ := email.Text()
			byAddress[text] = append(byAddress[text], c)
		}
	}
	for _, cs := range byAddress {
		slices.SortFunc(cs, func(a, b *record.Change) int {
			byKey := strings.Compare(string(a.Key), string(b.Key))
			if rule != view.KeepLast {
				return byKey
			}
			return -cmp.Or(a.Time.Compare(b.Time), a.Version.Compare(b.Version), byKey)
		})
	}
	return byAddress
}

// rowOfChange returns the row of a change in the form of holders.
func rowOfChange(c *record.Change) string {
	text := func(image item.Image, name string) string {
		v, _ := image.Get(name)
		s, _ := v.Text()
		return s
	}
	return fmt.Sprintf("%s=%s %s", text(c.New, "Email"), text(c.Keys, "SK"), text(c.New, "Note"))
}

// agrees returns an error if the rows differ from the requests of the final items. Each address must have the row of
// its owner by the rule, and there must be no other rows.
func agrees(rows string, history []*record.Change, rule view.Collision) error {
	have := make(map[string]bool)
	for _, r := range strings.Split(rows, ", ") {
		if r != "" {
			have[r] = true
		}
	}
	for email, cs := range wants(history, rule) {
		if !have[rowOfChange(cs[0])] {
			return fmt.Errorf("the address %s, which %d items ask for, is not %s in {%s}", email, len(cs), rowOfChange(cs[0]), rows)
		}
		delete(have, rowOfChange(cs[0]))
	}
	if len(have) > 0 {
		return fmt.Errorf("nobody asks for %v", have)
	}
	return nil
}

// drawHistory draws changes of a few items that compete for fewer addresses. Each change of an item moves the item to
// another address, keeps its address, or removes it.
func drawHistory(t *rapid.T) []*record.Change {
	items := rapid.IntRange(2, 6).Draw(t, "items")
	now := make([]string, items)
	var records []sinktest.Record
	second := int64(1767323045)
	for n := range rapid.IntRange(2, 40).Draw(t, "changes") {
		i := rapid.IntRange(0, items-1).Draw(t, "item")
		to := rapid.SampledFrom([]string{"x", "y", "z", ""}).Draw(t, "to")
		if now[i] == "" && to == "" {
			to = "x"
		}
		r := moved(fmt.Sprint("i", i), now[i], to, fmt.Sprint("n", n))
		second += int64(rapid.IntRange(0, 1).Draw(t, "second"))
		r.Second = second
		now[i] = to
		records = append(records, r)
	}
	s, err := sinktest.Build(records...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Changes
}

// batches divides changes into batches.
func batches(t *rapid.T, cs []*record.Change) [][]*record.Change {
	var bs [][]*record.Change
	for len(cs) > 0 {
		n := rapid.IntRange(1, min(len(cs), 8)).Draw(t, "batch")
		bs = append(bs, cs[:n])
		cs = cs[n:]
	}
	return bs
}

// The rows are a function of the final items, whatever two workers deliver, in any order. Even the changes of one item
// may arrive out of order, as redriven dead letters do.
func TestRowsAreAFunctionOfTheItems(t *testing.T) {
	for _, rule := range []view.Collision{view.DeadLetterCollision, view.KeepFirst, view.KeepLast} {
		t.Run(string(rule), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				history := drawHistory(rt)
				store := newShelf()
				s := newSink(t, byEmail(t, store, rule))
				delivered := rapid.Permutation(history).Draw(rt, "order")
				again := rapid.IntRange(0, len(history)-1).Draw(rt, "again")
				for _, b := range batches(rt, append(slices.Clone(delivered), history[again:]...)) {
					outcomesOf(t, s, b...)
				}
				if err := agrees(holders(t, store), history, rule); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// Under dead_letter each item without a row got a dead letter, unless another item took over its row. Then the item
// gets a dead letter when its newest change is delivered again.
func TestEveryCollisionIsTold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		history := drawHistory(rt)
		store := newShelf()
		s := newSink(t, byEmail(t, store, view.DeadLetterCollision))
		told := make(map[record.Version]bool)
		for _, b := range batches(rt, history) {
			for i, text := range strings.Fields(outcomesOf(t, s, b...)) {
				told[b[i].Version] = strings.HasPrefix(text, "collides")
			}
		}
		rows := strings.Split(holders(t, store), ", ")
		for _, cs := range wants(history, view.DeadLetterCollision) {
			owner := cs[0]
			for _, c := range cs {
				has := slices.Contains(rows, rowOfChange(c))
				takenOver := c.Version.Compare(owner.Version) < 0
				if !has && !told[c.Version] && !takenOver {
					rt.Fatalf("%s has no row, and nobody was told", rowOfChange(c))
				}
				if outcome := outcomesOf(t, s, c); has != (outcome == "written") {
					rt.Fatalf("%s has its row: %t, and delivered again it is %s", rowOfChange(c), has, outcome)
				}
			}
		}
	})
}

// Workers that write the same items and rows at the same time may lose races. They have no other failures.
func TestWorkersAtOnce(t *testing.T) {
	const workers = 3
	for seed := range 20 {
		history := rapid.Custom(drawHistory).Example(seed)
		store := newShelf()
		errs := make([]error, workers)
		var wg sync.WaitGroup
		for w := range workers {
			s := newSink(t, byEmail(t, store, view.KeepLast))
			wg.Go(func() {
				for from := 0; from < len(history) && errs[w] == nil; from += w + 1 {
					errs[w] = persist(t, s, history[from:min(from+w+1, len(history))])
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := agrees(holders(t, store), history, view.KeepLast); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// persist writes changes until no failure can be retried, and returns the permanent failures.
func persist(t *testing.T, s *view.Sink, cs []*record.Change) error {
	for {
		ds := make([]pipeline.Delivery, len(cs))
		for i, c := range cs {
			ds[i].Change = c
			if err := s.Plan(&ds[i]); err != nil {
				return err
			}
		}
		err := s.Write(t.Context(), ds)
		failed, ok := errors.AsType[*pipeline.BatchError](err)
		if err == nil || !ok {
			return err
		}
		for _, err := range failed.Failed {
			if _, again := pipeline.Retryable(err); !again {
				return err
			}
		}
	}
}
