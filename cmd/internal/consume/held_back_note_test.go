package consume

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// notebook keeps the last note, and counts the writes.
type notebook struct {
	last   state.HeldBack
	writes int
	err    error
}

func (n *notebook) SetHeldBack(_ context.Context, h state.HeldBack) error {
	if n.err == nil {
		n.last = h
		n.writes++
	}
	return n.err
}

func (n *notebook) HeldBack(context.Context) ([]state.HeldBack, error) {
	return []state.HeldBack{n.last}, nil
}

// A note is written when it changes, and otherwise once an hour. It is written again if the store did not keep it.
func TestHeldBackNote_IsWrittenOnChange(t *testing.T) {
	start := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	held := func(n int, since time.Duration, bytes int64) (all []state.HeldBackReason) {
		for i := range n {
			all = append(all, state.HeldBackReason{Shard: fmt.Sprint("shard-", i), Sink: "orders", Reason: pipeline.HeldByShare, Since: start.Add(since), Bytes: bytes})
		}
		return all
	}
	book := &notebook{}
	note := heldBackNote{store: book, consumer: "task-1-x"}
	for _, step := range []struct {
		what   string
		at     time.Duration
		held   []state.HeldBackReason
		err    error
		writes int // number of writes so far
		total  int // number of shards in the note
	}{
		{"nothing is held back", 0, nil, nil, 0, 0},
		{"a moment ago", 10 * time.Second, held(1, 0, 5), nil, 0, 0},
		{"for long", 30 * time.Second, held(1, 0, 5), nil, 1, 1},
		{"with other bytes", 40 * time.Second, held(1, 0, 7), nil, 1, 1},
		{"by more, and the store is down", 50 * time.Second, held(25, 0, 7), os.ErrDeadlineExceeded, 1, 1},
		{"by more", 60 * time.Second, held(25, 0, 7), nil, 2, 25},
		{"the same after half an hour", 30 * time.Minute, held(25, 0, 9), nil, 2, 25},
		{"the same after an hour", 62 * time.Minute, held(25, 0, 9), nil, 3, 25},
		{"anew", 63 * time.Minute, held(25, time.Hour, 9), nil, 4, 25},
		{"no more", 64 * time.Minute, nil, nil, 5, 0},
		{"no more for a day", 24 * time.Hour, nil, nil, 5, 0},
	} {
		book.err = step.err
		if err := note.writeIfChanged(t.Context(), start.Add(step.at), step.held, nil); (err == nil) != (step.err == nil) {
			t.Errorf("%s: %v", step.what, err)
		}
		if book.writes != step.writes || book.last.Total != step.total || len(book.last.Worst) != min(step.total, 20) {
			t.Errorf("%s: %d writes, %d of %d noted, want %d, of %d", step.what, book.writes, len(book.last.Worst), book.last.Total, step.writes, step.total)
		}
	}
	if book.last.Consumer != "task-1-x" {
		t.Errorf("noted %+v", book.last)
	}
}

// /status names shards, not the partitions of the pipeline.
func TestConsumerStatus_HeldBack(t *testing.T) {
	since := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	st := coordinator.Status{Partitions: []coordinator.PartitionStatus{{Name: "shardId-1~7", Shard: "shardId-1"}}}
	got := newProcess(st, []pipeline.HeldBack{
		{Partition: "shardId-1~7", Sink: "history", Reason: pipeline.HeldByFilling, Since: since, Bytes: 5},
		{Partition: "shardId-2~9", Reason: pipeline.HeldByBackoff, Since: since},
	}).HeldBack
	want := []state.HeldBackReason{
		{Shard: "shardId-1", Sink: "history", Reason: "filling", Since: since, Bytes: 5},
		{Shard: "shardId-2", Reason: "backoff", Since: since},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("held back %+v, want %+v", got, want)
	}
	if b, err := json.Marshal(newProcess(coordinator.Status{}, nil)); err != nil || !json.Valid(b) || !reflect.DeepEqual(newProcess(st, nil).HeldBack, []state.HeldBackReason{}) {
		t.Errorf("nothing is held back: %s, %v", b, err)
	}
}

// status shows the notes that live consumers stored beside their leases, and calls no consumer.
func TestStatus_HeldBack(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		file:                                "version: 1\nname: shop\nsource: {table: shop}\nsinks: {orders: {view: {table: orders, key: {PK: '{@key}'}}}}\n",
		filepath.Join(out, "pipeline.json"): `{"pipeline":"shop","table_in_key":false}`,
		filepath.Join(out, "leases.json"): `{"version":2,"pipeline":"shop","leases":[{"shard":"shardId-1","stream":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000","owner":"task-1-x","checkpoint":"700","counter":7}],` +
			`"members":[{"worker":"task-1-x","name":"task-1","beat":5,"leases":1}],"gaps":[]}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leases, err := leasesfile.Open(filepath.Join(out, "leases.json"), "shop") // a running consumer has it open, too
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leases.Close() }()
	status := []string{"status", "-c", file, "--local", out, "--no-stream", "--no-watch"}
	wants(t, ends(t, cli.ExitOK, status...), "all is well") // nothing was noted yet
	db, err := sqlite.Open(t.Context(), local.Dir(out).Views(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	now := time.Now()
	for _, consumer := range []string{"task-1-x", "task-0-dead"} {
		note := heldBackNote{store: db.State("shop"), consumer: consumer}
		held := []state.HeldBackReason{{Shard: "shardId-1", Sink: "of-" + consumer, Reason: pipeline.HeldByShare, Since: now.Add(-5 * time.Minute), Bytes: 1 << 20}}
		if err := note.writeIfChanged(t.Context(), now, held, nil); err != nil {
			t.Fatal(err)
		}
	}
	text := ends(t, cli.ExitOK, status...)
	wants(t, text, "held back:\n", "shardId-1  of-task-1-x  share   5m", "1,048,576  task-1-x")
	var r struct {
		HeldBack []struct{ Shard, Sink, Reason, Consumer string } `json:"held_back"`
	}
	if err := json.Unmarshal([]byte(ends(t, cli.ExitOK, append(status, "-o", "json")...)), &r); err != nil || len(r.HeldBack) != 1 || r.HeldBack[0].Consumer != "task-1-x" {
		t.Errorf("held back %+v, %v", r.HeldBack, err)
	}
}
