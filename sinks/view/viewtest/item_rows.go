package viewtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunItemRows checks a store of items with several rows. It checks each kind of write separately.
func RunItemRows(t *testing.T, open Open) {
	checks := make(map[string]func(*testing.T, *storeCheck))
	for name, check := range map[string]func(itemRowsCheck){
		"Replaces":    itemRowsCheck.replaces,
		"LostShares":  itemRowsCheck.lostShares,
		"OtherItems":  itemRowsCheck.otherItems,
		"OtherSinks":  itemRowsCheck.otherSinks,
		"OtherBirth":  itemRowsCheck.otherBirth,
		"ManyRows":    itemRowsCheck.manyRows,
		"TooMany":     itemRowsCheck.tooMany,
		"NewerWins":   itemRowsCheck.newerWins,
		"GoesOnAfter": itemRowsCheck.goesOnAfterACrash,
		"InShards":    itemRowsCheck.inShards,
	} {
		checks[name] = func(_ *testing.T, s *storeCheck) { check(itemRowsCheck{s}) }
	}
	runChecks(t, open, target, checks)
}

// itemRowsCheck is a store with helpers to check its writes.
type itemRowsCheck struct{ *storeCheck }

// contributionWith returns the contribution of an item that has rows at the sort keys sks.
func (s itemRowsCheck) contributionWith(sequence int, sks ...string) state.Contribution {
	c := state.Contribution{Version: version(s.t, sequence)}
	for _, sk := range sks {
		c.Shares = append(c.Shares, state.Share{Group: s.rowAt(sk), Values: []string{"digest of " + sk}})
	}
	return c
}

func (s itemRowsCheck) rowAt(sk string) state.Row { return makeRow(s.t, "a", sk) }

// writeRows replaces an item's contribution and its rows. expected is the contribution before the write, and next is
// the contribution after it. writeRows puts all rows that the item has after the write, including unchanged rows.
func (s itemRowsCheck) writeRows(source item.Key, expected, next state.Contribution) view.Result {
	s.t.Helper()
	w := state.ItemRowsWrite{Source: source, Expected: expected, Next: next}
	for _, share := range next.Shares {
		_, sk, _ := share.Group.Decode()
		w.Puts = append(w.Puts, state.RowPut{Row: share.Group, Attributes: []state.Column{{Name: "text", Value: sk}}})
	}
	for _, share := range expected.Shares {
		if !slices.ContainsFunc(next.Shares, func(o state.Share) bool { return o.Group == share.Group }) {
			w.Deletes = append(w.Deletes, share.Group)
		}
	}
	return s.replace(w)
}

func (s itemRowsCheck) replace(w state.ItemRowsWrite) view.Result {
	s.t.Helper()
	return s.onlyResult(s.ReplaceItemRows(s.t.Context(), s.target, []state.ItemRowsWrite{w}))
}

// wantWritten checks that a write succeeded, and that the rows after it have the sort keys sks.
func (s itemRowsCheck) wantWritten(what string, r view.Result, sks ...string) {
	s.t.Helper()
	wantDone(s.t, what, r)
	s.wantRowsAt(what, sks...)
}

// wantLostWrite checks that a write was lost, and that the rows after it have the sort keys sks.
func (s itemRowsCheck) wantLostWrite(what string, r view.Result, sks ...string) {
	s.t.Helper()
	wantLost(s.t, what, r)
	s.wantRowsAt(what, sks...)
}

func (s itemRowsCheck) wantRowsAt(what string, sks ...string) {
	s.t.Helper()
	checkEqual(s.t, what, sortKeys(s.t, s.Rows(s.t.Context(), s.target.Table, view.Query{})), sks)
}

func (s itemRowsCheck) replaces() {
	none, one := state.Contribution{}, s.contributionWith(1, "x", "y")
	s.wantWritten("the first rows", s.writeRows("i", none, one), "x", "y")
	s.wantLostWrite("the first rows again", s.writeRows("i", none, one), "x", "y")
	two := s.contributionWith(2, "y", "z")
	s.wantWritten("other rows", s.writeRows("i", one, two), "y", "z")
	s.wantLostWrite("rows after an older contribution", s.writeRows("i", one, s.contributionWith(3, "x")), "y", "z")
	if got := s.contribution("i"); got.Version != two.Version ||
		!slices.EqualFunc(got.Shares, two.Shares, state.Share.Equal) {
		s.t.Errorf("stored is %+v, want %+v", got, two)
	}
	gone := s.contributionWith(4)
	s.wantWritten("no row", s.writeRows("i", two, gone))
	s.wantLostWrite("a late row", s.writeRows("i", two, s.contributionWith(3, "x")))
	s.wantWritten("rows after the removal", s.writeRows("i", gone, s.contributionWith(5, "x")), "x")
}

// A change may be written in several transactions, its parts. The contributions that they write have the same version
// and are void. Only the shares distinguish them.
func (s itemRowsCheck) lostShares() {
	first, second := s.contributionWith(1, "x"), s.contributionWith(1, "x", "y")
	first.Void, second.Void = true, true
	s.wantWritten("the first part", s.writeRows("i", state.Contribution{}, first), "x")
	s.wantWritten("the second part", s.writeRows("i", first, second), "x", "y")
	s.wantLostWrite("a newer change that read the first part", s.writeRows("i", first, s.contributionWith(2)), "x", "y")
	s.wantWritten("a newer change that read the second part", s.writeRows("i", second, s.contributionWith(2)))
}

func (s itemRowsCheck) otherItems() {
	one := s.contributionWith(1, "x")
	s.wantWritten("a row", s.writeRows("i", state.Contribution{}, one), "x")
	r := s.writeRows("j", state.Contribution{}, s.contributionWith(9, "y", "x"))
	e, ok := errors.AsType[*view.CollisionError](r.Err)
	if !ok || e.Owner != "i" || e.Source != "j" || e.RowKey != s.rowAt("x") {
		s.t.Errorf("a row of another item: %v", r.Err)
	}
	checkPermanent(s.t, "a row of another item", r.Err)
	s.wantRowsAt("nothing of the write is left", "x")
	s.wantWritten("its row", s.writeRows("j", state.Contribution{}, s.contributionWith(9, "y")), "x", "y")
	wrong := state.ItemRowsWrite{Source: "j", Expected: s.contributionWith(9, "y"), Next: s.contributionWith(10),
		Deletes: []state.Row{s.rowAt("y"), s.rowAt("x"), s.rowAt("nothing")}}
	s.wantWritten("a delete of a row of another item", s.replace(wrong), "x")
}

func (s itemRowsCheck) otherSinks() {
	s.wantWritten("a row", s.writeRows("i", state.Contribution{}, s.contributionWith(1, "x")), "x")
	two := s.target
	two.View = "two"
	other := itemRowsCheck{s.withTarget(two)}
	r := other.writeRows("i", state.Contribution{}, s.contributionWith(2, "x"))
	wantForeign(s.t, "a row of another sink", r.Err, s.target, s.rowAt("x"))
	s.wantWritten("a delete of a row of another sink", other.replace(state.ItemRowsWrite{Source: "i", Next: s.contributionWith(2),
		Deletes: []state.Row{s.rowAt("x")}}), "x")
}

// A row of another birth makes the whole call fail fatally.
func (s itemRowsCheck) otherBirth() {
	s.wantWritten("a row", s.writeRows("i", state.Contribution{}, s.contributionWith(1, "x")), "x")
	other := s.target
	other.Birth = "another"
	w := state.ItemRowsWrite{Source: "i", Next: s.contributionWith(2, "x"), Puts: []state.RowPut{{Row: s.rowAt("x")}}}
	_, err := s.ReplaceItemRows(s.t.Context(), other, []state.ItemRowsWrite{w})
	wantOtherBirth(s.t, "a row of another birth", err)
	s.wantRowsAt("after a write of another birth", "x")
}

// sink returns a view with a row for each of the item's lines. maxRows is the maximum number of rows; 0 if there is no
// maximum.
func (s itemRowsCheck) sink(store view.Store, maxRows int) *view.Sink {
	s.t.Helper()
	spec := sinktest.LinesBy("")
	spec.Max = maxRows
	return s.linesView(view.Options{Store: store, ForEach: spec}, "{@key}", "{@each}")
}

// linesView returns a view with the options o. pk and sk are the templates of its row key. The attribute "text" of a
// row is the element.
func (s itemRowsCheck) linesView(o view.Options, pk, sk string) *view.Sink {
	s.t.Helper()
	elementOptions := template.Options{Each: true, Identity: true, Shard: true}
	o.Name, o.Pipeline, o.Table = s.target.View, s.target.Pipeline, s.target.Name
	o.PK, o.SK = attribute(s.t, "PK", pk, elementOptions), attribute(s.t, "SK", sk, elementOptions)
	o.Attributes = []view.Attribute{attribute(s.t, "text", "{each}", elementOptions)}
	v, err := view.New(o)
	must(s.t, err)
	return v
}

// lines returns a stream of changes of one item. After change i the item has counts[i] lines, and the text of each line
// contains i.
func (s itemRowsCheck) lines(counts ...int) *sinktest.Stream {
	s.t.Helper()
	var records []sinktest.Record
	for i, n := range counts {
		list := []sinktest.Attr{}
		for range n {
			list = append(list, text(fmt.Sprint("version ", i)))
		}
		r := sinktest.Record{EventName: "INSERT",
			New: sinktest.Item{"PK": text("a"), "SK": text("1"), "Lines": sinktest.Attr{"L": list}}}
		if i > 0 {
			r.EventName, r.Old = "MODIFY", records[i-1].New
		}
		records = append(records, r)
	}
	stream, err := sinktest.Build(records...)
	must(s.t, err)
	return stream
}

// wantLines checks that there are n rows, and that all of them have the text of one change. change is the index of this
// change.
func (s itemRowsCheck) wantLines(what string, n, change int) {
	s.t.Helper()
	rows := all(s.t, s.Rows(s.t.Context(), s.target.Table, view.Query{}))
	for _, r := range rows {
		v, _ := r.Item.Get("text")
		if text, _ := v.Text(); text != fmt.Sprint("version ", change) {
			s.t.Fatalf("%s: a row has the text %q", what, text)
		}
	}
	if len(rows) != n {
		s.t.Errorf("%s: %d rows, want %d", what, len(rows), n)
	}
}

// An item may have more rows than a transaction has actions.
func (s itemRowsCheck) manyRows() {
	sink, stream := s.sink(s, 0), s.lines(230, 250, 120, 0)
	for i, n := range []int{230, 250, 120, 0} {
		must(s.t, writeOne(s.t, sink, stream, i))
		s.wantLines(fmt.Sprint("change ", i), n, i)
		if c := s.contribution(stream.Changes[i].Key); c.Void || len(c.Shares) != n {
			s.t.Errorf("change %d: void %v, %d shares", i, c.Void, len(c.Shares))
		}
	}
}

// An item with too many elements has no rows, and its change fails.
func (s itemRowsCheck) tooMany() {
	sink, stream := s.sink(s, 3), s.lines(3, 4, 2)
	must(s.t, writeOne(s.t, sink, stream, 0))
	checkPermanent(s.t, "four elements", writeOne(s.t, sink, stream, 1), "Lines has 4 elements, and 3 are the most")
	s.wantLines("four elements", 0, 0)
	must(s.t, writeOne(s.t, sink, stream, 2))
	s.wantLines("two elements", 2, 2)
	must(s.t, writeOne(s.t, sink, stream, 0))
	s.wantLines("three elements, late", 2, 2)
}

// interruptedStore is a store that is interrupted before one of its writes. If interrupt is set, the store then calls
// it, and continues. Otherwise this write and all later writes fail, as if the process had died.
type interruptedStore struct {
	itemRowsCheck
	writesLeft int    // number of writes before the interruption; negative for no interruption
	interrupt  func() // does what another process would do; may be nil
}

const neverInterrupted = -1

var errDied = pipeline.Transient(errors.New("the process died"))

// MaxActions returns a low limit, so that every store needs several transactions.
func (p *interruptedStore) MaxActions() int { return 5 }

func (p *interruptedStore) ReplaceItemRows(
	ctx context.Context, t view.Target, ws []state.ItemRowsWrite,
) ([]view.Result, error) {
	if p.writesLeft == 0 {
		if p.interrupt == nil {
			return nil, errDied
		}
		p.interrupt()
		p.writesLeft = neverInterrupted
	}
	p.writesLeft--
	return p.itemRowsCheck.ReplaceItemRows(ctx, t, ws)
}

// If a newer change comes between two transactions of a change, the newer change wins.
func (s itemRowsCheck) newerWins() {
	stream := s.lines(10, 12, 3)
	must(s.t, writeOne(s.t, s.sink(s, 0), stream, 0))
	newer := func() { must(s.t, writeOne(s.t, s.sink(s, 0), stream, 2)) }
	store := &interruptedStore{itemRowsCheck: s, writesLeft: 2, interrupt: newer}
	must(s.t, writeOne(s.t, s.sink(store, 0), stream, 1))
	s.wantLines("the newer change", 3, 2)
}

// If a crash interrupts a change, the same change completes it, or a newer change replaces it.
func (s itemRowsCheck) goesOnAfterACrash() {
	stream := s.lines(10, 12, 3, 11)
	sinkWith := func(writesLeft int) *view.Sink {
		return s.sink(&interruptedStore{itemRowsCheck: s, writesLeft: writesLeft}, 0)
	}
	must(s.t, writeOne(s.t, s.sink(s, 0), stream, 0))
	if err := writeOne(s.t, sinkWith(2), stream, 1); !errors.Is(err, errDied) {
		s.t.Fatal(err)
	}
	if c := s.contribution(stream.Changes[1].Key); !c.Void || c.Version != stream.Changes[1].Version {
		s.t.Errorf("a change in part: %+v", c)
	}
	must(s.t, writeOne(s.t, s.sink(s, 0), stream, 0)) // an older change
	must(s.t, writeOne(s.t, sinkWith(neverInterrupted), stream, 1))
	s.wantLines("the same change", 12, 1)
	if err := writeOne(s.t, sinkWith(1), stream, 2); !errors.Is(err, errDied) {
		s.t.Fatal(err)
	}
	must(s.t, writeOne(s.t, s.sink(s, 0), stream, 3))
	s.wantLines("a newer change", 11, 3)
}
