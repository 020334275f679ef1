package audit_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// Open refuses unknown sinks and sinks that cannot be compared. The error contains the name of the sink.
func TestOpenRefuses(t *testing.T) {
	w := newWorld(t, shop+"  log:\n    archive: {prefix: changes/}\n")
	fill(w)
	for _, c := range []struct{ sink, want string }{
		{"nothing", `no sink is named "nothing": the file has products, names`},
		{"log", "the sink log keeps no state"},
	} {
		_, err := audit.Open(t.Context(), w.cfg, w.stores, audit.Options{Sinks: []string{"products", c.sink}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.sink, err, c.want)
		}
	}

	w.cfg = parse(t, shop+"  later:\n    view: {table: views, key: {PK: 'LATER', SK: '{@key}'}}\n")
	w.put("P0", product(0, "N0", 1)) // the sink later waits for its backfill
	_, err := audit.Open(t.Context(), w.cfg, w.stores, audit.Options{})
	if err == nil || !strings.Contains(err.Error(), "the sink later is waiting: fill it first, with tablewake backfill --sink later") {
		t.Errorf("a sink that waits: %v", err)
	}
	if _, err := audit.Open(t.Context(), w.cfg, w.stores, audit.Options{Sinks: []string{"products"}}); err != nil {
		t.Errorf("another sink: %v", err)
	}

	w.cfg = parse(t, "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  rows:\n    view: {table: rows, key: {PK: 'P', SK: '{@key}'}}\n")
	w.cfg.Sinks[0].View.Key[0] = w.cfg.Sinks[0].View.Key[1]
	w.cfg.Sinks[0].View.Key = append(w.cfg.Sinks[0].View.Key[:1], parse(t, shop).Sinks[0].View.Attributes[3]) // {@time}
	_, err = audit.Open(t.Context(), w.cfg, w.stores, audit.Options{})
	if err == nil || !strings.Contains(err.Error(), "sinks.rows") || !strings.Contains(err.Error(), "differs from change to change") {
		t.Errorf("a key of the change's time: %v", err)
	}
}

// A repair of a row keeps the stored values of columns that cannot be derived from the item, such as {@time}.
func TestRepairKeepsTimes(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '10.5', '10.51') WHERE source = 'P1' AND view = 'products'`)
	w.repaired("products")
	w.sql(1, `UPDATE "_tw_views" SET void = 0 WHERE source = 'P1' AND view = 'products' AND item LIKE '%"at":{"S":"2026-01-02T03:04:05%'`)
}

// The audit expects no entry of an item that the condition `when` excludes.
func TestFilters(t *testing.T) {
	w := newWorld(t, strings.ReplaceAll(shop, "group: {PK: 'KEPT", "when: item.Price > 50\n      group: {PK: 'KEPT"))
	fill(w)
	w.want("kept")
	w.change("P0", product(0, "N0", 99))
	w.want("kept", "missing contribution P0")
	w.change("P0", product(0, "N0", 9))
	w.change("P9", product(0, "N9", 9))
	w.want("kept", "extra contribution P9")
}

// If the item itself or another sink has a newer version, an old wrong finding becomes stale.
func TestStale(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.change("P1", product(1, "N1", 11))
	fs, err := w.open(audit.Options{})["products"].Compare(t.Context(), w.snapshotOf("P1"), nil)
	if err != nil || len(fs) != 1 || fs[0].Verdict != audit.Wrong {
		t.Fatalf("%+v, %v", fs, err)
	}
	other := fs[0]
	other.Kind, other.Verdict = audit.Document, audit.Equal
	newer := w.decoder().DecodeLines([]byte(w.change("P1", product(1, "N1", 12)))).Changes[0]
	other.Version = newer.Version
	fs = append(fs, other)
	audit.MarkStale(fs)
	if fs[0].Verdict != audit.Stale || fs[1].Verdict != audit.Equal {
		t.Errorf("another sink has a newer version: %s, %s", fs[0].Verdict, fs[1].Verdict)
	}
	last := audit.LastState(newer)
	if fs, err = w.open(audit.Options{})["products"].Compare(t.Context(), &last, nil); err != nil || fs[0].Verdict != audit.Stale {
		t.Errorf("the item has a newer version: %+v, %v", fs, err)
	}
}

// A finding is equal after it was written as JSON and read again.
func TestFindingJSON(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.change("P1", product(1, "N1", 11))
	for _, f := range w.differences(w.open(audit.Options{})["products"]) {
		b, err := json.Marshal(f)
		var back audit.Finding
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || !reflect.DeepEqual(back, f) {
			t.Errorf("%s: %+v, %v", b, back, err)
		}
		if f.Version.IsZero() || !strings.Contains(string(b), f.Version.String()) {
			t.Errorf("%s has no version", b)
		}
	}
}

// All segments of a sink together have exactly the entries of the whole sink.
func TestSegments(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	for name, s := range w.open(audit.Options{}) {
		whole, parts := stored(t, s, state.Listing{}), make(map[audit.Entry]int)
		for i := range 3 {
			for e, n := range stored(t, s, state.Listing{Segment: i, Segments: 3}) {
				parts[e] += n
			}
		}
		if !reflect.DeepEqual(whole, parts) {
			t.Errorf("%s: %d entries in segments, %d as a whole", name, len(parts), len(whole))
		}
	}
}

func stored(t *testing.T, s audit.Sink, l state.Listing) map[audit.Entry]int {
	t.Helper()
	entries := make(map[audit.Entry]int)
	for e, err := range s.StoredEntries(t.Context(), l) {
		if err != nil {
			t.Fatal(err)
		}
		entries[e]++
	}
	return entries
}
