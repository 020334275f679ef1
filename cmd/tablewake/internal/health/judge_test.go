package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/tablewake/internal/health"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// step is what is observed some time after the start; nil facts: the consumer does not answer.
type step struct {
	after time.Duration
	facts *health.Facts
}

func TestVerdict(t *testing.T) {
	well := health.Facts{Contact: true, Seen: true, Shards: 3}
	with := func(change func(*health.Facts)) *health.Facts {
		f := well
		change(&f)
		return &f
	}
	pending := func(n, finished int64) *health.Facts {
		return with(func(f *health.Facts) { f.Pending, f.Finished = n, finished })
	}
	apart := with(func(f *health.Facts) { f.Contact = false })
	failing := with(func(f *health.Facts) { f.Failing = 3 })
	for name, tt := range map[string]struct {
		steps       []step
		at          time.Duration
		live, ready bool
		state       health.State
		says        string
	}{
		"nobody looked yet":                 {nil, 0, true, false, health.Starting, "not read the leases"},
		"the leases are not read yet":       {[]step{{0, &health.Facts{Contact: true}}}, time.Second, true, false, health.Starting, "not read the leases"},
		"nothing to do":                     {[]step{{0, &well}}, time.Second, true, true, health.Idle, ""},
		"nothing to do for a day":           {[]step{{0, &well}, {24 * time.Hour, &well}}, 24 * time.Hour, true, true, health.Idle, ""},
		"records are on their way":          {[]step{{0, pending(5, 0)}}, time.Minute / 6, true, true, health.Working, ""},
		"records come and go":               {[]step{{0, pending(5, 0)}, {time.Hour, pending(5, 7)}}, time.Hour + time.Second, true, true, health.Working, ""},
		"the same records for long":         {[]step{{0, pending(5, 7)}, {time.Minute, pending(5, 7)}, {121 * time.Second, pending(6, 7)}}, 121 * time.Second, true, false, health.Stuck, "6 records are pending, and none was finished for 2m1s"},
		"stuck, and then not":               {[]step{{0, pending(5, 7)}, {time.Hour, pending(5, 8)}}, time.Hour, true, true, health.Working, ""},
		"behind, with nothing pending":      {[]step{{0, with(func(f *health.Facts) { f.Behind = 1 })}}, time.Second, true, true, health.Working, ""},
		"the stream fails now and then":     {[]step{{0, failing}, {time.Minute, &well}, {2 * time.Minute, failing}}, 130 * time.Second, true, true, health.Idle, ""},
		"the stream fails for long":         {[]step{{0, failing}, {3 * time.Minute, failing}}, 3 * time.Minute, true, false, health.Stuck, "3 of 3 shards, and nothing was read for 3m0s"},
		"no contact for a moment":           {[]step{{0, &well}, {time.Second, apart}}, 2 * time.Second, true, false, health.Isolated, "cannot show that it lives"},
		"no contact for long":               {[]step{{0, &well}, {6 * time.Minute, apart}}, 6 * time.Minute, false, false, health.Isolated, "for 6m0s"},
		"contact again":                     {[]step{{0, apart}, {6 * time.Minute, &well}}, 6 * time.Minute, true, true, health.Idle, ""},
		"no leases for long":                {[]step{{0, &health.Facts{}}, {6 * time.Minute, &health.Facts{}}}, 6 * time.Minute, false, false, health.Isolated, "for 6m0s"},
		"it does not answer for a moment":   {[]step{{0, &well}, {5 * time.Second, nil}}, 10 * time.Second, true, true, health.Idle, ""},
		"it does not answer for long":       {[]step{{0, &well}, {5 * time.Second, nil}}, 13 * time.Second, false, false, health.Dead, "its loop has not run for 13s"},
		"it drains":                         {[]step{{0, with(func(f *health.Facts) { f.Leaving, f.Pending = true, 5 })}}, time.Second, true, false, health.Draining, "it stops"},
		"a shard is stopped at a gap":       {[]step{{0, with(func(f *health.Facts) { f.Stopped, f.Behind = 1, 1 })}}, time.Second, true, true, health.Idle, "1 shards are read no further"},
		"it has no shards, as one too many": {[]step{{0, with(func(f *health.Facts) { f.Shards = 0 })}}, time.Second, true, true, health.Idle, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := health.NewJudge(health.Options{Lease: 6 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range tt.steps {
				if s.facts != nil {
					j.Observe(start.Add(s.after), *s.facts)
				}
			}
			v := j.Verdict(start.Add(tt.at))
			if v.Live != tt.live || v.Ready != tt.ready || v.State != tt.state || !strings.Contains(strings.Join(v.Reasons, "; "), tt.says) {
				t.Errorf("%+v, want live %v, ready %v, %s, %q", v, tt.live, tt.ready, tt.state, tt.says)
			}
			if !v.Ready && len(v.Reasons) == 0 {
				t.Error("it is not ready, and does not say why")
			}
		})
	}
}

func TestNewJudge(t *testing.T) {
	if _, err := health.NewJudge(health.Options{}); err == nil {
		t.Error("a judge without a lease")
	}
}
