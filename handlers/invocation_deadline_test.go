package handlers

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// within returns a context as Lambda gives it to a function with this timeout.
func within(t *testing.T, timeout time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

// Records that do not fit into the time come again; written records do not.
func TestDeadline_SlowSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{fail: func(context.Context, string) error { time.Sleep(time.Second); return nil }}
		h := DynamoDB(assemble(t, s, nil), WithReserve(2*time.Second), WithMargin(500*time.Millisecond))
		begin := time.Now()
		answer, err := h.Invoke(within(t, 5500*time.Millisecond), []byte(records("a", "b", "c", "d", "e", "f")))
		if err != nil || failures(t, answer) != "105" || s.keys() != "a b c d" {
			t.Errorf("%s, %v, written %q; want the first four, of which the last was under way", answer, err, s.keys())
		}
		if took := time.Since(begin); took != 4*time.Second {
			t.Errorf("it took %v; want it to end with the last Write", took)
		}
	})
}

// A Write that hangs is cancelled in time, and what other sinks and keys have finished counts.
func TestDeadline_HangingSink(t *testing.T) {
	for name, tt := range map[string]struct{ timeout, reserve, margin, want time.Duration }{
		"a minute, by default":     {timeout: time.Minute, want: 57 * time.Second},
		"3s, by default":           {timeout: 3 * time.Second, want: 2850 * time.Millisecond},
		"half a second by default": {timeout: 500 * time.Millisecond, want: 400 * time.Millisecond},
		"a quarter, by default":    {timeout: 15 * time.Minute, want: 15*time.Minute - 5*time.Second},
		"300ms, by default":        {timeout: 300 * time.Millisecond, want: 225 * time.Millisecond},
		"a reserve above all":      {timeout: 10 * time.Second, reserve: 30 * time.Second, want: 7500 * time.Millisecond},
		"as told":                  {timeout: time.Minute, reserve: 20 * time.Second, margin: time.Second, want: 59 * time.Second},
		"a margin above a reserve": {timeout: time.Minute, reserve: 5 * time.Second, margin: 9 * time.Second, want: 55 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{fail: func(ctx context.Context, key string) error {
					if key == "c" {
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				}}
				other := &store{}
				p := assemble(t, s, &graveyard{}, func(o *pipeline.Options) {
					o.Routes = append(o.Routes, pipeline.Route{Name: "other", Sink: other})
				})
				log := &said{}
				h := DynamoDB(p, WithReserve(tt.reserve), WithMargin(tt.margin), log.option())
				begin := time.Now()
				answer, err := h.Invoke(within(t, tt.timeout), []byte(records("a", "b", "c", "d")))
				if err != nil || failures(t, answer) != "103" || s.keys() != "a b" || other.keys() != "a b c d" {
					t.Errorf("%s, %v, written %q and %q", answer, err, s.keys(), other.keys())
				}
				if took := time.Since(begin); took != tt.want {
					t.Errorf("it took %v; want %v", took, tt.want)
				}
				if !strings.Contains(log.String(), errDeadline.Error()) || strings.Contains(log.String(), "secret") {
					t.Errorf("logged: %s", log)
				}
			})
		})
	}
}

// Without a deadline nothing is cut. A failed Write is tried again until it succeeds.
func TestDeadline_None(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &store{fail: func(context.Context, string) error {
			if time.Since(begin) < 24*time.Hour {
				return pipeline.Transient(errDown)
			}
			return nil
		}}
		answer, err := DynamoDB(assemble(t, s, nil)).Invoke(t.Context(), []byte(records("a", "a")))
		if err != nil || failures(t, answer) != "" || s.keys() != "a a" {
			t.Errorf("%s, %v, written %q", answer, err, s.keys())
		}
	})
}

// An invocation that has no time left starts nothing, and the next one does everything.
func TestDeadline_Over(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := DynamoDB(assemble(t, s, nil))
		answer, err := h.Invoke(within(t, 0), []byte(records("a", "b")))
		if answer != nil || !errors.Is(err, errDeadline) || s.keys() != "" {
			t.Errorf("%s, %v, written %q", answer, err, s.keys())
		}
		answer, err = h.Invoke(within(t, time.Minute), []byte(records("a", "b")))
		if err != nil || failures(t, answer) != "" || s.keys() != "a b" {
			t.Errorf("%s, %v, written %q", answer, err, s.keys())
		}
	})
}

// A batch without time for any record fails as a whole. If the reply named its first record, Lambda would send the same
// batch for ever; a failed batch comes back in halves.
func TestDeadline_NoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := 0
		sink := pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error { // all or nothing
			select {
			case <-time.After(time.Duration(len(ds)) * time.Second):
				written += len(ds)
				return nil
			case <-ctx.Done():
				return pipeline.Transient(ctx.Err())
			}
		})
		h := DynamoDB(assemble(t, sink, &graveyard{}, func(o *pipeline.Options) { o.Routes[0].Batch = pipeline.Batch{} }))
		keys := strings.Fields("a b c d e f g h")
		for range 2 {
			answer, err := h.Invoke(within(t, 6*time.Second), []byte(records(keys...)))
			if answer != nil || !errors.Is(err, errDeadline) || written != 0 {
				t.Errorf("%s, %v, %d written", answer, err, written)
			}
			for _, advice := range []string{"none of its 8 records", "a larger timeout, or the mapping a smaller batch", "BisectBatchOnFunctionError"} {
				if err == nil || !strings.Contains(err.Error(), advice) {
					t.Errorf("%v does not say %q", err, advice)
				}
			}
		}
		for _, half := range [][]string{keys[:4], keys[4:]} {
			answer, err := h.Invoke(within(t, 6*time.Second), []byte(records(half...)))
			if err != nil || failures(t, answer) != "" {
				t.Errorf("%s, %v", answer, err)
			}
		}
		if written != len(keys) {
			t.Errorf("%d written", written)
		}
	})
}

// flushing is a store whose flush does not end by itself.
type flushing struct{ store }

// Flush waits until it is cancelled.
func (f *flushing) Flush(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// A Write that hangs after the last record costs the remaining time, and no record.
func TestDeadline_HangingFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flushing{}
		begin := time.Now()
		answer, err := DynamoDB(assemble(t, s, nil)).Invoke(within(t, time.Minute), []byte(records("a", "b")))
		if err != nil || failures(t, answer) != "" || s.keys() != "a b" {
			t.Errorf("%s, %v, written %q", answer, err, s.keys())
		}
		if took := time.Since(begin); took != time.Minute-1500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// Progress is kept: invocation by invocation the batch gets shorter, and its order holds.
func TestDeadline_Progress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{fail: func(context.Context, string) error { time.Sleep(time.Second); return nil }}
		h := DynamoDB(assemble(t, s, nil), WithReserve(1500*time.Millisecond))
		keys := strings.Fields("a b c d e f g h i j")
		invocations := 0
		for from := 0; from < len(keys); invocations++ {
			answer, err := h.Invoke(within(t, 5*time.Second), []byte(records(keys[from:]...)))
			if err != nil {
				t.Fatal(err)
			}
			id := failures(t, answer)
			if id == "" {
				break
			}
			n, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			from += n - 101
		}
		if s.keys() != strings.Join(keys, " ") || invocations != 2 {
			t.Errorf("%d invocations gave something back, written %q", invocations, s.keys())
		}
	})
}

// Dead letters that are down keep back what has to go there, and nothing else; the next
// invocation has what was given back.
func TestDeadline_DeadLettersDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		s := &store{fail: func(_ context.Context, key string) error {
			if key == "b" {
				return errors.New("refused")
			}
			return nil
		}}
		g := &graveyard{fail: func() error {
			if down {
				return errDown
			}
			return nil
		}}
		h := DynamoDB(assemble(t, s, g))
		begin := time.Now()
		answer, err := h.Invoke(within(t, time.Minute), []byte(records("a", "b", "c", "b")))
		if err != nil || failures(t, answer) != "102" || s.keys() != "a c" {
			t.Errorf("%s, %v, written %q", answer, err, s.keys())
		}
		if took := time.Since(begin); took != time.Minute-1500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		down = false
		answer, err = h.Invoke(within(t, time.Minute), []byte(records("b", "c", "b")))
		if err != nil || failures(t, answer) != "" || s.keys() != "a c c" || g.classes() != "write 101, write 103" {
			t.Errorf("%s, %v, written %q, letters %q", answer, err, s.keys(), g.classes())
		}
	})
}

// A sink that does not listen to its context costs its own records, and not what others have
// finished; the next invocation waits for it.
func TestDeadline_DeafSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := 2 * time.Minute
		s := &store{fail: func(_ context.Context, key string) error {
			if key == "c" {
				time.Sleep(hang)
				hang = 0
			}
			return nil
		}}
		log := &said{}
		h := DynamoDB(assemble(t, s, nil), log.option())
		begin := time.Now()
		answer, err := h.Invoke(within(t, time.Minute), []byte(records("a", "b", "c", "d")))
		if err != nil || failures(t, answer) != "103" || s.keys() != "a b" || !strings.Contains(log.String(), "did not end though its context did") {
			t.Errorf("%s, %v, written %q, logged: %s", answer, err, s.keys(), log)
		}
		if took := time.Since(begin); took != time.Minute-750*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		answer, err = h.Invoke(within(t, 30*time.Second), []byte(records("c", "d")))
		if answer != nil || !ends(err) || time.Since(begin) >= 2*time.Minute {
			t.Errorf("while it continues: %s, %v", answer, err)
		}
		answer, err = h.Invoke(within(t, time.Minute), []byte(records("c", "d")))
		if err != nil || failures(t, answer) != "" || s.keys() != "a b c c d" {
			t.Errorf("%s, %v, written %q", answer, err, s.keys())
		}
	})
}
