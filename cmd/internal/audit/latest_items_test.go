package audit

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
)

// A folder may hold entries under keys that cannot be decoded. The other items are read.
func TestLatest_KeysOfNoItem(t *testing.T) {
	none := func(*latestItems) error { return nil }
	l, err := openLatest(t.Context(), filepath.Join(t.TempDir(), "items.db"), "records", record.DecoderOptions{Table: "shop"}, none)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	items, err := l.Read(t.Context(), []item.Key{"%zz", "P1"})
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if err := items[0].Err; err == nil || !strings.Contains(err.Error(), "under a key that no table has") {
		t.Errorf("a key of no item: %v", err)
	}
	if items[1].Err != nil || !items[1].Change.Removed() || items[1].Evidence != audit.NoEvidence {
		t.Errorf("an item that is not there: %+v", items[1])
	}
}

// A snapshot has the state of the table at its time. Records are newer. An item that neither the snapshot nor a record
// has was removed before.
func TestLatest_Snapshot(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 53, 0, 0, time.UTC)
	decoder := record.DecoderOptions{Table: "shop", EpochZero: true}
	line := func(pk, state string, at time.Time) string {
		return fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"Keys":{"PK":{"S":%[1]q}},"SequenceNumber":"%024[2]d","ApproximateCreationDateTime":%[2]d,`+
			`"StreamViewType":"NEW_IMAGE","NewImage":{"PK":{"S":%[1]q},"State":{"S":%[3]q}}}}`+"\n", pk, at.Unix(), state)
	}
	hour := time.Hour
	l, err := openLatest(t.Context(), filepath.Join(t.TempDir(), "items.db"), "records", decoder, func(l *latestItems) error {
		items := record.NewSnapshotDecoder(record.SnapshotOptions{DecoderOptions: decoder, Keys: []string{"PK"}})
		lines := `{"Item":{"PK":{"S":"unchanged"},"State":{"S":"snapshot"}}}` + "\n" + `{"Item":{"PK":{"S":"newer"},"State":{"S":"snapshot"}}}`
		if err := l.add(t.Context(), items.DecodeLines([]byte(lines))); err != nil {
			return err
		}
		l.hasSnapshot = true
		return l.add(t.Context(), record.NewDecoder(decoder).DecodeLines([]byte(line("newer", "record", at.Add(hour)))))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	items, err := l.Read(t.Context(), []item.Key{"unchanged", "newer", "removed"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		state    string
		evidence audit.Evidence
	}{{`"snapshot"`, audit.TableSnapshot}, {`"record"`, audit.LastRecord}, {"", audit.TableSnapshot}} {
		c, state := &items[i].Change, ""
		if v, ok := c.New.Get("State"); ok {
			state = string(v.AppendJSON(nil))
		}
		if got := items[i].Evidence; state != want.state || got != want.evidence || c.Removed() != (state == "") {
			t.Errorf("%s: %q of %v, removed %v, want %+v", c.Key, state, got, c.Removed(), want)
		}
	}
}
