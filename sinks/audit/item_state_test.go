package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
)

// versionOf returns the version of a change of a stream. A number 0 belongs to a backfill.
func versionOf(t *testing.T, epoch int, number string) record.Version {
	t.Helper()
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040s", epoch, number))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A sink may have a change that the state of an item does not have, if that change can be newer than what the state was
// read from.
func TestItemState_MayLack(t *testing.T) {
	const earlier, stream, later = 1000, 2000, 3000 // epochs of streams
	none := record.Version{}
	numbers := map[string]func(n int) string{
		"DynamoDB":       func(n int) string { return strings.Repeat("1", 20) + fmt.Sprint(n) },
		"DynamoDB Local": func(n int) string { return fmt.Sprint(n) },
	}
	for name, number := range numbers {
		older, same, newer := versionOf(t, stream, number(4)), versionOf(t, stream, number(5)), versionOf(t, stream, number(6))
		backfill, laterBackfill := versionOf(t, stream, "0"), versionOf(t, later, "0")
		ofEarlierStream, ofLaterStream := versionOf(t, earlier, number(9)), versionOf(t, later, number(5))
		versions := map[string]record.Version{
			"nothing": none, "an older change": older, "the same change": same, "a newer change": newer,
			"an item of a backfill": backfill, "an item of a later backfill": laterBackfill,
			"a change of an earlier stream": ofEarlierStream, "a change of a later stream": ofLaterStream,
		}
		for _, test := range []struct {
			evidence audit.Evidence
			state    record.Version
			mayLack  []string // keys of versions
		}{
			{audit.TableRead, backfill, nil},
			{audit.TableRead, versionOf(t, 0, "0"), nil},

			{audit.LastRecord, same, []string{"a newer change", "an item of a later backfill", "a change of a later stream"}},
			// the stream is unknown: the numbers decide
			{audit.LastRecord, versionOf(t, 0, number(5)), []string{"a newer change", "a change of an earlier stream"}},

			{audit.TableSnapshot, backfill, []string{"an older change", "the same change", "a newer change",
				"an item of a later backfill", "a change of an earlier stream", "a change of a later stream"}},
			{audit.TableSnapshot, versionOf(t, 0, "0"), []string{"an older change", "the same change", "a newer change",
				"a change of an earlier stream", "a change of a later stream"}},

			{audit.NoEvidence, versionOf(t, 0, "0"), []string{"an older change", "the same change", "a newer change",
				"an item of a backfill", "an item of a later backfill", "a change of an earlier stream", "a change of a later stream"}},
		} {
			state := audit.ItemState{Evidence: test.evidence}
			state.Change.Version = test.state
			mayLack := make(map[string]bool)
			for _, what := range test.mayLack {
				mayLack[what] = true
			}
			for what, newest := range versions {
				if got := state.MayLack(newest); got != mayLack[what] {
					t.Errorf("%s: evidence %d at %v, the sink has %s (%v): %v, want %v", name, test.evidence, test.state, what, newest, got, mayLack[what])
				}
			}
		}
	}
}

// The last record of an item shows its state up to the record's version. An item of a backfill, which an archive keeps
// as a record, shows the table as of a time.
func TestLastState(t *testing.T) {
	w := newWorld(t, shop)
	changed := w.record(w.change("P0", product(0, "N0", 1)))
	if changed.Evidence != audit.LastRecord || changed.Change.Op != record.Snapshot || changed.Change.Old.Exists() {
		t.Errorf("a change: %+v", changed)
	}
	removed := audit.LastState(*audit.Removal(&changed.Change))
	if removed.Evidence != audit.LastRecord || !removed.Change.Removed() {
		t.Errorf("a removal: %+v", removed)
	}
	ofBackfill := w.record(string(w.snapshot("P0").RecordJSON()))
	if ofBackfill.Evidence != audit.TableSnapshot || !ofBackfill.Change.New.Exists() {
		t.Errorf("an item of a backfill: %+v", ofBackfill)
	}
}
