package view_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// plan plans changes for an aggregate. Each change must result in a write.
func plan(t testing.TB, a *view.Aggregate, cs ...*record.Change) []pipeline.Delivery {
	t.Helper()
	ds := make([]pipeline.Delivery, len(cs))
	for i, c := range cs {
		ds[i].Change = c
		if err := a.Plan(&ds[i]); err != nil {
			t.Fatal(err)
		}
	}
	return ds
}

// contribute writes changes as one batch, and returns the result of each change.
func contribute(t testing.TB, a *view.Aggregate, cs ...*record.Change) ([]pipeline.Delivery, *pipeline.BatchError) {
	t.Helper()
	ds := plan(t, a, cs...)
	err := a.Write(t.Context(), ds)
	failed, ok := errors.AsType[*pipeline.BatchError](err)
	if err != nil && !ok {
		t.Fatal(err)
	}
	return ds, failed
}

func outcomes(ds []pipeline.Delivery) string {
	var texts []string
	for _, d := range ds {
		text := d.Outcome.String()
		if d.Reason != "" {
			text += " " + d.Reason
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// show returns the rows of the store by key, each as a list of its values.
func (s *groupMemory) show() map[string]string {
	out := make(map[string]string)
	for _, table := range s.rows {
		for row, r := range table {
			var texts []string
			for _, c := range r.columns() {
				texts = append(texts, c.Name+"="+string(c.Value.AppendJSON(nil)))
			}
			out[string(row)] = strings.Join(texts, " ")
		}
	}
	return out
}

func wantRows(t testing.TB, s *groupMemory, want map[string]string) {
	t.Helper()
	if got := s.show(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func totals(o view.AggregateOptions) view.AggregateOptions {
	o.Values = o.Values[:2]
	return o
}

func TestAggregateOutcomes(t *testing.T) {
	paid, more, user := order("Status=paid", "Total=#10"), order("Status=paid", "Total=#12"), itemOf("Type=User")
	cs := changes(t,
		sinktest.Record{EventName: "INSERT", New: paid},
		sinktest.Record{EventName: "MODIFY", Old: paid, New: more},
		sinktest.Record{EventName: "MODIFY", Old: more, New: user},
		sinktest.Record{EventName: "MODIFY", Old: user, New: user},
		sinktest.Record{EventName: "REMOVE", Old: user},
		sinktest.Record{EventName: "INSERT", New: paid},
	)
	for _, c := range []struct {
		name   string
		first  []*record.Change // written before the batch
		batch  []*record.Change
		want   string
		writes int
	}{
		{"one", nil, cs[:1], "written", 1},
		{"what later changes replace", nil, cs[:2], "coalesced, written", 1},
		{"the same again", cs[:2], cs[1:2], "written", 0},
		{"the same twice", nil, []*record.Change{cs[0], cs[0]}, "written, written", 1},
		{"an older one", cs[:2], cs[:1], "superseded", 0},
		{"an older one behind a newer one", nil, []*record.Change{cs[1], cs[0]}, "written, superseded", 1},
		{"nothing, and nothing before", nil, cs[3:5], "no_effect when, no_effect removed", 0},
		{"nothing, and something before", nil, cs[2:3], "written", 1},
		{"nothing, in the midst of a batch", nil, cs[2:6], "coalesced, no_effect when, no_effect removed, written", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newGroupMemory()
			a := newAggregate(t, totals(revenue(t, store)))
			contribute(t, a, c.first...)
			store.reads, store.writes = 0, 0
			ds, failed := contribute(t, a, c.batch...)
			if outcomes(ds) != c.want || failed != nil {
				t.Errorf("got %s and %v, want %s", outcomes(ds), failed, c.want)
			}
			if store.reads != 1 || store.writes != c.writes {
				t.Errorf("%d reads and %d writes, want 1 and %d", store.reads, store.writes, c.writes)
			}
		})
	}
}

// An expired item leaves its contribution in the group, and counts again after a new insert, even if all changes are in
// one batch.
func TestAggregateKeep(t *testing.T) {
	ten, twelve := order("Status=paid", "Total=#10", "CreatedAt=a"), order("Status=paid", "Total=#12", "CreatedAt=a")
	cs := changes(t,
		sinktest.Record{EventName: "INSERT", New: ten},
		sinktest.Record{EventName: "MODIFY", Old: ten, New: twelve},
		sinktest.Record{EventName: "REMOVE", Old: twelve, TTL: true},
		sinktest.Record{EventName: "INSERT", New: ten},
		sinktest.Record{EventName: "MODIFY", Old: ten, New: twelve},
		sinktest.Record{EventName: "REMOVE", Old: twelve, TTL: true},
		sinktest.Record{EventName: "INSERT", New: ten},
		sinktest.Record{EventName: "REMOVE", Old: ten},
	)
	const key = "REVENUE%23paid,ALL"
	row := func(revenue, orders int) map[string]string {
		return map[string]string{key: fmt.Sprintf(`first="a" orders=%d revenue=%d`, orders, revenue)}
	}
	after := []map[string]string{row(10, 1), row(12, 1), row(12, 1), row(22, 2), row(24, 2), row(24, 2), row(34, 3), row(24, 2)}
	for n := 1; n <= len(cs); n++ {
		store := newGroupMemory()
		o := revenue(t, store)
		o.KeepOnTTL = true
		a := newAggregate(t, o)
		for i := 0; i < len(cs); i += n {
			end := min(i+n, len(cs))
			contribute(t, a, cs[i:end]...)
			wantRows(t, store, after[end-1])
		}
		for from := range cs { // a replay from each position
			contribute(t, a, cs[from:]...)
			wantRows(t, store, after[len(cs)-1])
		}
	}
	store := newGroupMemory()
	a := newAggregate(t, revenue(t, store))
	contribute(t, a, cs...)
	wantRows(t, store, map[string]string{})
}

// An expired item counts as its last image, whatever was counted before: nothing, an older state, a backfilled state
// from before or after the expiry, or an image that could not be counted.
func TestAggregateKeep_CountsTheOldImage(t *testing.T) {
	const key = "REVENUE%23paid,ALL"
	ten, twelve := order("Status=paid", "Total=#10", "Note=x"), order("Status=paid", "Total=#12", "Note=y")
	flawed := order("Status=paid", "Total=none")
	cs := changes(t,
		sinktest.Record{EventName: "SNAPSHOT", New: ten},
		sinktest.Record{EventName: "INSERT", New: ten},
		sinktest.Record{EventName: "MODIFY", Old: ten, New: flawed},
		sinktest.Record{EventName: "MODIFY", Old: flawed, New: twelve},
		sinktest.Record{EventName: "REMOVE", Old: twelve, TTL: true},
		sinktest.Record{EventName: "INSERT", New: ten},
	)
	snapshot, inserted, unfit, modified, expired, again := cs[0], cs[1], cs[2], cs[3], cs[4], cs[5]
	const kept = `notes=1 orders=1 revenue=12`
	for name, c := range map[string]struct {
		changes []*record.Change
		want    string
	}{
		"in order":                           {[]*record.Change{inserted, unfit, modified, expired}, kept},
		"alone":                              {[]*record.Change{expired}, kept},
		"after an older state":               {[]*record.Change{inserted, expired}, kept},
		"after what can't be counted":        {[]*record.Change{inserted, unfit, expired}, kept},
		"after a backfilled state":           {[]*record.Change{snapshot, expired}, kept},
		"before a backfilled state":          {[]*record.Change{expired, snapshot}, kept},
		"twice":                              {[]*record.Change{expired, expired}, kept},
		"and all again":                      {[]*record.Change{inserted, unfit, modified, expired, snapshot, inserted, modified, expired}, kept},
		"with an item under its key":         {[]*record.Change{snapshot, expired, again}, "notes=2 orders=2 revenue=22"},
		"with an item, and a backfill later": {[]*record.Change{expired, again, snapshot}, "notes=2 orders=2 revenue=22"},
	} {
		for n := 1; n <= len(c.changes); n++ {
			store := newGroupMemory()
			o := revenue(t, store)
			o.KeepOnTTL = true
			a := newAggregate(t, o)
			for part := range slices.Chunk(c.changes, n) {
				contribute(t, a, part...)
			}
			if got := store.show(); got[key] != c.want {
				t.Errorf("%s, %d at once: got %v, want %s", name, n, got, c.want)
			}
		}
	}
}

// If the last image of an expired item cannot be counted, the item counts for nothing until its expiry is redriven.
func TestAggregateKeep_MendedAndRedriven(t *testing.T) {
	ten, flawed := order("Status=paid", "Total=#10"), order("Status=paid", "Total=none")
	cs := changes(t,
		sinktest.Record{EventName: "INSERT", New: ten},
		sinktest.Record{EventName: "MODIFY", Old: ten, New: flawed},
		sinktest.Record{EventName: "REMOVE", Old: flawed, TTL: true},
	)
	store := newGroupMemory()
	o := revenue(t, store)
	o.KeepOnTTL = true
	_, failed := contribute(t, newAggregate(t, o), cs...)
	if failed == nil || len(failed.Failed) != 2 || failed.Failed[0] != nil {
		t.Fatalf("got %v, want the change that cannot be counted and the expiry to fail", failed)
	}
	wantRows(t, store, map[string]string{})
	o.Values = slices.Clone(o.Values)
	o.Values[0] = view.Value{Name: "revenue", Kind: "max", Path: "Total"}
	fixed := newAggregate(t, o)
	for _, letters := range [][]*record.Change{cs[1:2], cs[2:], cs[2:]} {
		if _, failed := contribute(t, fixed, letters...); failed != nil {
			t.Fatal(failed)
		}
	}
	wantRows(t, store, map[string]string{"REVENUE%23paid,ALL": `orders=1 revenue="none"`})
}

// However changes are divided into batches, and whichever writes fail permanently or temporarily, the store ends as if
// the changes had been written one by one.
func TestAggregateBatchesAreSequentialWriting(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{Items: 3})
	rapid.Check(t, func(rt *rapid.T) {
		stream := streams.Draw(rt, "stream")
		keep := rapid.Bool().Draw(rt, "keep")
		bad := make(map[record.Version]bool)
		for _, c := range stream.Changes {
			bad[c.Version] = !keep && rapid.IntRange(0, 5).Draw(rt, "bad") == 0 // a change that fails is not kept
		}
		shards := rapid.SampledFrom([]int{1, 4}).Draw(rt, "shards")
		end := func(size int, actions int) map[string]string {
			store := newGroupMemory()
			store.max = actions
			store.fail = func(_ int, w state.GroupWrite) error {
				if slices.ContainsFunc(w.Items, func(c state.ContributionWrite) bool { return bad[c.Next.Version] }) {
					return errors.New("refused")
				}
				return nil
			}
			o := sold(t, store)
			o.KeepOnTTL, o.Shards = keep, shards
			a := newAggregate(t, o)
			for cs := range slices.Chunk(stream.Changes, size) {
				contribute(t, a, cs...)
			}
			return store.show()
		}
		want := end(1, 0)
		for _, size := range []int{2, 5, len(stream.Changes)} {
			if got := end(size, rapid.SampledFrom([]int{0, 30}).Draw(rt, "actions")); !maps.Equal(got, want) {
				rt.Fatalf("batches of %d leave\n%v\none by one leaves\n%v", size, got, want)
			}
		}
	})
}

// wide returns an order with n products in its lines. The numbers of the products begin at from.
func wide(from, n int) sinktest.Item {
	var ls []sinktest.Attr
	for i := range n {
		ls = append(ls, line(fmt.Sprintf("sku%03d", from+i), "1"))
	}
	return lines(ls...)
}

// Fact 24: A transaction has at most 100 actions. A change of exactly 99 groups is one transaction. A change of 100
// groups is refused with an error that says what to do, and the item's contribution is removed. All stores have this
// limit.
func TestFact24_AggregateTooManyGroups(t *testing.T) {
	for _, most := range []int{0, 100} {
		tooManyGroups(t, most)
	}
}

func tooManyGroups(t *testing.T, most int) {
	t.Helper()
	store := newGroupMemory()
	store.max = most
	a := newAggregate(t, totals(sold(t, store)))
	cs := changes(t,
		sinktest.Record{EventName: "INSERT", New: wide(0, 99)},
		sinktest.Record{EventName: "MODIFY", Old: wide(0, 99), New: wide(0, 199)}, // adds 100 groups
		sinktest.Record{EventName: "MODIFY", Old: wide(0, 199), New: wide(49, 99)},
		sinktest.Record{EventName: "REMOVE", Old: wide(49, 99)},
	)
	for i, failure := range []bool{false, true, false, false} {
		ds, failed := contribute(t, a, cs[i])
		if (failed != nil) != failure {
			t.Fatalf("change %d: %s, %v", i, outcomes(ds), failed)
		}
		if !failure {
			continue
		}
		e, ok := errors.AsType[*view.TooManyGroupsError](failed.Failed[0])
		if !ok || e.Actions != 100 || e.Item != "u,o" {
			t.Fatalf("got %v, want 100 of 99 actions", failed)
		}
		for _, want := range []string{"too_many_groups", "u,o", "100", "99", "`when`"} {
			if !strings.Contains(e.Error(), want) {
				t.Errorf("%q does not say %q", e, want)
			}
		}
		if strings.Contains(e.Redacted(), "u,o") {
			t.Errorf("%q shows the item", e.Redacted())
		}
		if n := len(store.show()); n != 0 {
			t.Errorf("%d groups: what the change before counted for is still there", n)
		}
	}
	wantRows(t, store, map[string]string{})
}

// Changes of one item may be too large for one transaction together but not separately. Then they are written one by
// one.
func TestAggregateTooManyGroups_StepByStep(t *testing.T) {
	store := newGroupMemory()
	store.max = 100
	a := newAggregate(t, totals(sold(t, store)))
	contribute(t, a, changes(t, sinktest.Record{EventName: "INSERT", New: wide(0, 60)})...)
	steps := changes(t,
		sinktest.Record{EventName: "INSERT", New: wide(0, 60), Sequence: "100000000000000000001"},
		sinktest.Record{EventName: "MODIFY", Old: wide(0, 60), New: wide(0, 1), Sequence: "100000000000000000002"},
		sinktest.Record{EventName: "MODIFY", Old: wide(0, 1), New: wide(100, 60), Sequence: "100000000000000000003"},
	)[1:]
	ds, failed := contribute(t, a, steps...)
	if failed != nil || outcomes(ds) != "written, written" || len(store.show()) != 60 {
		t.Errorf("%s, %v: %d groups", outcomes(ds), failed, len(store.show()))
	}
}

// A batch is divided between items. All changes of an item are in one part.
func TestAggregateSplitsBetweenItems(t *testing.T) {
	store := newGroupMemory()
	store.max = 100
	a := newAggregate(t, totals(sold(t, store)))
	var rs []sinktest.Record
	for i := range 30 {
		it := wide(i*10, 10)
		it["SK"] = sinktest.Attr{"S": fmt.Sprint(i)}
		rs = append(rs, sinktest.Record{EventName: "INSERT", New: it})
	}
	ds, failed := contribute(t, a, changes(t, rs...)...)
	if failed != nil || strings.Count(outcomes(ds), "written") != len(rs) || len(store.show()) != 300 {
		t.Errorf("%s, %v: %d groups", outcomes(ds), failed, len(store.show()))
	}
	if store.writes != 1 {
		t.Errorf("%d calls of the store, want 1 with several writes", store.writes)
	}
}

// A worker that loses a race reads the item again. If it loses too many races, its change fails with a transient error.
func TestAggregateLostRaces(t *testing.T) {
	first := changes(t, sinktest.Record{EventName: "INSERT", New: order("Status=paid", "Total=#1")})[0]
	store := newGroupMemory()
	races := 0
	store.before = func() {
		if races--; races >= 0 { // another worker writes this change, or a later one
			k := "revenue " + string(first.Key)
			c := store.contributions[k]
			c.Version = versionOf(t, fmt.Sprintf("%040d", 100-races))
			store.contributions[k] = c
		}
	}
	a := newAggregate(t, totals(revenue(t, store)))
	races = 3
	if ds, failed := contribute(t, a, first); failed != nil || outcomes(ds) != "written" {
		t.Fatalf("%s, %v", outcomes(ds), failed)
	}
	wantRows(t, store, map[string]string{"REVENUE%23paid,ALL": "orders=1 revenue=1"})
	store.contributions = map[string]state.Contribution{}
	races = 99
	_, failed := contribute(t, a, first)
	if failed == nil {
		t.Fatal("the race did not end, and the write did")
	}
	if _, again := pipeline.Retryable(failed.Failed[0]); !again || !strings.Contains(failed.Error(), "other workers") {
		t.Errorf("got %v, want a transient error", failed)
	}
	if races < 80 {
		t.Errorf("%d tries", 99-races)
	}
}

// versionOf returns a version of the suite's stream that is lower than all versions that Build makes.
func versionOf(t testing.TB, sequence string) record.Version {
	t.Helper()
	v, err := record.ParseVersion("1767323045" + sequence)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAggregateWriteRefuses(t *testing.T) {
	c := changes(t, sinktest.Record{EventName: "INSERT", New: order("Status=paid", "Total=#1")})[0]
	a := newAggregate(t, revenue(t, nil))
	if err := a.Write(t.Context(), plan(t, a, c)); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "no store") {
		t.Errorf("without a store: got %v, want a fatal error", err)
	}
	store := newGroupMemory()
	a = newAggregate(t, revenue(t, store))
	if err := a.Write(t.Context(), []pipeline.Delivery{{Change: c}}); !pipeline.IsFatal(err) {
		t.Errorf("without a plan: got %v, want a fatal error", err)
	}
	contribute(t, a, c)
	other := newAggregate(t, totals(revenue(t, store)))
	next := changes(t, sinktest.Record{EventName: "MODIFY", Old: itemOf(), New: order("Status=paid", "Total=#1"), Sequence: "200000000000000000001"})[0]
	if err := other.Write(t.Context(), plan(t, other, next)); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("with other values than the contribution: got %v, want a fatal error", err)
	}
}
