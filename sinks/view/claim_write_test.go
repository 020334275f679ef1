package view_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// byEmail returns the options of a view with a row for each Order under its e-mail address. Several orders may have the
// same address.
func byEmail(t testing.TB, store view.Store, rule view.Collision) view.Options {
	t.Helper()
	return view.Options{
		Name: "by_email", Pipeline: "shop", Table: "shop-views", Store: store, Collision: rule,
		PK:         attribute(t, "PK=EMAIL#{Email|lower}"),
		When:       pipeline.ItemConditionFunc(isOrder),
		Attributes: []view.Attribute{attribute(t, "who={SK}"), attribute(t, "note={Note?}")},
	}
}

// named returns an Order with a name (its SK), an address and a note. It returns nil if email is "".
func named(name, email, note string) sinktest.Item {
	if email == "" {
		return nil
	}
	it := order("Email="+email, "Note="+note)
	it["SK"] = sinktest.Attr{"S": name}
	return it
}

// moved returns a change of the Order with that name from one address to another. "" means that the Order does not
// exist.
func moved(name, from, to, note string) sinktest.Record {
	r := sinktest.Record{EventName: "MODIFY", Old: named(name, from, "before"), New: named(name, to, note)}
	switch {
	case from == "":
		r.EventName = "INSERT"
	case to == "":
		r.EventName = "REMOVE"
	}
	return r
}

// holders returns the rows as "address=name note".
func holders(t testing.TB, s *shelf) string {
	t.Helper()
	var rows []string
	for r, err := range s.Rows(t.Context(), view.Table{Name: "shop-views", PK: "PK"}, view.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		text := func(name string) string {
			v, _ := r.Item.Get(name)
			s, _ := v.Text()
			return s
		}
		rows = append(rows, strings.TrimPrefix(text("PK"), "EMAIL#")+"="+strings.TrimSpace(text("who")+" "+text("note")))
	}
	return strings.Join(rows, ", ")
}

// outcomesOf writes a batch and returns the result of each change.
func outcomesOf(t testing.TB, s *view.Sink, cs ...*record.Change) string {
	t.Helper()
	ds := deliveries(t, s, cs...)
	err := s.Write(t.Context(), ds)
	batch, ok := errors.AsType[*pipeline.BatchError](err)
	if err != nil && !ok {
		t.Fatal(err)
	}
	var out []string
	for i := range ds {
		switch {
		case batch != nil && batch.Failed[i] != nil:
			text := "failed"
			if e, ok := errors.AsType[*view.CollisionError](batch.Failed[i]); ok {
				text = fmt.Sprintf("collides(%s)", strings.TrimPrefix(string(e.Owner), "u,"))
			}
			out = append(out, text)
		case ds[i].Reason != "":
			out = append(out, ds[i].Reason)
		default:
			out = append(out, ds[i].Outcome.String())
		}
	}
	return strings.Join(out, " ")
}

func TestOutcomesByItem(t *testing.T) {
	user := named("a", "x", "")
	user["Type"] = sinktest.Attr{"S": "User"}
	cs := changes(t,
		moved("a", "", "x", "1"),  // 0
		moved("b", "", "x", "2"),  // 1
		moved("a", "x", "y", "3"), // 2
		moved("b", "x", "y", "4"), // 3
		moved("a", "y", "", ""),   // 4
		moved("c", "", "X", "5"),  // 5; the key is in lower case: x
		sinktest.Record{EventName: "MODIFY", Old: named("a", "y", ""), New: user}, // 6
	)
	users := changes(t,
		sinktest.Record{EventName: "INSERT", New: user},
		sinktest.Record{EventName: "MODIFY", Old: user, New: user},
		sinktest.Record{EventName: "REMOVE", Old: user},
		sinktest.Record{EventName: "INSERT", New: itemOf("Type=Order")},
	)
	for _, c := range []struct {
		name    string
		batches [][]*record.Change
		first   string // outcomes under dead_letter, batch by batch
		keep    string // outcomes under keep_first
		last    string
		rows    string // final rows under dead_letter and keep_first
		newest  string // final rows under last
	}{
		{
			"one comes", [][]*record.Change{cs[:1]},
			"written", "written", "written", "x=a 1", "x=a 1",
		},
		{
			"the same again", [][]*record.Change{cs[:1], cs[:1]},
			"written; written", "written; written", "written; written", "x=a 1", "x=a 1",
		},
		{
			"another comes", [][]*record.Change{cs[:1], cs[1:2]},
			"written; collides(a)", "written; collision", "written; written", "x=a 1", "x=b 2",
		},
		{
			"both in one batch", [][]*record.Change{cs[:2]},
			"written collides(a)", "written collision", "collision written", "x=a 1", "x=b 2",
		},
		{
			"who waits comes again", [][]*record.Change{cs[:1], cs[1:2], cs[1:2], cs[:1]},
			"written; collides(a); collides(a); written", "written; collision; collision; written", "written; written; written; collision", "x=a 1", "x=b 2",
		},
		{
			"one of a smaller key takes the row over", [][]*record.Change{cs[1:2], cs[:1], cs[1:2]},
			"written; written; collides(a)", "written; written; collision", "written; collision; written", "x=a 1", "x=b 2",
		},
		{
			"one of a smaller key takes the row over in one batch", [][]*record.Change{{cs[1], cs[0]}},
			"collides(a) written", "collision written", "written collision", "x=a 1", "x=b 2",
		},
		{
			"the first leaves", [][]*record.Change{cs[:1], cs[1:2], cs[2:3], cs[1:2]},
			"written; collides(a); written; written", "written; collision; written; written", "written; written; written; written", "x=b 2, y=a 3", "x=b 2, y=a 3",
		},
		{
			"the first leaves behind the second in one batch", [][]*record.Change{cs[:1], {cs[1], cs[2]}},
			"written; written written", "written; written written", "written; written written", "x=b 2, y=a 3", "x=b 2, y=a 3",
		},
		{
			"the whole in one batch", [][]*record.Change{cs[:6]},
			"coalesced coalesced coalesced written written written", "coalesced coalesced coalesced written written written",
			"coalesced coalesced coalesced written written written", "x=c 5, y=b 4", "x=c 5, y=b 4",
		},
		{
			"an older one", [][]*record.Change{cs[2:3], cs[:1]},
			"written; superseded", "written; superseded", "written; superseded", "y=a 3", "y=a 3",
		},
		{
			"an older one behind it in one batch", [][]*record.Change{{cs[2], cs[0]}},
			"written superseded", "written superseded", "written superseded", "y=a 3", "y=a 3",
		},
		{
			"twice in a batch", [][]*record.Change{{cs[0], cs[0]}},
			"written written", "written written", "written written", "x=a 1", "x=a 1",
		},
		{
			"items that never ask for a row", [][]*record.Change{users[:2], users[2:3], users[3:]},
			"when when; removed; sparse", "when when; removed; sparse", "when when; removed; sparse", "", "",
		},
		{
			"the removal of an item that is not known", [][]*record.Change{cs[4:5], cs[:1]},
			"written; superseded", "written; superseded", "written; superseded", "", "",
		},
		{
			"the condition takes it out, whatever was lost before", [][]*record.Change{cs[:1], cs[6:], cs[6:]},
			"written; written; written", "written; written; written", "written; written; written", "", "",
		},
	} {
		for rule, want := range map[view.Collision][2]string{"": {c.first, c.rows}, view.KeepFirst: {c.keep, c.rows}, view.KeepLast: {c.last, c.newest}} {
			t.Run(c.name+" "+string(rule), func(t *testing.T) {
				store := newShelf()
				s := newSink(t, byEmail(t, store, rule))
				var got []string
				for _, b := range c.batches {
					got = append(got, outcomesOf(t, s, b...))
				}
				if text := strings.Join(got, "; "); text != want[0] {
					t.Errorf("outcomes\ngot  %s\nwant %s", text, want[0])
				}
				if rows := holders(t, store); rows != want[1] {
					t.Errorf("rows\ngot  %s\nwant %s", rows, want[1])
				}
			})
		}
	}
}

// An item that has no guard and requests no row gets no guard. It costs one read.
func TestStrangersAreNotWrittenDown(t *testing.T) {
	store := newShelf()
	s := newSink(t, byEmail(t, store, ""))
	user := itemOf("Type=User", "Email=x")
	outcomesOf(t, s, changes(t, sinktest.Record{EventName: "INSERT", New: user}, sinktest.Record{EventName: "MODIFY", Old: user, New: user})...)
	if n := len(store.desk(s.Target().State()).guards); n != 0 || store.calls != 1 {
		t.Errorf("%d guards after %d calls of the store, want none after one", n, store.calls)
	}
}

// If a claim fails permanently, the earlier changes that it replaced are written, and later changes of the batch do not
// depend on the failed claim.
func TestPermanentFailureByItem(t *testing.T) {
	cs := changes(t, moved("a", "", "x", "1"), moved("a", "x", "y", "2"), moved("b", "", "y", "3"))
	store := newShelf()
	store.refuse = func(w state.ItemWrite) error {
		if w.Guard.Version == cs[1].Version {
			return errors.New("too large")
		}
		return nil
	}
	if got, want := outcomesOf(t, newSink(t, byEmail(t, store, "")), cs...), "written failed written"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := holders(t, store), "x=a 1, y=b 3"; got != want {
		t.Errorf("got the rows %s, want %s", got, want)
	}
}

// An item cannot claim a row of another view. Its former row is removed, because the item now requests another row.
func TestRowOfAnotherView(t *testing.T) {
	cs := changes(t, moved("a", "", "x", "1"), moved("a", "x", "y", "2"))
	store := newShelf()
	s := newSink(t, byEmail(t, store, ""))
	store.foreign = map[state.Row]*view.ForeignRowError{
		"EMAIL%23y": {Target: s.Target(), Row: "EMAIL%23y", View: "other", Pipeline: "shop"},
	}
	ds := deliveries(t, s, cs...)
	failed, _ := errors.AsType[*pipeline.BatchError](s.Write(t.Context(), ds))
	if failed == nil || len(failed.Failed) != 1 || !strings.Contains(failed.Failed[1].Error(), `the row PK="EMAIL#y" of table `) {
		t.Fatalf("got %v, want that the second change fails", failed)
	}
	if e, ok := errors.AsType[redact.Redacted](failed.Failed[1]); !ok || strings.Contains(e.Redacted(), "EMAIL") {
		t.Errorf("for logs: %v", e)
	}
	if got := holders(t, store); got != "" {
		t.Errorf("got the rows %s, want none", got)
	}
	store.foreign = nil // the other view no longer has the row
	if got, want := outcomesOf(t, s, cs[1])+": "+holders(t, store), "written: y=a 2"; got != want {
		t.Errorf("when the row is free: %s, want %s", got, want)
	}
}

// racing is a store in which another worker is faster: before each of the first Settles, it runs the next function in
// others.
type racing struct {
	*shelf
	others []func()
	always func()
}

func (r *racing) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	if r.always != nil {
		r.always()
	} else if len(r.others) > 0 {
		other := r.others[0]
		r.others = r.others[1:]
		other()
	}
	return r.shelf.WriteItems(ctx, t, ws)
}

func TestLostRaces(t *testing.T) {
	cs := changes(t, moved("a", "", "x", "1"), moved("b", "", "x", "2"), moved("c", "", "y", "3"), moved("a", "x", "y", "4"))
	store := newShelf()
	rival := newSink(t, byEmail(t, store, ""))
	race := &racing{shelf: store, others: []func(){
		func() { outcomesOf(t, rival, cs[1]) },        // claims x first
		func() { outcomesOf(t, rival, cs[0], cs[3]) }, // has newer changes of a
	}}
	s := newSink(t, byEmail(t, race, ""))
	if got, want := outcomesOf(t, s, cs[0], cs[1], cs[2]), "superseded written written"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(race.others) > 0 {
		t.Errorf("%d races were not run", len(race.others))
	}
	if got, want := holders(t, store), "x=b 2, y=a 4"; got != want {
		t.Errorf("got the rows %s, want %s", got, want)
	}
}

// A change that loses every race fails with a transient error, so that the pipeline waits and retries it.
func TestRacesLostForEver(t *testing.T) {
	store, n := newShelf(), 0
	rival := newSink(t, byEmail(t, store, view.KeepFirst))
	s := newSink(t, byEmail(t, &racing{shelf: store, always: func() {
		n++
		outcomesOf(t, rival, changes(t, moved(fmt.Sprint("rival", n), "", "x", ""))...)
	}}, view.KeepFirst))
	ds := deliveries(t, s, changes(t, moved("a", "", "x", "1"), moved("b", "", "z", "2"))...)
	failed, _ := errors.AsType[*pipeline.BatchError](s.Write(t.Context(), ds))
	if failed == nil || !slices.Equal(slices.Collect(maps.Keys(failed.Failed)), []int{0}) {
		t.Fatalf("got %v, want that the first change fails", failed)
	}
	if _, again := pipeline.Retryable(failed.Failed[0]); !again {
		t.Errorf("%v is not marked as worth retrying", failed.Failed[0])
	}
	if n < 2 || n > 20 {
		t.Errorf("gave up after %d races", n)
	}
}

// However a batch is coalesced, and whichever claims fail, the rows end as if the changes that did not fail had been
// written one by one.
func TestCoalescingByItemIsSequentialWriting(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{Items: 3})
	rapid.Check(t, func(rt *rapid.T) {
		stream := streams.Draw(rt, "stream")
		bad := make(map[record.Version]bool)
		for _, c := range stream.Changes {
			if rapid.IntRange(0, 4).Draw(rt, "bad") == 0 {
				bad[c.Version] = true
			}
		}
		open := func() (*shelf, *view.Sink) {
			store := newShelf()
			store.refuse = func(w state.ItemWrite) error {
				if bad[w.Guard.Version] {
					return errors.New("refused")
				}
				return nil
			}
			o := byEmail(t, store, view.KeepLast) // under this rule the order of arrival decides nothing
			o.PK = attribute(t, "PK=EMAIL#{Status|lower}")
			return store, newSink(t, o)
		}
		from := rapid.IntRange(0, len(stream.Changes)-1).Draw(rt, "from")
		batch := append(slices.Clone(stream.Changes), stream.Changes[from:]...)
		whole, s := open()
		outcomesOf(t, s, batch...)
		single, s := open()
		for _, c := range batch {
			outcomesOf(t, s, c)
		}
		if got, want := holders(t, whole), holders(t, single); got != want {
			rt.Fatalf("one batch leaves\n%v\none by one leaves\n%v", got, want)
		}
	})
}

// A change that requests no row is stored if an earlier claim of its item may still arrive, from dead letters or from a
// worker that lags.
func TestEarlierClaimsFindThemselvesSuperseded(t *testing.T) {
	user, broken := named("a", "x", ""), named("a", "x", "")
	user["Type"], broken["Type"] = sinktest.Attr{"S": "User"}, sinktest.Attr{"S": "broken"}
	for name, c := range map[string]struct {
		then []sinktest.Record
		want string // outcomes: a batch without the claim, the claim; a batch with the claim, the claim
	}{
		"it was a claim before": {
			[]sinktest.Record{{EventName: "MODIFY", Old: named("a", "x", ""), New: user}},
			"written; superseded; coalesced written; superseded",
		},
		"another change behind it": {
			[]sinktest.Record{{EventName: "MODIFY", Old: named("a", "x", ""), New: user}, {EventName: "MODIFY", Old: user, New: user}},
			"coalesced written; superseded; coalesced coalesced written; superseded",
		},
		"nobody knows what it was": {
			[]sinktest.Record{{EventName: "MODIFY", New: user, ViewType: "NEW_IMAGE"}},
			"written; superseded; coalesced written; superseded",
		},
		"nobody can tell what it was": {
			[]sinktest.Record{{EventName: "MODIFY", Old: broken, New: user}},
			"written; superseded; coalesced written; superseded",
		},
		"removed by who knows": {
			[]sinktest.Record{{EventName: "REMOVE", Keys: sinktest.Item{"PK": user["PK"], "SK": user["SK"]}, ViewType: "NEW_IMAGE"}},
			"written; superseded; coalesced written; superseded",
		},
		"changed in a way that nobody knows": {
			[]sinktest.Record{{EventName: "EVOLVE", New: user, ViewType: "NEW_IMAGE"}},
			"written; superseded; coalesced written; superseded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cs := changes(t, append([]sinktest.Record{moved("a", "", "x", "1")}, c.then...)...)
			var got []string
			for _, batch := range [][]*record.Change{cs[1:], cs} {
				store := newShelf()
				s := newSink(t, byEmail(t, store, ""))
				got = append(got, outcomesOf(t, s, batch...), outcomesOf(t, s, cs[0]))
				if rows := holders(t, store); rows != "" {
					t.Errorf("the rows are %s, want none", rows)
				}
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// In a backfill a waiting claim is not dead-lettered, under any Collision. Its row is listed as contested while the
// claim waits.
func TestBackfill_ClaimsWait(t *testing.T) {
	cs := changes(t,
		sinktest.Record{EventName: "SNAPSHOT", New: named("a", "x", "1")},
		sinktest.Record{EventName: "SNAPSHOT", New: named("b", "x", "2")},
		sinktest.Record{EventName: "SNAPSHOT", New: named("c", "x", "3")},
		moved("a", "x", "y", "4"), moved("b", "x", "z", "5"),
	)
	for _, rule := range []view.Collision{view.DeadLetterCollision, view.KeepFirst, view.KeepLast} {
		store := newShelf()
		o := byEmail(t, store, rule)
		o.Backfill = true
		s := newSink(t, o)
		contested := func() (texts []string) {
			t.Helper()
			for c, err := range s.Contested(t.Context(), []string{"PK", "SK"}) {
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, fmt.Sprint(c.Row, " ", c.Owner, c.Waiting))
			}
			return texts
		}
		ds := deliveries(t, s, cs[:3]...)
		if err := s.Write(t.Context(), ds); err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		waiting := 0
		for _, d := range ds {
			if d.Outcome == pipeline.NoEffect && d.Reason == view.ReasonCollision {
				waiting++
			}
		}
		if waiting != 2 {
			t.Errorf("%s: %d claims wait, want 2", rule, waiting)
		}
		want := `PK="EMAIL#x" u,a[u,b u,c]`
		if rule == view.KeepLast {
			want = `PK="EMAIL#x" u,c[u,a u,b]`
		}
		if got := contested(); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: contested are %q, want %s", rule, got, want)
		}
		if err := s.Write(t.Context(), deliveries(t, s, cs[3:]...)); err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		if got, want := holders(t, store), "x=c 3, y=a 4, z=b 5"; got != want {
			t.Errorf("%s: the rows are %s, want %s", rule, got, want)
		}
		if got := contested(); got != nil {
			t.Errorf("%s: contested are %q, want none", rule, got)
		}
	}
}

// The list of contested rows does not show masked values.
func TestContested_Masked(t *testing.T) {
	store := newShelf()
	for _, c := range []struct {
		hides string
		want  string
	}{
		{"Email", "*** u,a[u,b]"}, {"SK", "*** ***[***]"}, {"Total", `PK="EMAIL#x" u,a[u,b]`},
	} {
		o := byEmail(t, store, view.KeepFirst)
		o.Mask = sinktest.Mask(t, c.hides)
		s := newSink(t, o)
		outcomesOf(t, s, changes(t, moved("a", "", "x", "1"), moved("b", "", "x", "2"))...)
		for r, err := range s.Contested(t.Context(), []string{"PK", "SK"}) {
			if err != nil {
				t.Fatal(err)
			}
			if got := masked.ReplaceAllString(fmt.Sprint(r.Row, " ", r.Owner, r.Waiting), "***"); got != c.want {
				t.Errorf("%s is hidden: got %s, want %s", c.hides, got, c.want)
			}
		}
	}
}

func TestContested_Store(t *testing.T) {
	for _, err := range newSink(t, byEmail(t, struct {
		view.Store
		view.ItemStore
	}{}, "")).Contested(t.Context(), nil) {
		if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "ClaimLister") {
			t.Errorf("a store that lists nothing: got %v", err)
		}
	}
	for r, err := range newSink(t, byStatus(t, nil)).Contested(t.Context(), nil) {
		t.Errorf("rows that guard themselves: got %v, %v", r, err)
	}
}
