package consume

import (
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/faults"
)

// A consumer that cannot finish what it has is stopped hard, by a second signal or when its
// time is up, and says so with its exit code. The next one brings what it left.
func TestHardStop(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "2")
	w := newWorld(t, "shop", s.endpoint, "")
	proxy := faults.Before(t, w.dynamo)
	for name, stop := range map[string]struct {
		flags   []string
		signals int
	}{
		"second-signal": {nil, 2},
		"time-is-up":    {[]string{"--stop-timeout", "1s"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.start(t, name, proxy.Endpoint(), stop.flags...)
			p.reads(t)
			s.do(t, "POST", "/admin/write", map[string]any{"records": 20, "keys": 5, "prefix": name}, nil)
			w.converge(t, func() []item { return s.items(t) }) // where a shard begins is noted before it is read
			if err := proxy.Begin(faults.Refusal(), time.Minute); err != nil {
				t.Fatal(err)
			}
			s.do(t, "POST", "/admin/write", map[string]any{"records": 20, "keys": 5, "prefix": name, "seed": 2}, nil)
			until(t, "records are pending", func() bool { return p.verdict(t).Pending > 0 })
			for n := range stop.signals {
				if n > 0 {
					p.says(t, "stopping")
				}
				p.signal(t, syscall.SIGTERM)
			}
			p.ended(t)
			if err := proxy.End(); err != nil {
				t.Fatal(err)
			}
			if code := p.cmd.ProcessState.ExitCode(); code != 5 {
				t.Errorf("it ended with %d, want 5", code)
			}
		})
	}
	next := w.start(t, "next", w.dynamo)
	w.converge(t, func() []item { return s.items(t) })
	next.stop(t)
}

// A consumer without work is ready, and live. One that has lost its tables is not ready, and says why. It is live all
// the same: a restart would not help.
func TestHealth(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "2")
	w := newWorld(t, "shop", s.endpoint, "")
	proxy := faults.Before(t, w.dynamo)
	p := w.start(t, "task", proxy.Endpoint())
	p.reads(t)
	if v := p.verdict(t); !v.Live || !v.Ready || v.State != "idle" || v.Shards != 2 {
		t.Errorf("an idle consumer: %+v", v)
	}
	if err := proxy.Begin(faults.Refusal(), time.Minute); err != nil {
		t.Fatal(err)
	}
	until(t, "it is not ready", func() bool { return !p.verdict(t).Ready })
	if v := p.verdict(t); !v.Live || v.State != "isolated" || len(v.Reasons) == 0 {
		t.Errorf("a consumer without its tables: %+v", v)
	}
	if err := proxy.End(); err != nil {
		t.Fatal(err)
	}
	p.reads(t)
	p.stop(t)
}
