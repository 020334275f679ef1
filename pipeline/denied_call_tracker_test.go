package pipeline

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

var errRefused = Denied(errors.New("AccessDenied (allow dynamodb:PutItem)"))

// If a call that worked before is refused, the run waits for five minutes, whichever call it is. A call that never
// worked points to a wrong configuration, and its denial ends the run at once.
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
			for_     time.Duration // how long the call is refused
			ends     time.Duration // when the run ends with a fatal error, about; 0: it does not
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
						time.Sleep(time.Second) // the work for the previous page is done
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

// take removes and returns the first page of ps, if there is one.
func take(ps *[]*Page) []*Page {
	n := min(1, len(*ps))
	first := (*ps)[:n]
	*ps = (*ps)[n:]
	return first
}

type committerFunc func() error

func (f committerFunc) Commit(context.Context, string, Position) error { return f() }

// A missing right ends the run after five minutes, even if other calls of the same sink, which need another right,
// succeed all the time. A right that is restored within that time does not end the run.
func TestDenied_AmongCallsThatSucceed(t *testing.T) {
	missing := func(right string) error { return Denied(errs.Errorf("AccessDenied (allow %s)", redact.Safe(right))) }
	for name, test := range map[string]struct {
		refuse func(since time.Duration, key string) error
		b      int    // second at which b is written
		whole  bool   // whether a Write fails as a whole
		ends   string // the right that ends the run; "": it does not end
	}{
		"one right for good": {refuse: func(_ time.Duration, key string) error {
			if key == "a" {
				return missing("dynamodb:DeleteItem")
			}
			return nil
		}, ends: "dynamodb:DeleteItem"},
		"one right for good, of whole writes": {whole: true, refuse: func(_ time.Duration, key string) error {
			if key == "a" {
				return missing("dynamodb:DeleteItem")
			}
			return nil
		}, ends: "dynamodb:DeleteItem"},
		"one right for three minutes": {refuse: func(since time.Duration, key string) error {
			if key == "a" && since < 3*time.Minute {
				return missing("dynamodb:DeleteItem")
			}
			return nil
		}},
		"two rights for three minutes, one after the other": {b: 200, refuse: func(since time.Duration, key string) error {
			switch {
			case key == "a" && since < 3*time.Minute:
				return missing("dynamodb:DeleteItem")
			case key == "b" && since < 6*time.Minute:
				return missing("dynamodb:TransactWriteItems")
			}
			return nil
		}},
		"two rights, of which one is given back": {b: 11, refuse: func(since time.Duration, key string) error {
			switch {
			case key == "a" && since < 3*time.Minute:
				return missing("dynamodb:DeleteItem")
			case key == "b":
				return missing("dynamodb:TransactWriteItems")
			}
			return nil
		}, ends: "dynamodb:TransactWriteItems"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s recorder
				var began time.Time
				s.fail = func(_ context.Context, ds []Delivery) error {
					failed := map[int]error{}
					for i := range ds {
						key := string(ds[i].Change.Key)
						if len(key) == 1 && began.IsZero() {
							began = time.Now()
						}
						if err := test.refuse(time.Since(began), key); err != nil {
							failed[i] = err
						}
					}
					switch {
					case len(failed) == 0:
						return nil
					case test.whole:
						return failed[0]
					}
					return &BatchError{Failed: failed}
				}
				p, err := New(Options{Name: "shop", Routes: []Route{{Name: "orders", Sink: &s, Batch: Batch{Count: 1}}}})
				if err != nil {
					t.Fatal(err)
				}
				counts := map[string]int{}
				n := 0
				src := SourceFunc(func(context.Context) (*Page, error) {
					time.Sleep(time.Second) // one page a second: other keys succeed meanwhile
					if n++; n > 1800 {
						return nil, io.EOF
					}
					key := map[int]string{10: "a", test.b: "b"}[n]
					return pageOf(counts, "p", n, cmp.Or(key, "other"+strconv.Itoa(n%7))), nil
				})
				err = p.Run(t.Context(), src, nil)
				took := time.Since(began)
				switch {
				case test.ends == "" && err != nil:
					t.Errorf("Run returned %v after %v", err, took)
				case test.ends != "" && (!IsFatal(err) || !strings.Contains(err.Error(), test.ends)):
					t.Errorf("Run returned %v, which is not fatal or does not name %s", err, test.ends)
				case test.ends != "" && (took < DeniedFor || took > DeniedFor+time.Minute):
					t.Errorf("it ended after %v", took)
				}
			})
		})
	}
}
