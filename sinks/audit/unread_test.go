package audit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// compare compares an item with a sink.
func (w *world) compare(name string, known audit.ItemState, places ...audit.Entry) []audit.Finding {
	w.t.Helper()
	fs, err := w.open(audit.Options{})[name].Compare(w.t.Context(), &known, places)
	if err != nil {
		w.t.Fatal(err)
	}
	return fs
}

// record returns the state of an item whose last record is line.
func (w *world) record(line string) audit.ItemState {
	w.t.Helper()
	c, err := record.OneChange(w.decoder().DecodeLines([]byte(line)), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return audit.LastState(c)
}

// A sink that has a newer change than the last record of an item is not compared. The finding keeps its difference and
// the reason for it.
func TestUnreadRecord(t *testing.T) {
	w := newWorld(t, shop)
	read := w.change("P0", product(0, "N0", 1))
	w.send(read, w.change("P0", product(0, "N0", 2)))
	c := w.record(read)
	for _, name := range []string{"products", "documents", "shelves"} {
		for _, f := range w.compare(name, c) {
			if f.Verdict != audit.Skipped || f.Underlying != audit.Wrong || !f.Unread {
				t.Errorf("%s: %+v, want a skipped finding", name, f)
			}
		}
	}

	// The records of another item are not given.
	row := audit.Entry{Kind: audit.Row, Place: "PRODUCTS%23S0,P0"}
	gone := audit.ItemState{Change: *audit.Removal(w.snapshot("P0")), Evidence: audit.NoEvidence}
	if fs := w.compare("products", gone, row); len(fs) != 1 || !fs[0].Unread || fs[0].Underlying != audit.Extra {
		t.Errorf("an item without a record: %+v", fs)
	}
}

// A backfill brought an item, and no record of it is given: the records do not show that the item is gone.
func TestUnreadRecord_ItemOfABackfill(t *testing.T) {
	w := newWorld(t, shop)
	gone := audit.ItemState{Change: *w.snapshot("P0"), Evidence: audit.NoEvidence}
	w.put("P0", product(0, "N0", 1))
	w.sql(1, `UPDATE "_tw_views" SET version = '00000000000000000000000000000000000000000000000000' WHERE source = 'P0' AND view = 'products'`)
	row := audit.Entry{Kind: audit.Row, Place: "PRODUCTS%23S0,P0"}
	if fs := w.compare("products", gone, row); len(fs) != 1 || !fs[0].Unread || fs[0].Underlying != audit.Extra {
		t.Errorf("findings %+v, want one that is skipped", fs)
	}
}

// A snapshot does not show whether it has a change of the stream, or the change came later. It is newer than what a
// backfill brought.
func TestUnreadRecord_Snapshot(t *testing.T) {
	ofBackfill, ofStream := strings.Repeat("0", 50), strings.Repeat("0", 29)+"100000000000000000101"
	for _, test := range []struct {
		version          string // of the row
		damaged, removed audit.Verdict
	}{{ofStream, audit.Skipped, audit.Skipped}, {ofBackfill, audit.Wrong, audit.Extra}} {
		w := newWorld(t, shop)
		w.put("P0", product(0, "N0", 1))
		w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '"N0"', '"NX"'), version = ? WHERE source = 'P0' AND view = 'products'`, test.version)
		if fs := w.compare("products", audit.ItemState{Change: *w.snapshot("P0"), Evidence: audit.TableSnapshot}); len(fs) != 1 || fs[0].Verdict != test.damaged {
			t.Errorf("a damaged row: %+v, want %v", fs, test.damaged)
		}

		row := audit.Entry{Kind: audit.Row, Place: "PRODUCTS%23S0,P0"}
		gone := audit.ItemState{Change: *audit.Removal(w.snapshot("P0")), Evidence: audit.TableSnapshot}
		if fs := w.compare("products", gone, row); len(fs) != 1 || fs[0].Verdict != test.removed {
			t.Errorf("a row of a removed item: %+v, want %v", fs, test.removed)
		}
	}
}

// A row of another sink has the version of another item. It does not prove that a record was not read.
func TestUnreadRecord_OtherSink(t *testing.T) {
	w := newWorld(t, shop)
	read := w.change("P0", product(0, "N0", 1))
	w.send(read)
	w.put("P1", product(1, "N1", 1))
	c := w.record(read)
	w.seq += 100
	newer := w.record(w.change("P2", product(2, "N2", 1))).Change
	w.sql(1, `UPDATE "_tw_views" SET view = 'other', version = ? WHERE source = 'P0' AND view = 'products'`, newer.Version.String())
	if fs := w.compare("products", c); len(fs) != 1 || fs[0].Verdict != audit.Wrong || !strings.Contains(fs[0].FoundText, "a row of other") {
		t.Errorf("a row of another sink: %+v, want wrong", fs)
	}
	w.sql(1, `UPDATE "_tw_views" SET view = 'products', source = 'P8' WHERE source = 'P0' AND view = 'other'`)
	if fs := w.compare("products", c); len(fs) != 1 || fs[0].Verdict != audit.Wrong || fs[0].Owner != "P8" {
		t.Errorf("a row of another item: %+v, want wrong", fs)
	}
}

// A tombstone of another item has the version of the other item.
func TestUnreadRecord_OtherTombstone(t *testing.T) {
	w := newWorld(t, shop)
	read := w.change("P0", product(0, "N0", 1))
	w.send(read)
	c := w.record(read)
	other := w.record(w.change("P8", product(8, "N8", 1)))
	w.sql(1, `UPDATE "_tw_views" SET item = NULL, attributes = NULL, source = 'P8', version = ? WHERE source = 'P0' AND view = 'products'`, other.Change.Version.String())
	if fs := w.compare("products", c); len(fs) != 1 || fs[0].Verdict != audit.Missing {
		t.Errorf("a tombstone of another item: %+v, want missing", fs)
	}
}

// The finding of an unread record has all reasons, and the verdict that it has without them.
func TestUnreadRecord_Reasons(t *testing.T) {
	w := newWorld(t, shop)
	read := w.change("P1", product(1, "Ann", 1))
	w.send(read)
	c := w.record(read)
	c.Change.Version = record.Version{} // of an older record
	letters, err := w.stores.DeadLetters(t.Context(), w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	letter := pipeline.DeadLetter{Sink: "products", Pipeline: w.cfg.Name, Key: c.Change.Key, Version: c.Change.Version, Class: "write", Raw: []byte("{}")}
	if err := letters.Put(t.Context(), []pipeline.DeadLetter{letter}); err != nil {
		t.Fatal(err)
	}
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, 'Ann', 'Eve') WHERE source = 'P1' AND view = 'products'`)
	fs := w.compare("products", c)
	if len(fs) != 1 || fs[0].Verdict != audit.Held || fs[0].Underlying != audit.Wrong || !fs[0].Unread ||
		fs[0].Reason != "dead letters: 1; the sink has a change of the item that no named record has" {
		t.Errorf("an unread record and a dead letter: %+v", fs)
	}
}

// noState has stores that record no births.
type noState struct{ sinks.Stores }

func (noState) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

// A sink that never started has no row. If births are not recorded, a missing table is an error.
func TestMissingTable(t *testing.T) {
	w := newWorld(t, shop)
	c := w.snapshotOf("P0")
	open := func(stores sinks.Stores) []audit.Sink {
		opened, err := audit.Open(t.Context(), w.cfg, stores, audit.Options{Sinks: []string{"products"}, AllowUnfilled: true})
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	looking, err := local.Open(t.TempDir(), local.LookOnly())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = looking.Close() }()
	if _, err := open(looking)[0].Compare(t.Context(), c, []audit.Entry{{Kind: audit.Row, Place: "PRODUCTS%23S0,P0"}}); err != nil {
		t.Errorf("a sink that never started: %v", err)
	}
	if _, err := open(noState{looking})[0].Compare(t.Context(), c, []audit.Entry{{Kind: audit.Row, Place: "PRODUCTS%23S0,P0"}}); !errors.Is(err, view.ErrNoTable) {
		t.Errorf("births are not recorded: %v, want ErrNoTable", err)
	}
}
