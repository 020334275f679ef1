package consume

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	backfillItems = flag.Int("backfill-items", 3000, "items of the table that TestBackfill_UnderLoad fills sinks from")
	backfillKills = flag.Int("backfill-kills", 6, "kills of consumers and backfills in TestBackfill_UnderLoad")
)

// startingLatest reads the stream from its end, so that only a backfill brings the items of before.
const startingLatest = ", start: latest, emulator: dynamodb-local"

// A table exists already. Its first sink is filled by a scan while the stream runs; then two sinks are added, wait, and are
// filled by two processes. Consumers and backfills are killed. In the end all sinks hold what the table holds.
func TestBackfill_UnderLoad(t *testing.T) {
	w := newWorld(t, "backfill-source", "", startingLatest)
	whole, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.streams = w.dynamo
	w.createSource(t, "backfill-source")
	w.fillSource(t, "backfill-source", *backfillItems)
	first, _, _ := strings.Cut(string(whole), "  by_status:")
	w.configure(t, first)

	var writer sync.WaitGroup
	stop := make(chan struct{})
	task := w.start(t, "task-1", w.dynamo)
	task.reads(t)
	writer.Go(func() { w.write(t, "backfill-source", stop) })
	t.Cleanup(writer.Wait)
	w.backfill(t, nil, "--sink", "orders")

	w.configure(t, string(whole))
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

// configure writes the file.
func (w *world) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(w.config, []byte(text), 0o644); err != nil {
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

// backfill fills sinks by a scan. With killed, two processes do it, and one of them is killed again and again; killed is
// called each time.
func (w *world) backfill(t *testing.T, killed func(), more ...string) {
	t.Helper()
	args := append([]string{"backfill", "-c", w.config, "--live", "--scan", "--rcu", "0", "--segments", "20", "--floor-delay", "15s", "--clock-skew", "2s"}, more...)
	begin := func() (*exec.Cmd, *buffer) {
		cmd, log := exec.Command(tablewake, args...), &buffer{}
		cmd.Env, cmd.Stdout, cmd.Stderr = w.environment(w.dynamo), log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, log
	}
	if killed != nil {
		for range *backfillKills {
			cmd, _ := begin()
			time.Sleep(time.Second + rand.N(8*time.Second))
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
			killed()
		}
	}
	cmd, log := begin()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil || !strings.Contains(log.String(), ": live\n") {
			t.Fatalf("backfill: %v\n%s", err, log.String())
		}
	case <-time.After(3 * patience):
		_ = cmd.Process.Kill()
		t.Fatalf("the backfill does not end:\n%s", log.String())
	}
	t.Log(log.String())
}

