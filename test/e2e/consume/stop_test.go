package consume

import (
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/faults"
)

// A consumer that cannot finish its pending records is stopped hard by a second signal or by its stop timeout. Its exit
// code says so. The next consumer writes the records that it left.
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
			// A consumer notes where a shard begins before it reads the shard. It needs its tables for that.
			w.converge(t, func() []item { return s.items(t) })
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

// An idle consumer is ready and live. A consumer that has lost its tables is not ready and gives the reasons. It stays
// live, because a restart would not help.
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
