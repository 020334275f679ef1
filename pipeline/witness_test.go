package pipeline

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// witness sees everything that happens in a run and notes what breaks the contract.
type witness struct {
	mu     sync.Mutex
	wrong  []string
	rand   *rand.Rand
	sinks  []*witnessSink
	pages  map[string][][]string // changes by partition and page, each as key and number
	commit map[string]int
	late   map[string]bool // by revoked partition: whether a Commit came after the revoke
	fails  int             // calls of Put, MarkKeys, HasMarks and Commit that may still fail
}

func (w *witness) errorf(format string, args ...any) {
	if len(w.wrong) < 5 {
		w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	}
}

// witnessSink is one sink. It fails at random and checks its deliveries.
type witnessSink struct {
	*witness
	name    string
	plan    sinkPlan
	letters bool
	marks   bool
	flying  int
	sorted  int // number of packed batches
	busy    map[item.Key]bool
	tried   map[item.Key]int // newest number of each key that was delivered
	durable map[string]int   // how often a change was written or dead-lettered
	gaveUp  map[string]bool

	behind      map[item.Key]int // number of the first change whose letter holds the key
	lettered    map[item.Key]int // number of the last change whose letter holds the key
	held        map[item.Key]int // how often the key was held
	quarantined int64            // letters of class quarantined
}

var (
	_ Guarded = (*witnessSink)(nil)
	_ Planner = (*witnessSink)(nil)

	_ EventIgnorer = (*witnessSink)(nil)
	_ SortedWriter = (*witnessSink)(nil)

	_ Quarantine = (*witness)(nil)
)

// Guarded returns the setting of the plan.
func (s *witnessSink) Guarded() bool { return s.plan.guarded }

// holds reports whether a letter of a class must hold back its key.
func (s *witnessSink) holds(class string) bool {
	return s.marks && (!s.plan.guarded || class == classExpired || class == classQuarantined)
}

func (s *witnessSink) KeepsKeyOrder() bool { return s.plan.keepsOrder }

func (s *witnessSink) IgnoresEvents() bool { return s.plan.sorted }

// WriteSorted reads its deliveries twice and then calls Write.
func (s *witnessSink) WriteSorted(ctx context.Context, all iter.Seq2[*Delivery, error]) (int, error) {
	var ds []Delivery
	for range 2 {
		ds = ds[:0]
		for d, err := range all {
			if err != nil {
				return 0, err
			}
			if n := len(ds); n > 0 && (ds[n-1].Change.Key > d.Change.Key ||
				ds[n-1].Change.Key == d.Change.Key && nth(ds[n-1].Change) > nth(d.Change)) {
				s.mu.Lock()
				s.errorf("%s: %s comes behind %s in sorted order", s.name, name(d.Change), name(ds[n-1].Change))
				s.mu.Unlock()
			}
			ds = append(ds, *d)
		}
	}
	s.mu.Lock()
	s.sorted++
	s.mu.Unlock()
	return 0, s.Write(ctx, ds)
}

// wants reports whether the change is routed here.
func (s *witnessSink) wants(c *record.Change) bool { return nth(c)%3 < s.plan.takes }

// Check is the filter of the route. It fails for some changes if there are dead letters.
func (s *witnessSink) Check(c *record.Change) (Verdict, error) {
	if s.letters && s.wants(c) && s.plan.poison > 0 && nth(c)%7 == s.plan.poison {
		return Verdict{}, errBad
	}
	return Verdict{Drop: !s.wants(c), Reason: "unwanted"}, nil
}

func name(c *record.Change) string { return string(c.Key) + c.Sequence }

// intent is the plan of a change, in the memory of its page.
type intent struct {
	text string
	doc  []byte
}

func (*intent) String() string { return "planned" }

// Plan makes an intent that names the change.
func (s *witnessSink) Plan(d *Delivery) error {
	op := Alloc[intent](d)
	if op.text != "" || op.doc != nil {
		return fmt.Errorf("room that is not empty: %+v", op)
	}
	name := []byte(name(d.Change))
	op.text, op.doc = d.Text(name), d.Bytes(name)
	d.Ops = append(d.Ops, op)
	return nil
}

// checkPlans checks that deliveries have their own plans. Calls before and after a Write show that no other page reuses
// the memory meanwhile.
func (s *witnessSink) checkPlans(ds []Delivery) {
	for i := range ds {
		want := name(ds[i].Change)
		if len(ds[i].Ops) != 1 {
			s.errorf("%s: %s has the ops %v", s.name, want, ds[i].Ops)
		} else if op := ds[i].Ops[0].(*intent); op.text != want || string(op.doc) != want {
			s.errorf("%s: %s was planned as %q, %q", s.name, want, op.text, op.doc)
		}
	}
}

// begin checks the deliveries of a Write.
func (s *witnessSink) begin(ds []Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkPlans(ds)
	if s.flying++; s.flying > s.plan.concurrency {
		s.errorf("%s: %d Writes in flight", s.name, s.flying)
	}
	if len(ds) > s.plan.batch.Count {
		s.errorf("%s: a batch of %d", s.name, len(ds))
	}
	last := map[item.Key]int{}
	for i := range ds {
		c := ds[i].Change
		n := nth(c)
		before, twice := last[c.Key]
		if twice && (!s.plan.keepsOrder || before >= n) {
			s.errorf("%s: %s stands behind number %d in one batch", s.name, name(c), before)
		} else if !twice && s.busy[c.Key] {
			s.errorf("%s: %s is written while its key is", s.name, name(c))
		}
		if first, ok := s.behind[c.Key]; ok {
			s.errorf("%s: %s was delivered though number %d lies in dead letters", s.name, name(c), first)
		}
		last[c.Key] = n
		s.busy[c.Key] = true
		if s.letters && s.plan.poison > 0 && n%7 == s.plan.poison {
			s.errorf("%s: %s was written, but a filter failed", s.name, name(c))
		}
		if n > s.tried[c.Key] {
			for k := n - 1; k > 0; k-- { // the previous change of the key is durable, or precedes c in this Write
				prior := change(string(c.Key), k)
				if !s.wants(&prior) {
					continue
				}
				if s.durable[name(&prior)] == 0 && before != k {
					s.errorf("%s: %s overtook %s", s.name, name(c), name(&prior))
				}
				break
			}
			s.tried[c.Key] = n
		}
	}
}

// end notes the result of a Write.
func (s *witnessSink) end(ds []Delivery, failed map[int]error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkPlans(ds)
	s.flying--
	for i := range ds {
		delete(s.busy, ds[i].Change.Key)
		if failed == nil || failed[i] == nil {
			s.durable[name(ds[i].Change)]++
		}
	}
}

func (s *witnessSink) Write(ctx context.Context, ds []Delivery) error {
	s.begin(ds)
	s.mu.Lock()
	fault, pick, kind := s.rand.IntN(100) < s.plan.faults, s.rand.IntN(len(ds)), s.rand.IntN(6)
	s.mu.Unlock()
	if s.plan.slow > 0 && Sleep(ctx, s.plan.slow) != nil {
		s.end(ds, allFailed(len(ds), ctx.Err()))
		return ctx.Err()
	}
	if !fault {
		s.end(ds, nil)
		return nil
	}
	switch kind {
	case 0, 1, 2: // one change fails, and the later changes of its key in the batch
		var failed BatchError
		for i := pick; i < len(ds); i++ {
			if ds[i].Change.Key == ds[pick].Change.Key {
				failed.Add(i, Transient(errDown))
			}
		}
		if kind == 0 {
			failed.Failed[pick] = errDown
			for i := range failed.Failed {
				if i != pick && !s.holds(classWrite) {
					delete(failed.Failed, i) // the key continues after the dropped change
				}
			}
		}
		s.end(ds, failed.Failed)
		return failed.OrNil()
	case 3:
		s.end(ds, allFailed(len(ds), errDown))
		return RetryAfter(errDown, time.Second)
	case 4:
		s.end(ds, allFailed(len(ds), errDown))
		return errDown
	default:
		s.end(ds, allFailed(len(ds), errDown))
		panic("at random")
	}
}

func allFailed(n int, err error) map[int]error {
	failed := map[int]error{}
	for i := range n {
		failed[i] = err
	}
	return failed
}

// Put stores letters. It fails at times.
func (w *witness) Put(_ context.Context, letters []DeadLetter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails > 0 && w.rand.IntN(3) == 0 {
		w.fails--
		return errDown
	}
	for _, l := range letters {
		for _, s := range w.sinks {
			if s.name == l.Sink {
				id := string(l.Key) + l.Sequence
				s.durable[id]++
				s.gaveUp[id] = true
				if l.Class == classQuarantined {
					s.quarantined++
				}
				n, _ := strconv.Atoi(l.Sequence)
				if !s.holds(l.Class) {
					continue
				}
				again := w.revoked(string(l.Key[:1]))
				if n <= s.lettered[l.Key] && !again {
					w.errorf("%s: the letter of %s came after that of number %d", s.name, id, s.lettered[l.Key])
				}
				s.lettered[l.Key] = n
				if _, ok := s.behind[l.Key]; !ok {
					s.behind[l.Key] = n
				}
				for later := n + 1; later <= s.tried[l.Key]; later++ {
					if c := change(string(l.Key), later); s.durable[name(&c)] > 0 && !again {
						w.errorf("%s: %s was delivered before %s went to dead letters", s.name, name(&c), id)
					}
				}
			}
		}
	}
	return nil
}

// MarkKeys stores marks. It fails at times.
func (w *witness) MarkKeys(_ context.Context, sink string, keys []item.Key) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails > 0 && w.rand.IntN(3) == 0 {
		w.fails--
		return errDown
	}
	for _, s := range w.sinks {
		for _, k := range keys {
			if s.name != sink {
				continue
			}
			if _, ok := s.behind[k]; !ok {
				w.errorf("%s: %s is held, and no letter of it is there", s.name, k)
			}
			s.held[k]++
		}
	}
	return nil
}

// HasMarks answers from the marks. It fails at times.
func (w *witness) HasMarks(_ context.Context, sink string, keys []item.Key) ([]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails > 0 && w.rand.IntN(10) == 0 {
		w.fails--
		return nil, errDown
	}
	held := make([]bool, len(keys))
	for _, s := range w.sinks {
		for i, k := range keys {
			held[i] = held[i] || s.name == sink && s.held[k] > 0
		}
	}
	return held, nil
}

// Commit checks that all changes up to the position are durable. It fails at times.
func (w *witness) Commit(_ context.Context, partition string, p Position) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails > 0 && w.rand.IntN(3) == 0 {
		w.fails--
		return errDown
	}
	at, _ := strconv.Atoi(string(p))
	if late, revoked := w.late[partition]; revoked {
		if late {
			w.errorf("commit of %s at %d: it was revoked, and one Commit at most was under way then", partition, at)
		}
		w.late[partition] = true
	}
	if at <= w.commit[partition] {
		w.errorf("commit of %s went from %d to %d", partition, w.commit[partition], at)
	}
	w.commit[partition] = at
	base, _, _ := strings.Cut(partition, "~")
	for i, changes := range w.pages[base][:at] {
		for _, id := range changes {
			c := change(id[:2], 0)
			c.Sequence = id[2:]
			for _, s := range w.sinks {
				if s.wants(&c) && s.durable[id] == 0 {
					w.errorf("%s was committed at %d, but %s has not got %s of page %d", partition, at, s.name, id, i+1)
				}
				if first, ok := s.behind[c.Key]; ok && nth(&c) >= first && s.held[c.Key] == 0 {
					w.errorf("%s was committed at %d, but %s does not hold the key of %s", partition, at, s.name, id)
				}
			}
		}
	}
	return nil
}

// revoked reports whether any incarnation of a partition was revoked. The first is always revoked before the others.
func (w *witness) revoked(base string) bool {
	_, first := w.late[base]
	return first
}

// source reads the plan's pages.
func (w *witness) source(p plan) Source {
	counts := map[string]int{}
	next := 0
	return SourceFunc(func(ctx context.Context) (*Page, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if next == len(p.pages) {
			return nil, io.EOF
		}
		keys := p.pages[next]
		next++
		partition := "p"
		if len(keys) > 0 {
			partition = keys[0][:1]
		}
		page := pageOf(counts, partition, len(w.pages[partition])+1, keys...)
		var ids []string
		for i := range page.Changes {
			c := &page.Changes[i] // changes have different sizes
			c.Raw = append(c.Raw, make([]byte, nth(c)*37%150)...)
			ids = append(ids, name(&page.Changes[i]))
		}
		w.pages[partition] = append(w.pages[partition], ids)
		if p.lazy {
			return &Page{Partition: page.Partition, Position: page.Position, Page: record.Page{Bytes: page.Bytes},
				Decode: func() (*record.Page, error) { return &page.Page, nil }}, nil
		}
		return page, nil
	})
}
