package export_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// backfill is one process that reads an export. write gets the key of each item, from one goroutine at a time.
func backfill(ctx context.Context, db *sqlite.DB, e *export.Export, owner string, write func(key string)) error {
	src, err := snapshot.NewSource(snapshot.SourceOptions{Snapshot: e, Backfills: db.State("shop"), Run: "run", Owner: owner})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range ds {
			write(string(d.Change.Key))
		}
		return nil
	})
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "sink", Sink: sink}}})
	if err != nil {
		return err
	}
	err = p.Run(ctx, src, src)
	return errors.Join(err, src.Close(context.WithoutCancel(ctx)))
}

// Processes that end early are followed by others, which continue within a file. A damaged file fails alone, without an
// item of it; once it is copied again, the next process reads it, and nothing else.
func TestExport_AsASource(t *testing.T) {
	f := fixture{data: map[string]string{}}
	const perFile = 20_000
	for file := range 4 {
		var b strings.Builder
		for i := range perFile {
			b.WriteString(item(fmt.Sprintf("%d-%d", file, i)) + "\n")
		}
		f.data[fmt.Sprint(file, ".json.gz")] = b.String()
	}
	objects := f.add(t, files{})
	dir := objects.write(t, t.TempDir())
	damaged := filepath.Join(dir, filepath.FromSlash(f.folder()), "data", "2.json.gz")
	good, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	bad[len(bad)-100] ^= 1
	if err := os.WriteFile(damaged, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "views.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	e := openExport(t, exportOptions(dir))
	written := map[string]int{}
	write := func(key string) { written[key]++ }
	for i := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_ = backfill(ctx, db, e, fmt.Sprint("early ", i), func(key string) {
			write(key)
			if n++; n == 7_000 {
				cancel()
			}
		})
		cancel()
	}
	err = backfill(t.Context(), db, e, "late", write)
	if err == nil || !strings.Contains(err.Error(), "2.json.gz: its MD5 is not") || len(written) != 3*perFile {
		t.Fatalf("%d items, %v", len(written), err)
	}
	if err := os.WriteFile(damaged, good, 0o600); err != nil {
		t.Fatal(err)
	}
	again := 0
	if err := backfill(t.Context(), db, e, "repaired", func(key string) { write(key); again++ }); err != nil || again != perFile {
		t.Errorf("after the copy: %d items, %v", again, err)
	}
	twice := 0
	for _, n := range written {
		twice += n - 1
	}
	if len(written) != 4*perFile || twice > perFile/2 {
		t.Errorf("%d items, %d of them again", len(written), twice)
	}
	if err := backfill(t.Context(), db, e, "last", func(string) { t.Error("an item of a part that is done") }); err != nil {
		t.Error(err)
	}
}
