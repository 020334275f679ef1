package snapshot_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// childEnv makes this test's process a backfill in the folder that it names.
const childEnv = "TABLEWAKE_TEST_SNAPSHOT_CHILD"

func childTable() *table {
	tab := &table{sizes: map[string]int{}, page: 20, latency: func(string) { time.Sleep(time.Millisecond) }}
	for i := range 8 {
		tab.sizes[fmt.Sprint("part ", i)] = 300 * i
	}
	return tab
}

// backfill reads the table, with a sink that appends keys to a file of its own.
func backfill(dir string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "views.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("written.%d", os.Getpid())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		var b strings.Builder
		for _, d := range ds {
			v, _ := d.Change.New.Get("PK")
			b.Write(append(v.Raw(), '\n'))
		}
		_, err := out.WriteString(b.String())
		return err
	})
	src, err := snapshot.NewSource(snapshot.SourceOptions{
		Snapshot: childTable(), Backfills: db.State("shop"), Run: "run",
		Owner: fmt.Sprint(os.Getpid(), rand.Uint64()), ClaimTime: 500 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "sink", Sink: sink}}})
	if err != nil {
		return err
	}
	if err := p.Run(ctx, src, src); err != nil {
		return err
	}
	return src.Close(ctx)
}

func child(dir string) {
	if err := backfill(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Processes are killed at any time. Those that follow continue, and all items are written.
func TestSource_KilledProcesses(t *testing.T) {
	dir := t.TempDir()
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	for range 8 {
		a, b := start(), start()
		time.Sleep(50*time.Millisecond + rand.N(200*time.Millisecond))
		for _, cmd := range []*exec.Cmd{a, b} {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	a, b := start(), start()
	for _, cmd := range []*exec.Cmd{a, b} {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	w := &written{}
	files, err := filepath.Glob(filepath.Join(dir, "written.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			w.add(lines.Text())
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	twice := 0
	for _, n := range w.keys {
		twice += n - 1
	}
	if missing := w.missing(childTable()); len(missing) > 0 {
		t.Errorf("%d items are missing: %q", len(missing), missing[:min(5, len(missing))])
	}
	t.Logf("%d items, %d of them again, by %d processes", len(w.keys), twice, len(files))
}
