package consume

import (
	"strings"
	"testing"
	"time"
)

// The exports of an existing table fill the sinks while the table is written. One process dies, and two other processes
// share the rest of the work. The full export was made before the floor. The incremental export continues the full
// export beyond the floor.
func TestBackfill_ByExport(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "8")
	w := newWorld(t, "shop", s.endpoint, ", start: latest")
	source := newSource(t, s)
	source.fill(t, *backfillItems)
	full := source.export(t)
	w.only(t, "orders")
	first := w.start(t, "task-1", w.dynamo)
	until(t, "all shards are read", func() bool { v := first.verdict(t); return v.Ready && v.Shards == 8 })
	w.command(t, "orders", w.dynamo, backfillArgs("--sink", "orders", "--export", full)...).fills(t)

	source.write(t, *backfillItems+*backfillItems/10, *backfillRate)
	s.do(t, "POST", "/admin/split", map[string]any{"every": "5s", "times": 6}, nil)
	w.only(t, "orders", "by_status", "per_customer")
	first.stop(t)
	first, second := w.start(t, "task-1", w.dynamo), w.start(t, "task-2", w.dynamo)
	first.reads(t)
	second.reads(t)

	earliest := w.prepare(t)
	if code, out := w.run(t, backfillArgs("--export", full)...); code != 1 || !strings.Contains(out, "the source shows the table as of") {
		t.Errorf("an export of before the floor (%d):\n%s", code, out)
	}
	time.Sleep(time.Until(earliest.Add(time.Second)))
	args := backfillArgs("--parts", "1", "--export", full, "--export", source.exportChanges(t))

	dies := w.command(t, "fill-1", w.dynamo, args...)
	until(t, "the backfill writes", func() bool { return w.count(t, "STATUS#") > *backfillItems/10 })
	dies.kill(t)
	second.kill(t)
	fills := []*process{w.command(t, "fill-2", w.dynamo, args...), w.command(t, "fill-3", w.dynamo, args...)}
	w.start(t, "task-2", w.dynamo)
	var read int64 // by both: on a busy machine one of them can begin after the other has read all parts
	for _, p := range fills {
		items := p.fills(t)
		t.Logf("%s read %d items", p.name, items)
		read += items
	}
	if read == 0 {
		t.Error("the process that was killed had read all parts")
	}
	source.stop()
	w.converge(t, func() []item { return s.items(t) })
	w.healthy(t)
	if code, out := w.run(t, "plan"); code != 0 {
		t.Errorf("after the backfill plan ends with %d:\n%s", code, out)
	}
}

// count returns the number of rows whose key begins with the prefix.
func (w *world) count(t *testing.T, prefix string) (n int) {
	t.Helper()
	rows, err := w.rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for key := range rows {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}
