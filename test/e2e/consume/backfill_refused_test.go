package consume

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/shop"
)

// A backfill is refused for the right reasons, and `status` and `plan` describe the sinks before, during and after it.
func TestBackfill_Refused(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "2")
	w := newWorld(t, "shop", s.endpoint, "")
	w.whole += fmt.Sprintf("  late: {view: {table: %s-rows, key: {PK: 'LATE#{Customer}', SK: '{@key}'}}}\n", w.name)
	source := newSource(t, s)
	source.fill(t, 60)
	w.only(t, "orders", "late")
	task := w.start(t, "task-1", w.dynamo)
	task.reads(t)
	task.stop(t)
	w.only(t, "orders", "late", "by_status", "per_customer")
	task = w.start(t, "task-1", w.dynamo)
	task.reads(t)

	w.shows(t, "status", 6, "sink by_status waits, and writes nothing", "sink per_customer waits, and writes nothing")
	w.shows(t, "plan", 7, "by_status (table "+w.name+"-rows) is waiting", "2 sinks have something to do")

	// A sink may start now, without a backfill. Then it only gets the changes from now on.
	w.shows(t, "backfill --sink per_customer --none", 0, "per_customer: live")
	w.shows(t, "backfill --sink per_customer --scan", 2, "began with the changes of its first start")

	// A source that shows the table before the floor is refused.
	old, shown := source.list(t)
	earliest := w.prepare(t)
	w.shows(t, "status", 0, "by_status", "filling")
	w.shows(t, "plan", 7, "by_status (table "+w.name+"-rows) is filling", "1 sink has something to do")
	at := shown.UTC().Format(time.RFC3339)
	w.shows(t, "backfill --keys PK,SK --items "+old+" --shown-at "+at, 1, "the source shows the table as of "+at)
	time.Sleep(time.Until(earliest.Add(time.Second)))
	items, shown := source.list(t)
	args := backfillArgs("--items", items, "--shown-at", shown.UTC().Format(time.RFC3339))
	w.command(t, "fill", w.dynamo, args...).fills(t)
	w.shows(t, "status", 0)
	w.shows(t, "plan", 0, "there is nothing to do")
	w.shows(t, "backfill --sink by_status --scan", 2, "is filled (run ")

	// The stream is switched off and on while a sink is filled. No stream has the changes between the two streams.
	task.stop(t)
	w.whole += fmt.Sprintf("  later: {view: {table: %s-rows, key: {PK: 'LATER#{Customer}', SK: '{@key}'}}}\n", w.name)
	w.only(t, "orders", "late", "by_status", "per_customer", "later")
	task = w.start(t, "task-1", w.dynamo)
	task.reads(t)
	earliest = w.prepare(t)
	time.Sleep(time.Until(earliest.Add(time.Second)))
	items, shown = source.list(t)
	fill := w.command(t, "fill", w.dynamo, backfillArgs("--parts", "1", "--items", items, "--shown-at", shown.UTC().Format(time.RFC3339))...)
	until(t, "the backfill writes", func() bool { return w.count(t, "LATER#") > 0 })
	fill.signal(t, syscall.SIGSTOP)
	s.do(t, "POST", "/admin/disable", map[string]any{}, nil)
	s.do(t, "POST", "/admin/enable", map[string]any{"shards": 2}, nil)
	fill.signal(t, syscall.SIGCONT)
	fill.ended(t)
	if code := fill.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(fill.log.String(), "the table's stream was ") {
		t.Errorf("a backfill over two streams ends with %d:\n%s%s", code, fill.out.String(), fill.log.String())
	}
	w.shows(t, "plan", 7, "later (table "+w.name+"-rows) is ")
}

// shows runs a command and checks its exit code and the texts in its output.
func (w *world) shows(t *testing.T, command string, code int, says ...string) {
	t.Helper()
	is, out := w.run(t, strings.Fields(command)...)
	if is != code {
		t.Errorf("tablewake %s ends with %d, want %d:\n%s", command, is, code, out)
	}
	for _, text := range says {
		if !strings.Contains(out, text) {
			t.Errorf("tablewake %s does not say %q:\n%s", command, text, out)
		}
	}
}

// A waiting sink in a folder is filled from a recording of all changes. Its rows then equal the rows of a clean pass.
func TestBackfill_LocalHistory(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "2")
	w := newWorld(t, "shop", s.endpoint, "")
	source := newSource(t, s)
	source.fill(t, 100)
	for i := range 100 {
		if pk := shop.PK(i); i%3 == 0 {
			source.must(t, source.Remove(pk, false))
		} else {
			source.must(t, source.Put(pk))
		}
	}
	dir := t.TempDir()
	records := filepath.Join(dir, "records.jsonl")
	local := func(command string, code int, args ...string) string {
		t.Helper()
		is, out := w.runAlone(t, append([]string{command, "-c", w.config}, args...)...)
		if is != code {
			t.Fatalf("tablewake %s %q ends with %d, want %d:\n%s", command, args, is, code, out)
		}
		return out
	}
	rows := func(folder string) string {
		t.Helper()
		code, out := w.runAlone(t, "query", "view", w.name+"-rows", "--local", folder, "-o", "json")
		if code != 0 {
			t.Fatalf("query ends with %d:\n%s", code, out)
		}
		return out
	}
	local("record", 0, "--out", records)
	local("replay", 0, "--local", filepath.Join(dir, "clean"), records)

	filled := filepath.Join(dir, "filled")
	w.only(t, "orders")
	local("replay", 0, "--local", filled, records)
	w.only(t, "orders", "by_status", "per_customer")
	if out := local("replay", 0, "--local", filled, records); !strings.Contains(out, "waits, and writes nothing") {
		t.Errorf("a replay does not say that sinks wait:\n%s", out)
	}
	local("plan", 7, "--local", filled)
	local("backfill", 0, "--local", filled, "--archive", records)
	local("plan", 0, "--local", filled)
	if got, want := rows(filled), rows(filepath.Join(dir, "clean")); got != want {
		t.Errorf("a folder that a history filled holds\n%s\nwant\n%s", got, want)
	}
}
