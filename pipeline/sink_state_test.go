package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// A sink reports since when it fails, the last error, and how many changes wait. Without dead letters, a change that
// can never be written is reported as blocked at once.
func TestSinks(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		letters DeadLetters
		blocked int
		says    string
	}{
		"down":                  {Transient(redact.Class("busy").New("too much to do")), nil, 0, "are tried again"},
		"down, with letters":    {Transient(redact.Class("busy").New("too much to do")), &graveyard{}, 0, "are tried again"},
		"blocked":               {redact.Class("mapping").New("no number"), nil, 1, "there are no dead letters: they block"},
		"refused, with letters": {errors.New("no number"), &graveyard{}, -1, "changes were dead-lettered"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
					for i := range ds {
						if ds[i].Change.Key == "a" {
							return test.err
						}
					}
					return nil
				}}
				p, err := New(Options{
					Name: "shop", DeadLetters: test.letters, Logger: slog.New(slog.NewTextHandler(&log, nil)),
					Routes: []Route{{Name: "orders", Sink: s, Batch: Batch{Count: 1}}},
				})
				if err != nil {
					t.Fatal(err)
				}
				if p.Sinks() != nil {
					t.Error("without a run there are states")
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- p.Run(ctx, endless(pageOf(map[string]int{}, "p", 1, "a", "a", "b")), nil) }()
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				got := p.Sinks()[0]
				if test.blocked < 0 {
					if !got.Failing.IsZero() || got.Pending != 0 {
						t.Errorf("%+v", got)
					}
				} else if got.Pending != 2 || time.Since(got.Failing) != 5*time.Minute || !got.Oldest.Equal(time.Unix(1_700_000_001, 0)) ||
					got.Error != redact.LogText(test.err) || got.Blocked != test.blocked {
					t.Errorf("%+v", got)
				}
				first, _, _ := strings.Cut(log.String(), "\n")
				if !strings.Contains(first, test.says) {
					t.Errorf("the first line is %s", first)
				}
				stop()
				<-ended
			})
		})
	}
}

// A sink is healthy if no Write failed temporarily since its last success. A permanent refusal does not change its
// health. A Write with temporary and permanent errors makes the sink unhealthy.
func TestHealth(t *testing.T) {
	busy, bad := Transient(errors.New("busy")), errors.New("bad")
	synctest.Test(t, func(t *testing.T) {
		var h health
		for _, test := range []struct {
			name  string
			whole error
			errs  []error
			well  bool
		}{
			{"nothing yet", nil, nil, true},
			{"refused", bad, nil, true},
			{"busy", busy, nil, false},
			{"refused while busy", bad, []error{nil}, false},
			{"one refused", nil, []error{bad}, false},
			{"written", nil, []error{bad, nil}, true},
			{"partly busy", nil, []error{nil, busy}, false},
			{"written again", nil, []error{nil}, true},
			{"panicked", panicError("sink", "x"), []error{nil}, true},
		} {
			time.Sleep(time.Second)
			h.update(test.whole, test.errs)
			var r RouteInfo
			if r.Wrote, r.Failed = h.times(); r.Healthy() != test.well {
				t.Errorf("%s: well is %v: wrote %v, failed %v", test.name, r.Healthy(), r.Wrote, r.Failed)
			}
		}
	})
}
