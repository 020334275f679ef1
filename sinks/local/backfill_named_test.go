package local_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

const streamARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

const archives = oneView + `  log: {archive: {bucket: log, partition: 'dt={@time|date:2006-01-02}', batch: {count: 7}}}
  columns: {archive: {bucket: columns, format: parquet, batch: {count: 7}}}
  each: {archive: {bucket: each, layout: per_item, key: '{PK}/{@version}.json'}}
`

// itemSource is a source of the items from first to last, with size items in each page.
type itemSource struct{ first, last, size, total int }

func (s *itemSource) Read(context.Context) (*pipeline.Page, error) {
	if s.first > s.last {
		return nil, io.EOF
	}
	from := s.first
	var lines strings.Builder
	for ; s.first <= s.last && s.first < from+s.size; s.first++ {
		fmt.Fprintf(&lines, `{"Item":{"PK":{"S":"item%d"},"Total":{"N":"%d"}}}`+"\n", s.first, s.total)
	}
	o := record.SnapshotOptions{DecoderOptions: record.DecoderOptions{StreamARN: streamARN}, Keys: []string{"PK"}}
	page := record.NewSnapshotDecoder(o).DecodeLines([]byte(lines.String()))
	return &pipeline.Page{Partition: "part", Position: pipeline.Position(fmt.Sprint(s.first)), Page: *page}, nil
}

// filled fills sinks with items like a process of a backfill.
func filled(t *testing.T, folder string, src *itemSource, names ...string) {
	t.Helper()
	p, stores := started(t, folder, archives, sinks.Backfill(sinks.BackfillOptions{Sinks: names}))
	if err := p.Run(t.Context(), src, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if l := p.Ledger().Sinks[name]; l.Written+l.Coalesced == 0 || l.DeadLettered > 0 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// readArchive returns the entries of an archive in the order of item and version.
func readArchive(t *testing.T, store *dir.Store) (all []string) {
	t.Helper()
	for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %s", e.Key, e.Change.Op, e.Version))
	}
	return all
}

// If a backfill process is killed, the next process reads items again, in other batches and perhaps with later values.
// An archive that is named in the backfill still has each item once, before the changes of the stream. This is so also
// after a compaction.
func TestBackfill_NamedArchives(t *testing.T) {
	folder := t.TempDir()
	p, stores := started(t, folder, archives)
	replayed(t, p, []string{inserted(1, time.Now(), `"Total":{"N":"3"}`)})
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	names := []string{"first", "log", "columns", "each"}
	filled(t, folder, &itemSource{first: 1, last: 13, size: 13, total: 1}, names...)
	filled(t, folder, &itemSource{first: 1, last: 20, size: 3, total: 2}, names...)

	for _, bucket := range []string{"log", "columns"} {
		store, err := dir.New(dir.Options{Dir: local.Dir(folder).Archive(bucket)})
		if err != nil {
			t.Fatal(err)
		}
		found := readArchive(t, store)
		snapshots := 0
		for _, line := range found {
			if strings.Contains(line, "SNAPSHOT") {
				snapshots++
			}
		}
		first := strings.HasPrefix(found[0], "item1 SNAPSHOT") && strings.HasPrefix(found[1], "item1 INSERT")
		if len(found) != 21 || snapshots != 20 || !first {
			t.Errorf("%s: %d changes, %d of them items:\n%s", bucket, len(found), snapshots, strings.Join(found, "\n"))
		}
		done, err := archive.Compact(t.Context(), archive.CompactOptions{Store: store})
		if err != nil || done.Objects < 4 {
			t.Errorf("%s: compacted %+v: %v", bucket, done, err)
		}
		if again := readArchive(t, store); strings.Join(again, "\n") != strings.Join(found, "\n") {
			t.Errorf("%s: after the compaction\n%s", bucket, strings.Join(again, "\n"))
		}
	}
	objects, err := filepath.Glob(filepath.Join(local.Dir(folder).Archive("each"), "item*", "*.json"))
	if err != nil || len(objects) != 21 {
		t.Errorf("%d objects of items and changes: %v", len(objects), err)
	}
}

// While an archive is being filled, it takes every change of the stream, also from processes that start meanwhile.
func TestStage_ArchiveTakesAll(t *testing.T) {
	folder := t.TempDir()
	_, stores := started(t, folder, archives)
	kept, all := births(t, stores)
	now := time.Now().UTC().Truncate(time.Second)
	_, err := sinks.ChangeBirths(t.Context(), kept, []state.Birth{all["log"], all["each"]}, func(b *state.Birth) {
		b.Stage, b.Run, b.Floor = state.Filling, "r", now
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	p, stores := started(t, folder, archives)
	replayed(t, p, []string{inserted(1, now.Add(-time.Hour), `"Total":{"N":"3"}`)})
	for _, name := range []string{"log", "each"} {
		if l := p.Ledger().Sinks[name]; l.Written != 1 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// If an archive is emptied while it is being filled, Adopt makes the archive live again, and it can be filled again.
func TestAdopt_EmptiedArchive(t *testing.T) {
	folder := t.TempDir()
	_, stores := started(t, folder, archives)
	kept, all := births(t, stores)
	_, err := sinks.ChangeBirths(t.Context(), kept, []state.Birth{all["log"]}, func(b *state.Birth) {
		b.Stage, b.Run = state.Filling, "r"
	})
	if err == nil {
		err = os.RemoveAll(local.Dir(folder).Archive("log"))
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse("tablewake.yaml", []byte(archives), nil)
	if err != nil {
		t.Fatal(err)
	}
	adopted, err := sinks.Adopt(t.Context(), cfg, stores, "")
	if err == nil {
		err = sinks.Accept(t.Context(), cfg, stores, adopted)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, now := births(t, stores); len(adopted) != 1 || now["log"].Stage != state.Live || now["log"].Run != "" {
		t.Errorf("%d adopted, and the archive is %+v", len(adopted), now["log"])
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// A backfill that names a sink which cannot be filled, or no sink at all, is refused with the reason.
func TestBackfill_NamedWrongly(t *testing.T) {
	const file = archives + `  gone: {archive: {bucket: gone, kinds: [user_delete, ttl_delete]}}
  told: {notify: {events: [paid]}}
detect: {paid: {appeared: Paid}}
`
	cfg, err := config.Parse("tablewake.yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gone": "tablewake.yaml:10: sinks.gone: its kinds are user_delete, ttl_delete, " +
			"and an item of a snapshot is of the kind change",
		"told":    "tablewake.yaml:11: sinks.told: a snapshot raises no events",
		"nothing": `tablewake.yaml: the backfill names "nothing"`,
	} {
		o := sinks.BackfillOptions{Sinks: []string{name}}
		_, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(), sinks.Backfill(o))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// A Go program can fill its own sink from a snapshot. The sink gets no events of detectors.
func TestBackfill_GoSink(t *testing.T) {
	const file = oneView + `  crm: {custom: {name: crm, concurrency: 1}}
detect: {paid: {appeared: Total}}
`
	cfg, err := config.Parse("tablewake.yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	stores := open(t, t.TempDir())
	var ops []record.Operation
	crm := sinks.With("crm", func(context.Context, struct{}) (pipeline.Sink, error) {
		return pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
			for _, d := range ds {
				ops = append(ops, d.Change.Op)
				if len(d.Events) > 0 || !d.Change.FromSnapshot() {
					t.Errorf("an item with the events %v", d.Events)
				}
			}
			return nil
		}), nil
	})
	o := sinks.BackfillOptions{Sinks: []string{"crm", "first"}}
	p, err := sinks.Assemble(t.Context(), cfg, stores, crm, sinks.Backfill(o))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), &itemSource{first: 1, last: 2, size: 2}, nil); err != nil {
		t.Fatal(err)
	}
	l := p.Ledger().Sinks
	if len(ops) != 2 || ops[0] != record.Snapshot || l["crm"].Written != 2 || l["first"].Written != 2 {
		t.Errorf("ops %v, %+v", ops, l)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}
