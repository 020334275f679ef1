package redrive_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/redrive"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

// recordJSON returns the n-th record of an item. text is the content of the attribute T in its image.
func recordJSON(key string, n int, text string) []byte {
	return fmt.Appendf(nil, `{"eventID":"%[2]d","eventName":"INSERT","eventSourceARN":%[4]q,"dynamodb":{"ApproximateCreationDateTime":1767323045,`+
		`"Keys":{"PK":{"S":%[1]q}},"NewImage":{"PK":{"S":%[1]q},"T":{%[3]s}},"SequenceNumber":"1%020[2]d","SizeBytes":40,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		key, n, text, arn)
}

// stream returns a page with the records.
func stream(records ...[]byte) *pipeline.Page {
	p := record.NewDecoder(record.DecoderOptions{}).DecodeLines(slices.Concat(lines(records)...))
	return &pipeline.Page{Page: *p, Partition: "p", Position: "1"}
}

func lines(records [][]byte) [][]byte {
	var out [][]byte
	for _, r := range records {
		out = append(out, append(slices.Clone(r), '\n'))
	}
	return out
}

// nth returns the number n that recordJSON gave a change.
func nth(c *record.Change) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(c.Sequence, "1"))
	return n
}

// box is a store that keeps dead letters in memory.
type box struct {
	mu      sync.Mutex
	letters []pipeline.DeadLetter
}

var _ deadletter.Store = (*box)(nil)

func (b *box) Put(_ context.Context, letters []pipeline.DeadLetter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range letters {
		id := deadletter.ID(&l)
		if !slices.ContainsFunc(b.letters, func(o pipeline.DeadLetter) bool { return deadletter.ID(&o) == id }) {
			l.Raw = slices.Clone(l.Raw)
			b.letters = append(b.letters, l)
		}
	}
	return nil
}

func (b *box) Read(context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	b.mu.Lock()
	defer b.mu.Unlock()
	letters := slices.Clone(b.letters)
	return func(yield func(pipeline.DeadLetter, error) bool) {
		for _, l := range letters {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (b *box) Remove(_ context.Context, ids []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.letters = slices.DeleteFunc(b.letters, func(l pipeline.DeadLetter) bool { return slices.Contains(ids, deadletter.ID(&l)) })
	return nil
}

// list returns the dead letters in the form sink:key and number:class, such as free:a1:write.
func (b *box) list() string {
	var out []string
	for l := range b.Read(context.Background()) {
		out = append(out, fmt.Sprintf("%s:%s%s:%s", l.Sink, l.Key, strings.TrimLeft(l.Sequence[1:], "0"), l.Class))
	}
	return strings.Join(out, " ")
}

// marks is a quarantine that keeps its marks in memory.
type marks struct {
	mu    sync.Mutex
	marks map[string]state.Mark
}

var _ state.Quarantine = (*marks)(nil)

func (m *marks) HasMarks(_ context.Context, sink string, keys []item.Key) ([]bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := make([]bool, len(keys))
	for i, k := range keys {
		_, held[i] = m.marks[sink+"/"+string(k)]
	}
	return held, nil
}

func (m *marks) MarkKeys(_ context.Context, sink string, keys []item.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.marks == nil {
		m.marks = map[string]state.Mark{}
	}
	for _, k := range keys {
		mark, ok := m.marks[sink+"/"+string(k)]
		if !ok {
			mark = state.Mark{Sink: sink, Key: k, Since: time.Now()}
		}
		mark.Letters++
		m.marks[sink+"/"+string(k)] = mark
	}
	return nil
}

func (m *marks) Marks(_ context.Context, sink string) iter.Seq2[state.Mark, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.SortedFunc(maps.Values(m.marks), func(a, b state.Mark) int {
		return cmp.Or(strings.Compare(a.Sink, b.Sink), strings.Compare(string(a.Key), string(b.Key)))
	})
	return func(yield func(state.Mark, error) bool) {
		for _, mark := range all {
			if (sink == "" || mark.Sink == sink) && !yield(mark, nil) {
				return
			}
		}
	}
}

func (m *marks) Clear(_ context.Context, mark state.Mark) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := mark.Sink + "/" + string(mark.Key)
	if m.marks[id] != mark {
		return false, nil
	}
	delete(m.marks, id)
	return true, nil
}

func (m *marks) list() string {
	var out []string
	for mark := range m.Marks(context.Background(), "") {
		out = append(out, mark.Sink+":"+string(mark.Key))
	}
	return strings.Join(out, " ")
}

// sink records the changes that it received in order, and fails for the changes that fail chooses.
type sink struct {
	guarded    bool
	keepsOrder bool
	fail       func(c *record.Change) error // error of a change; nil: no change fails
	overtaken  func(c *record.Change) bool  // reports whether a newer version exists; nil: none exists

	mu  sync.Mutex
	got []string
}

var (
	_ pipeline.Sink       = (*sink)(nil)
	_ pipeline.Guarded    = (*sink)(nil)
	_ pipeline.KeyOrderer = (*sink)(nil)
)

func (s *sink) Guarded() bool       { return s.guarded }
func (s *sink) KeepsKeyOrder() bool { return s.keepsOrder }

func (s *sink) Write(_ context.Context, ds []pipeline.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed pipeline.BatchError
	bad := map[item.Key]bool{}
	for i := range ds {
		c := ds[i].Change
		if bad[c.Key] && !s.guarded {
			failed.Add(i, pipeline.Transient(errors.New("behind one that failed")))
			continue
		}
		if s.overtaken != nil && s.overtaken(c) {
			ds[i].Outcome = pipeline.Superseded
		}
		if s.fail != nil {
			if err := s.fail(c); err != nil {
				bad[c.Key] = true
				failed.Add(i, err)
				continue
			}
		}
		s.got = append(s.got, fmt.Sprint(c.Key, nth(c)))
	}
	return failed.OrNil()
}

// take returns the changes that the sink received since the last call.
func (s *sink) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := strings.Join(s.got, " ")
	s.got = nil
	return got
}

// world is a pipeline with two sinks, with its dead letters and marks.
type world struct {
	*pipeline.Pipeline
	free, safe *sink
	box        *box
	marks      *marks
}

func newWorld(t testing.TB, change ...func(*pipeline.Options)) *world {
	t.Helper()
	w := &world{free: &sink{keepsOrder: true}, safe: &sink{guarded: true, keepsOrder: true}, box: &box{}, marks: &marks{}}
	o := pipeline.Options{
		Name: "shop", DeadLetters: w.box, Quarantine: w.marks, Backoff: pipeline.Backoff{Base: time.Millisecond, Max: time.Millisecond},
		Routes: []pipeline.Route{{Name: "free", Sink: w.free}, {Name: "safe", Sink: w.safe}},
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if w.Pipeline, err = pipeline.New(o); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs the pipeline with one page for each record.
func (w *world) run(t testing.TB, records ...[]byte) {
	t.Helper()
	if err := w.Run(t.Context(), source(records), nil); err != nil {
		t.Fatal(err)
	}
}

func (w *world) redrive(t testing.TB, change ...func(*redrive.Options)) redrive.Report {
	t.Helper()
	o := redrive.Options{Pipeline: w, Letters: w.box, Quarantine: w.marks, Name: "shop", Attempts: 2, Backoff: pipeline.Backoff{Base: 1, Max: 1}}
	for _, c := range change {
		c(&o)
	}
	report, err := redrive.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range report.Sinks {
		if !o.DryRun && s.Letters != s.Delivered+s.Superseded+s.Discarded+s.Failed+s.Waiting {
			t.Errorf("the report of %s does not add up: %+v", name, s)
		}
	}
	return report
}

// disorder describes the first change that came after a later change of its key, or returns "". A change consists of
// its key, which must not end with a digit, and its number.
func disorder(got string) string {
	last := map[string]int{}
	for _, c := range strings.Fields(got) {
		key := strings.TrimRight(c, "0123456789")
		n, _ := strconv.Atoi(strings.TrimPrefix(c, key))
		if n <= last[key] {
			return fmt.Sprintf("%s came after %s%d", c, key, last[key])
		}
		last[key] = n
	}
	return ""
}
