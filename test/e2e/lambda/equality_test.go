package lambda

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/esm"
	"github.com/tablewake/tablewake/test/faults"
	"github.com/tablewake/tablewake/test/server"
)

// A function, a consumer and a replay with one configuration leave the same results for one stream, although the
// function crashes and its network fails. Views, aggregates, the index, the archives and the events are equal.
func TestLambdaIsConsumeIsReplay(t *testing.T) {
	t.Parallel()
	to := world.Running(t)
	one, other := world.New(t, to), world.New(t, to)
	stream := startStream(t)
	file, records := recorded(t, one, stream)
	if len(records) < 1900 {
		t.Fatalf("%d records were recorded", len(records))
	}
	want := replayed(t, one, file)
	for _, part := range []string{world.Rows, world.Documents, world.Objects, world.Lines, world.Events} {
		if len(want[part]) == 0 {
			t.Fatalf("the replay left no %s", part)
		}
	}
	t.Run("consume", func(t *testing.T) {
		t.Parallel()
		world.Same(t, consumed(t, other, stream), want)
	})
	t.Run("Lambda", func(t *testing.T) {
		t.Parallel()
		world.Same(t, invoked(t, one, records), want)
	})
}

// replayed returns the results of a replay into a folder.
func replayed(t *testing.T, w *world.World, file string) world.State {
	t.Helper()
	config, dir := shopFile(t, w, ""), filepath.Join(t.TempDir(), "out")
	run(t, environment(w, ""), "replay", "-c", config, "--local", dir, "--notify", file)
	return unnamed(world.ReadEmbedded(t, local.Dir(dir), w.Names), w)
}

// shopText returns the configuration of the shop. Its archive waits for one second and not for five minutes.
func shopText(t *testing.T, w *world.World) string {
	t.Helper()
	text := strings.Replace(w.ShopText(t), "age: 5m", "age: 1s", 1)
	if !strings.Contains(text, "age: 1s") {
		t.Fatal("the shop's archive has no age")
	}
	return text
}

// shopFile writes the configuration of the shop, followed by more, into a folder beside its mapping. It returns the
// path.
func shopFile(t *testing.T, w *world.World, more string) string {
	t.Helper()
	dir := t.TempDir()
	mapping, err := os.ReadFile(world.Fixture + "products.mapping.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "products.mapping.json"), mapping)
	write(t, filepath.Join(dir, "tablewake.yaml"), []byte(shopText(t, w)+more))
	return filepath.Join(dir, "tablewake.yaml")
}

// consumed returns the results of a consumer of the stream.
func consumed(t *testing.T, w *world.World, stream string) world.State {
	t.Helper()
	leases := w.Table + "-leases"
	config := shopFile(t, w, "\nleases: {table: "+leases+"}\n")
	t.Cleanup(func() {
		_, _ = dynamodb.NewFromConfig(w.SDK).DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &leases})
	})
	run(t, environment(w, stream), "consume", "-c", config, "--live", "--create", "--health", "off", "--exit-when-idle", "3s")
	return unnamed(w.Read(t, w.Shop(t, w.To)), w)
}

// unnamed removes the name of the pipeline from events. Each world has another name, because the worlds share the
// servers.
func unnamed(s world.State, w *world.World) world.State {
	for id, event := range s[world.Events] {
		s[world.Events][id] = strings.ReplaceAll(event, w.Pipeline, "NAME")
	}
	return s
}

// invoked returns the results of a function. An event source mapping hands the records to the function, while its
// environments crash and its network fails.
func invoked(t *testing.T, w *world.World, records [][]byte) world.State {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("crashes and faults are of seed %d", seed)
	between, to := world.Proxied(t, w.To)
	first := deploy(t, w, shopText(t, w), deployment{to: to, timeout: 3 * time.Second})
	m := esm.Mapping{
		BatchSize: 60, Parallelization: 3, ReportFailures: true, Bisect: true, MaxRetries: -1,
		Pause: func(int) time.Duration { return 50 * time.Millisecond },
	}
	var crashes sync.WaitGroup
	for i := range m.Parallelization {
		f := first.Function
		if i > 0 {
			f = deploy(t, w, shopText(t, w), deployment{to: to, timeout: 3 * time.Second, without: true}).Function
		}
		m.Functions = append(m.Functions, &crashing{Function: f, t: t, crashes: &crashes, chance: rand.New(rand.NewPCG(seed, uint64(i)))})
	}
	stop := make(chan struct{})
	var evil sync.WaitGroup
	evil.Go(func() { disturb(t, between, rand.New(rand.NewPCG(seed, 1<<32)), stop) })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Minute, errors.New("the records are not through"))
	defer cancel()
	report, err := m.Run(ctx, esm.Shard{ID: "shardId-1", Records: records})
	close(stop)
	evil.Wait()
	crashes.Wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", report)
	if report.Errors == 0 || report.Halved == 0 || report.Discarded > 0 {
		t.Errorf("%+v: want invocations that fail, batches that are halved, and no record given up", report)
	}
	return unnamed(first.Read(t, w.Shop(t, w.To)), w)
}

// crashing is an environment whose process ends during every fourth event.
type crashing struct {
	*server.Function
	t       *testing.T
	calls   int
	chance  *rand.Rand
	crashes *sync.WaitGroup
}

// Invoke implements [esm.Function].
func (c *crashing) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	if c.calls++; c.calls%4 == 0 {
		after := time.Duration(c.chance.Int64N(int64(200 * time.Millisecond)))
		c.crashes.Go(func() {
			time.Sleep(after)
			if err := c.Crash(); err != nil {
				c.t.Error(err)
			}
		})
	}
	answer, err := c.Function.Invoke(ctx, event)
	if _, failed := errors.AsType[*server.FunctionError](err); err != nil && !failed && ctx.Err() == nil {
		c.t.Error(err) // an error of the emulator, not of the function
	}
	return answer, err
}

// disturb causes faults at random servers, one after the other.
func disturb(t *testing.T, between world.Proxies, chance *rand.Rand, stop <-chan struct{}) {
	all := append(faults.All(), faults.Hang())
	for {
		select {
		case <-stop:
			return
		case <-time.After(300 * time.Millisecond):
		}
		if err := between[chance.IntN(len(between))].Begin(all[chance.IntN(len(all))], 200*time.Millisecond); err != nil {
			t.Error(err)
		}
	}
}
