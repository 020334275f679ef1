package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var errRefused = Denied(errors.New("AccessDenied (allow dynamodb:PutItem)"))

// A refusal of a call that worked is waited out for five minutes, of whichever call it is; one
// of a call that never worked is the configuration's, and ends the run at once.
func TestDenied_OneRuleForAllCalls(t *testing.T) {
	type world struct {
		s *recorder
		o Options
		c Committer
	}
	calls := map[string]func(w *world, refuse func() error){
		"Write": func(w *world, refuse func() error) {
			w.s.fail = func(context.Context, []Delivery) error { return refuse() }
		},
		"Write of one delivery": func(w *world, refuse func() error) {
			w.s.fail = func(context.Context, []Delivery) error {
				if err := refuse(); err != nil {
					return &BatchError{Failed: map[int]error{0: err}}
				}
				return nil
			}
		},
		"dead letters": func(w *world, refuse func() error) {
			w.s.fail = func(context.Context, []Delivery) error { return errors.New("never") }
			w.o.DeadLetters = &graveyard{fail: refuse}
		},
		"Commit": func(w *world, refuse func() error) {
			w.c = committerFunc(func() error { return refuse() })
		},
	}
	for name, set := range calls {
		for _, test := range []struct {
			name     string
			worked   bool
			for_     time.Duration // refused for
			ends     time.Duration // fatally, about; 0: it does not
			lessThan time.Duration
		}{
			{"never worked", false, time.Hour, 1, time.Second},
			{"for a while", true, 3 * time.Minute, 0, 0},
			{"for good", true, time.Hour, DeniedFor, DeniedFor + time.Minute},
		} {
			t.Run(name+", "+test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &world{s: &recorder{}}
					worked, begun := !test.worked, time.Time{}
					set(w, func() error {
						if !worked {
							worked = true
							return nil
						}
						if begun.IsZero() {
							begun = time.Now()
						}
						if time.Since(begun) < test.for_ {
							return errRefused
						}
						return nil
					})
					w.o.Name, w.o.Routes = "shop", []Route{{Name: "orders", Sink: w.s, Concurrency: 1, Batch: Batch{Count: 1}}}
					p, err := New(w.o)
					if err != nil {
						t.Fatal(err)
					}
					counts := map[string]int{}
					ps := []*Page{pageOf(counts, "p", 1, "a"), pageOf(counts, "p", 2, "b")}
					src := SourceFunc(func(ctx context.Context) (*Page, error) {
						time.Sleep(time.Second) // what the page before led to is done
						return pages(nil, take(&ps)...).Read(ctx)
					})
					err = p.Run(t.Context(), src, w.c)
					took := time.Since(begun)
					switch {
					case test.ends == 0 && err != nil:
						t.Errorf("Run returned %v", err)
					case test.ends > 0 && (!IsFatal(err) || !strings.Contains(err.Error(), "allow dynamodb:PutItem")):
						t.Errorf("Run returned %v, which is not fatal or names no right", err)
					case test.ends > 1 && took < test.ends, test.ends > 0 && took > test.lessThan:
						t.Errorf("it ended after %v", took)
					}
				})
			})
		}
	}
}

// take is the first of ps, if there is one, and takes it out.
func take(ps *[]*Page) []*Page {
	n := min(1, len(*ps))
	first := (*ps)[:n]
	*ps = (*ps)[n:]
	return first
}

type committerFunc func() error

func (f committerFunc) Commit(context.Context, string, Position) error { return f() }
