package handlers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// shift is a stream that a mapping brings to the handler, and what goes wrong meanwhile.
type shift struct {
	seed    uint64
	keys    []string // of the records; "!" is a record that cannot be decoded
	batch   int
	timeout time.Duration
	trouble time.Duration // things go wrong until then
	rate    int           // of ten Writes, n fail, hang, are refused or take too long; the same for ten Puts
	lanes   int           // Writes at once
}

func drawShift(t *rapid.T) shift {
	return shift{
		seed:    rapid.Uint64().Draw(t, "seed"),
		keys:    rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a", "b", "c", "d", "e", "!"}), 1, 40).Draw(t, "keys"),
		batch:   rapid.IntRange(1, 40).Draw(t, "batch"),
		timeout: time.Duration(rapid.IntRange(300, 10_000).Draw(t, "timeout")) * time.Millisecond,
		trouble: time.Duration(rapid.IntRange(0, 60).Draw(t, "trouble")) * time.Second,
		rate:    rapid.IntRange(0, 9).Draw(t, "rate"),
		lanes:   rapid.IntRange(1, 4).Draw(t, "lanes"),
	}
}

// Fact 16: whatever fails and whenever the time is over, what an answer calls finished is
// written or in dead letters, nothing is left out, and first deliveries of a key are in order.
func TestFact16_NothingIsSkipped(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawShift(rt)
		var wrong string
		synctest.Test(t, func(t *testing.T) { wrong = s.work(t) })
		if wrong != "" {
			rt.Fatalf("%+v: %s", s, wrong)
		}
	})
}

// work brings all records, as a mapping does: from the lowest failure on, again and again.
func (s shift) work(t *testing.T) (wrong string) {
	w := &witness{rand: rand.New(rand.NewPCG(s.seed, 1)), rate: s.rate, until: time.Now().Add(s.trouble), done: map[string]bool{}, first: map[string][]string{}}
	p, err := pipeline.New(pipeline.Options{
		Name: "shop", DeadLetters: w,
		Routes: []pipeline.Route{{Name: "store", Sink: w, Concurrency: s.lanes, Batch: pipeline.Batch{Count: 3}}},
	})
	if err != nil {
		return err.Error()
	}
	h := DynamoDB(p)
	var all []string
	order := map[string][]string{}
	for i, key := range s.keys {
		sequence := strconv.Itoa(101 + i)
		if key == "!" {
			all = append(all, strings.Replace(recordJSON("x", 101+i), `"PK":{"S":"x"}`, `"PK":{"X":"x"}`, 1))
			continue
		}
		all = append(all, recordJSON(key, 101+i))
		order[key] = append(order[key], sequence)
	}
	for at, calls := 0, 0; at < len(all); calls++ {
		if calls > 1000 {
			return "it does not end"
		}
		to := min(at+s.batch, len(all))
		ctx, cancel := context.WithTimeout(t.Context(), s.timeout)
		begin := time.Now()
		answer, err := h.Invoke(ctx, []byte(event(all[at:to]...)))
		cancel()
		if left := s.timeout - time.Since(begin); left <= 0 {
			return "the answer came when the time was over"
		}
		if errors.Is(err, errDeadline) || ends(err) {
			continue // all of it comes again
		}
		if err != nil {
			return err.Error()
		}
		from := at
		if at = to; failures(t, answer) != "" {
			n, err := strconv.Atoi(failures(t, answer))
			if err != nil || n < 101+from || n >= 101+to {
				return fmt.Sprintf("the answer %s is of another batch", answer)
			}
			at = n - 101
		}
		for i := range at {
			if sequence := strconv.Itoa(101 + i); !w.has(sequence) {
				return fmt.Sprintf("record %s counts as finished, and is nowhere", sequence)
			}
		}
		if err := p.Ledger().Check(); err != nil {
			return err.Error()
		}
	}
	for key, want := range order {
		if got := w.first[key]; strings.Join(got, " ") != strings.Join(want, " ") {
			return fmt.Sprintf("first deliveries of %s came as %v, not as %v", key, got, want)
		}
	}
	return ""
}

// witness is a sink and a store of dead letters with many faults.
type witness struct {
	store // its lock
	rand  *rand.Rand
	rate  int
	until time.Time
	done  map[string]bool     // by sequence number
	first map[string][]string // sequence numbers of first tries that were not for nothing, by key
}

// bad returns the fault of this call, 0 to 3; 0 is none.
func (w *witness) bad() (what int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.IntN(4), time.Now().Before(w.until) && w.rand.IntN(10) < w.rate
}

// Write takes a while, or hangs, or fails, or refuses some.
func (w *witness) Write(ctx context.Context, ds []pipeline.Delivery) error {
	time.Sleep(20 * time.Millisecond)
	var failed pipeline.BatchError
	for i := range ds {
		switch what, bad := w.bad(); {
		case !bad:
			w.note(ds[i].Change)
		case what == 0:
			failed.Add(i, pipeline.Transient(errDown))
		case what == 1:
			failed.Add(i, errors.New("refused"))
		case what == 2:
			time.Sleep(15 * time.Second)
			w.note(ds[i].Change)
		default:
			<-ctx.Done()
			for ; i < len(ds); i++ {
				failed.Add(i, ctx.Err())
			}
			return &failed
		}
	}
	return failed.OrNil()
}

// has reports whether a record is written, or in dead letters.
func (w *witness) has(sequence string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[sequence]
}

func (w *witness) note(c *record.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, _ := c.Keys.Get("PK")
	if key, _ := v.Text(); !w.done[c.Sequence] {
		w.first[key] = append(w.first[key], c.Sequence)
	}
	w.done[c.Sequence] = true
}

// Put keeps letters, unless it is down.
func (w *witness) Put(_ context.Context, letters []pipeline.DeadLetter) error {
	if _, bad := w.bad(); bad {
		return errDown
	}
	for _, l := range letters {
		if l.Class == "undecodable" {
			w.mu.Lock()
			w.done[l.Sequence] = true
			w.mu.Unlock()
			continue
		}
		page, err := record.NewDecoder(record.DecoderOptions{}).Decode(l.Raw)
		if err != nil || len(page.Changes) != 1 {
			return errors.New("the letter holds no record")
		}
		w.note(&page.Changes[0])
	}
	return nil
}
