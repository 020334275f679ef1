package consume

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	backfillItems = flag.Int("backfill-items", 600, "items of the table that sinks are filled from")
	backfillKills = flag.Int("backfill-kills", 2, "kills of backfills in TestBackfill_UnderLoad; every other one is one of the consumer too")
	backfillRate  = flag.Int("backfill-rate", 25, "writes a second beside backfills")
)

// backfillPatience returns the longest wait for a backfill. DynamoDB Local takes at least twenty items a second.
func backfillPatience() time.Duration {
	return 5*patience + time.Duration(*backfillItems)*50*time.Millisecond
}

// startingLatest makes consumers read the stream from its end, so that only a backfill brings the older items.
const startingLatest = ", start: latest, emulator: dynamodb-local"

// These tests are small, because DynamoDB Local does one write after the other. With a core of its own it fills a view
// from a scan of 20,000 items in a minute, and a view with moving rows plus an aggregate in five minutes. If it shares
// a core with other tests, it answers a write after 0.2 s, heartbeats fail, and 2,000 items take ten minutes. The large
// test of each run is test/e2e/backfill. The full size needs a machine of its own:
//
//	go test ./test/e2e/consume -run 'Backfill_(UnderLoad|ByExport)' -timeout 3h \
//		-backfill-items 200000 -backfill-kills 20 -backfill-rate 500

// Sinks are added to the pipeline of an existing table. They wait until the scans of several processes, one after
// another, have filled them. The sink of the first start is filled together with them. Consumers and backfills are
// killed. In the end all sinks hold what follows from the table.
func TestBackfill_UnderLoad(t *testing.T) {
	table := "backfill-source-" + strings.ToLower(rand.Text()[:8])
	w := newWorld(t, table, "", startingLatest)
	w.streams = w.dynamo
	index := w.addIndex(t)
	w.createSource(t, table)
	source := w.newSource(t, table)
	w.only(t, "orders")

	task := w.start(t, "task-1", w.dynamo)
	task.reads(t)
	source.write(t, *backfillItems+*backfillItems/10, *backfillRate)

	w.only(t, "orders", "by_status", "per_customer", "documents")
	if code, out := w.run(t, "backfill", "--scan", "--dry-run"); code != 1 || !strings.Contains(out, "this is refused: the consumers ") {
		t.Errorf("beside a consumer with the file of before a dry run ends with %d:\n%s", code, out)
	}
	if code, out := w.run(t, "backfill", "--floor-delay", "15s", "--scan"); code != 1 || !strings.Contains(out, "write to other sinks than those of this file") {
		t.Fatalf("beside a consumer with the file of before a backfill ends with %d:\n%s", code, out)
	}
	task.stop(t)
	task = w.start(t, "task-1", w.dynamo)
	task.says(t, "it waits, and writes nothing until it is filled")
	task.reads(t)
	if code, out := w.run(t, "status"); code != 6 || strings.Count(out, "waits, and writes nothing") != 3 {
		t.Errorf("status of sinks that wait (%d):\n%s", code, out)
	}

	args := backfillArgs("--sink", "orders,by_status,per_customer,documents", "--scan", "--rcu", "0", "--segments", "20")
	for kill := range *backfillKills {
		p := w.command(t, "backfill", w.dynamo, args...)
		untilWithin(t, backfillPatience(), "the backfill writes", func() bool {
			time.Sleep(time.Second)
			return w.count(t, "STATUS#") > *backfillItems*(kill+1)/(*backfillKills+2)
		})
		p.kill(t)
		if kill%2 == 1 {
			task.kill(t)
			task = w.start(t, "task-1", w.dynamo)
		}
	}
	p := w.command(t, "backfill", w.dynamo, args...)
	untilWithin(t, backfillPatience(), "the backfill has read all", func() bool { return strings.Contains(p.log.String(), "waiting until ") || p.hasEnded() })
	// DynamoDB Local truncates the creation times of records to the minute. If the stream continued, consumers would pass
	// a time two minutes late.
	source.stop()
	t.Logf("the last process read %d items", p.fills(t))
	w.converge(t, func() []item { return w.source(t, table) })
	index.holds(t, source)
	w.healthy(t)
	if code, out := w.run(t, "plan"); code != 0 {
		t.Errorf("after the backfill plan ends with %d:\n%s", code, out)
	}
	task.stop(t)
}

// only writes the configuration with the named sinks only.
func (w *world) only(t *testing.T, sinks ...string) {
	t.Helper()
	text, all, _ := strings.Cut(w.whole, "sinks:\n")
	text += "sinks:\n"
	for line := range strings.Lines(all) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), ":"); slices.Contains(sinks, name) {
			text += line
		}
	}
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// backfillArgs returns the arguments of a backfill whose times suit a test.
func backfillArgs(more ...string) []string {
	return append([]string{"backfill", "--keys", "PK,SK", "--floor-delay", "15s", "--clock-skew", "2s"}, more...)
}

// prepare sets the floor of the waiting sinks. It returns the earliest time at which a source may show the table.
func (w *world) prepare(t *testing.T) time.Time {
	t.Helper()
	p := w.command(t, "prepare", w.dynamo, backfillArgs("--prepare")...)
	p.ended(t)
	var planned struct{ Earliest time.Time }
	if err := json.Unmarshal(p.out.Bytes(), &planned); err != nil || planned.Earliest.IsZero() {
		t.Fatalf("--prepare: %v\n%s%s", err, p.out.String(), p.log.String())
	}
	return planned.Earliest
}

// fills waits until a backfill ends and returns how many items the backfill read. The backfill must succeed and leave
// its sinks live.
func (p *process) fills(t *testing.T) (items int64) {
	t.Helper()
	p.endedWithin(t, backfillPatience())
	var r struct {
		Stage   string
		Summary struct{ Records int64 }
	}
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil || p.cmd.ProcessState.ExitCode() != 0 || r.Stage != "live" {
		t.Fatalf("%s ends with %d, %v:\n%s%s", p.name, p.cmd.ProcessState.ExitCode(), err, p.out.String(), p.log.String())
	}
	return r.Summary.Records
}
