package consume

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/faults"
)

// Three consumers of a stream that splits are killed, frozen for longer than a lease, continued as zombies, cut off
// from their tables, and restarted. The sinks still hold what follows from the table, and other consumers take the
// shards of dead ones.
func TestCrashes(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "12")
	w := newWorld(t, "shop", s.endpoint, "")
	proxy := faults.Before(t, w.dynamo)
	s.do(t, "POST", "/admin/write", map[string]any{"records": 1600, "keys": 80, "rate": 32, "deletes": 0.1}, nil)
	s.do(t, "POST", "/admin/split", map[string]any{"every": "3s", "times": 12}, nil)
	s.do(t, "POST", "/admin/chaos", map[string]any{"probability": 0.03, "seed": 1, "faults": []string{"throttled", "reset", "cut"}}, nil)

	at := map[string]string{"task-1": w.dynamo, "task-2": proxy.Endpoint(), "task-3": w.dynamo}
	fleet := make(map[string]*process)
	start := func(name string) { fleet[name] = w.start(t, name, at[name]) }
	for _, name := range []string{"task-1", "task-2", "task-3"} {
		start(name)
	}
	for _, p := range fleet {
		p.reads(t)
	}
	sometime(time.Second)

	// One consumer dies. Other consumers take its shards long before it is started again.
	fleet["task-1"].kill(t)
	died := time.Now()
	until(t, "the shards of task-1 have other owners", func() bool { return !w.owns(t, "task-1-") })
	if took := time.Since(died); took > 6*lease {
		t.Errorf("the shards of a consumer that died had no owner for %v", took)
	}
	start("task-1")

	// One consumer is frozen with writes in flight. It continues when other consumers have its shards.
	frozen := fleet["task-3"]
	frozen.signal(t, syscall.SIGSTOP)
	until(t, "the shards of task-3 have other owners", func() bool { return !w.owns(t, "task-3-") })
	sometime(time.Second)
	frozen.signal(t, syscall.SIGCONT)
	frozen.reads(t)

	// One consumer cannot reach its tables for longer than a lease. Later its connections are reset.
	breaks(t, proxy, faults.Refusal(), 2*lease)
	fleet["task-2"].reads(t)
	breaks(t, proxy, faults.ResetAnswers(), 300*time.Millisecond)

	// Two consumers die at once, and are started again.
	fleet["task-1"].kill(t)
	fleet["task-2"].kill(t)
	start("task-1")
	start("task-2")
	fleet["task-3"].stop(t)
	start("task-3")

	until(t, "all is written", func() bool { return s.stats(t).Running == 0 })
	s.do(t, "POST", "/admin/chaos", map[string]any{"probability": 0}, nil)
	w.converge(t, func() []item { return s.items(t) })
	w.healthy(t)
	for _, p := range fleet {
		p.stop(t)
	}
	if peak := s.stats(t).Peak["DescribeStream"]; peak > 10 {
		t.Errorf("%d DescribeStream calls in a second, and the service takes 10", peak)
	}
}

// sometime waits for a random time of less than d.
func sometime(d time.Duration) { time.Sleep(rand.N(d)) }

// breaks makes a proxy fail for the time d.
func breaks(t *testing.T, p *faults.Proxy, f faults.Fault, d time.Duration) {
	t.Helper()
	if err := p.Begin(f, d+time.Minute); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
}
