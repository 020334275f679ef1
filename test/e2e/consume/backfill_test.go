package consume

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	backfillItems = flag.Int("backfill-items", 600, "items of the table that sinks are filled from")
	backfillKills = flag.Int("backfill-kills", 2, "kills of backfills in TestBackfill_UnderLoad; every other one is one of the consumer too")
	backfillRate  = flag.Int("backfill-rate", 25, "writes a second in TestBackfill_ByExport")
)

// backfillPatience bounds a wait for a backfill: DynamoDB Local takes a hundred items a second at the least.
func backfillPatience() time.Duration {
	return 5*patience + time.Duration(*backfillItems)*10*time.Millisecond
}

// startingLatest reads the stream from its end, so that only a backfill brings the items of before.
const startingLatest = ", start: latest, emulator: dynamodb-local"

// The full size of these tests, for a machine of its own:
//
//	go test ./test/e2e/consume -run 'Backfill_(UnderLoad|ByExport)' -timeout 3h -backfill-items 200000 -backfill-kills 20 -backfill-rate 500

// A table exists already. Its first sink is filled by a scan while the stream runs; then two sinks are added, wait, and are
// filled by processes that follow one another. Consumers and backfills are killed. In the end all sinks hold what the table holds.
func TestBackfill_UnderLoad(t *testing.T) {
	w := newWorld(t, "backfill-source", "", startingLatest)
	w.streams = w.dynamo
	w.createSource(t, "backfill-source")
	w.fillSource(t, "backfill-source", *backfillItems)
	w.only(t, "orders")

	var writer sync.WaitGroup
	stop := make(chan struct{})
	task := w.start(t, "task-1", w.dynamo)
	task.reads(t)
	writer.Go(func() { w.write(t, "backfill-source", stop) })
	t.Cleanup(writer.Wait)
	w.backfill(t, nil, "--sink", "orders")

	w.only(t, "orders", "by_status", "per_customer")
	if code, out := w.run(t, "backfill", "--floor-delay", "15s", "--scan"); code != 1 || !strings.Contains(out, "write to other sinks than those of this file") {
		t.Fatalf("beside a consumer with the file of before a backfill ends with %d:\n%s", code, out)
	}
	task.stop(t)
	task = w.start(t, "task-1", w.dynamo)
	task.says(t, "it waits, and writes nothing until it is filled")
	task.reads(t)
	if code, out := w.run(t, "status"); code != 6 || strings.Count(out, "waits, and writes nothing") != 2 {
		t.Errorf("status of sinks that wait (%d):\n%s", code, out)
	}
	kills := 0
	w.backfill(t, func() {
		if kills++; kills%2 == 0 {
			task.kill(t)
			task = w.start(t, "task-1", w.dynamo)
		}
	})
	close(stop)
	writer.Wait()
	w.converge(t, func() []item { return w.source(t, "backfill-source") })
	w.healthy(t)
	if code, out := w.run(t, "plan"); code != 0 {
		t.Errorf("after the backfill plan ends with %d:\n%s", code, out)
	}
	task.stop(t)
}

// only writes the file with the named sinks alone.
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

// fillSource puts items into a table.
func (w *world) fillSource(t *testing.T, table string, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(2, 2))
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for from := 0; from < n; from += 25 {
		var puts []types.WriteRequest
		for i := from; i < min(from+25, n); i++ {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
				"PK": text(fmt.Sprintf("item#%d", i)), "SK": text("order"), "Status": text([]string{"open", "paid", "shipped"}[r.IntN(3)]),
				"Customer": text(fmt.Sprintf("c%d", r.IntN(40))), "Write": &types.AttributeValueMemberN{Value: "0"},
				"Total": &types.AttributeValueMemberN{Value: fmt.Sprintf("%d.%02d", r.IntN(1000), r.IntN(100))},
			}}})
		}
		if _, err := w.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts}}); err != nil {
			t.Fatal(err)
		}
	}
}

// backfill fills sinks by a scan. With killed, processes that do it are killed, one after the other; killed is called each
// time.
func (w *world) backfill(t *testing.T, killed func(), more ...string) {
	t.Helper()
	args := backfillArgs(append([]string{"--scan", "--rcu", "0", "--segments", "20"}, more...)...)
	if killed != nil {
		for range *backfillKills {
			p := w.command(t, "backfill", w.dynamo, args...)
			time.Sleep(time.Second + rand.N(8*time.Second))
			p.kill(t)
			killed()
		}
	}
	w.command(t, "backfill", w.dynamo, args...).fills(t)
}

// backfillArgs are those of a backfill whose times suit a test.
func backfillArgs(more ...string) []string {
	return append([]string{"backfill", "--keys", "PK,SK", "--floor-delay", "15s", "--clock-skew", "2s"}, more...)
}

// prepare sets the floor of the sinks that wait, and returns the time that a source must show the table of, or later.
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

// fills waits until a backfill ends, which must be with sinks that are live, and returns how many items it read.
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
