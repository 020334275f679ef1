package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/health"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// step is an observation some time after the start. facts is nil if the consumer does not answer.
type step struct {
	after time.Duration
	facts *health.Facts
}

func TestVerdict(t *testing.T) {
	well := health.Facts{Live: true, Ready: true, HeartbeatsSucceed: true, HasReadLeases: true, Shards: 3}
	with := func(change func(*health.Facts)) *health.Facts {
		f := well
		change(&f)
		return &f
	}
	pending := func(n, finished int64) *health.Facts {
		return with(func(f *health.Facts) { f.Pending, f.Finished = n, finished })
	}
	apart := with(func(f *health.Facts) {
		f.HeartbeatsSucceed, f.Ready, f.Reasons = false, false, []string{"its beat is too old"}
	})
	slow := with(func(f *health.Facts) { f.Pending, f.Slowest = 6, "orders" })
	starting := &health.Facts{Live: true, Reasons: []string{"nothing is read yet"}}
	failing := with(func(f *health.Facts) { f.Ready, f.Reasons = false, []string{"3 of 3 shards are stuck"} })
	for name, tt := range map[string]struct {
		steps       []step
		at          time.Duration
		live, ready bool
		state       health.State
		says        string
	}{
		"nobody looked yet":                 {nil, 0, true, false, health.Starting, "nothing is read yet"},
		"the leases are not read yet":       {[]step{{0, starting}}, time.Second, true, false, health.Starting, "nothing is read yet"},
		"nothing to do":                     {[]step{{0, &well}}, time.Second, true, true, health.Idle, ""},
		"nothing to do for a day":           {[]step{{0, &well}, {24 * time.Hour, &well}}, 24 * time.Hour, true, true, health.Idle, ""},
		"records are on their way":          {[]step{{0, pending(5, 0)}}, time.Minute / 6, true, true, health.Working, ""},
		"records come and go":               {[]step{{0, pending(5, 0)}, {time.Hour, pending(5, 7)}}, time.Hour + time.Second, true, true, health.Working, ""},
		"the same records for long":         {[]step{{0, pending(5, 7)}, {time.Minute, pending(5, 7)}, {121 * time.Second, pending(6, 7)}}, 121 * time.Second, true, false, health.Stuck, "6 records are pending, and none was finished for 2m1s"},
		"a sink does not answer":            {[]step{{0, slow}, {3 * time.Minute, slow}}, 3 * time.Minute, true, false, health.Stuck, "look at what the sink orders answers"},
		"stuck, and then not":               {[]step{{0, pending(5, 7)}, {time.Hour, pending(5, 8)}}, time.Hour, true, true, health.Working, ""},
		"behind, with nothing pending":      {[]step{{0, with(func(f *health.Facts) { f.Behind = 1 })}}, time.Second, true, true, health.Working, ""},
		"the stream does not answer":        {[]step{{0, failing}}, time.Second, true, false, health.Stuck, "3 of 3 shards"},
		"no contact for a moment":           {[]step{{0, &well}, {time.Second, apart}}, 2 * time.Second, true, false, health.Isolated, "its beat is too old"},
		"no contact for long":               {[]step{{0, &well}, {time.Hour, apart}}, time.Hour, true, false, health.Isolated, "its beat is too old"}, // a restart does not repair a table
		"contact again":                     {[]step{{0, apart}, {6 * time.Minute, &well}}, 6 * time.Minute, true, true, health.Idle, ""},
		"no leases for long":                {[]step{{0, starting}, {time.Hour, starting}}, time.Hour, true, false, health.Starting, "nothing is read yet"},
		"it does not answer for a moment":   {[]step{{0, &well}, {5 * time.Second, nil}}, 30 * time.Second, true, true, health.Idle, ""},
		"it does not answer for long":       {[]step{{0, &well}, {5 * time.Second, nil}}, 31 * time.Second, false, false, health.Dead, "it does not answer for 31s"},
		"its loop stands still":             {[]step{{0, &health.Facts{Reasons: []string{"nothing was done for 40s"}}}}, time.Second, false, false, health.Dead, "nothing was done for 40s"},
		"it drains":                         {[]step{{0, with(func(f *health.Facts) { f.Leaving, f.Pending = true, 5 })}}, time.Second, true, false, health.Draining, "it stops"},
		"a shard is stopped at a gap":       {[]step{{0, with(func(f *health.Facts) { f.Stopped, f.Behind = 1, 1 })}}, time.Second, true, true, health.Idle, "1 shard is read no further"},
		"it has no shards, as one too many": {[]step{{0, with(func(f *health.Facts) { f.Shards = 0 })}}, time.Second, true, true, health.Idle, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := health.NewMonitor(health.Options{})
			for _, s := range tt.steps {
				if s.facts != nil {
					m.Observe(start.Add(s.after), *s.facts)
				}
			}
			v := m.Verdict(start.Add(tt.at))
			if v.Live != tt.live || v.Ready != tt.ready || v.State != tt.state || !strings.Contains(strings.Join(v.Reasons, "; "), tt.says) {
				t.Errorf("%+v, want live %v, ready %v, %s, %q", v, tt.live, tt.ready, tt.state, tt.says)
			}
			if !v.Ready && len(v.Reasons) == 0 {
				t.Error("it is not ready, and does not say why")
			}
		})
	}
}
