package run

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// world is a table of items and a sink with a row for each item, both in memory. A row contains the key and the value
// of its item. If claims is true, several items claim a row, whose place is the first and the last letter of the value.
type world struct {
	changes *changeMaker
	claims  bool

	mu      sync.Mutex
	items   map[item.Key]string
	rows    map[string]storedRow // by place
	version int
	opened  int               // how often a part of the table was opened
	looks   int               // number of calls of Look
	onLook  func(w *world)    // called before each look, with mu held
	damaged item.Key          // item whose entry cannot be read; "" if all entries can be read
	held    map[item.Key]bool // items whose differences a dead letter explains
	failing int               // the read with this number fails, counted from now; 0: no read fails
	pause   time.Duration     // duration of each read
}

type storedRow struct {
	item    item.Key
	value   string
	version int
}

func newTestWorld(n int) *world {
	w := &world{
		changes: newChangeMaker(record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true, Table: "t"}, Keys: []string{"PK"}}),
		items:   make(map[item.Key]string), rows: make(map[string]storedRow),
	}
	for i := range n {
		w.put(item.Key(fmt.Sprintf("k%05d", i)), fmt.Sprintf("v%d", i%7))
	}
	return w
}

// put changes an item and its row.
func (w *world) put(k item.Key, value string) {
	w.version++
	w.items[k] = value
	w.rows[string(k)] = storedRow{k, value, w.version}
}

var errBroken = pipeline.Transient(errors.New("the connection broke"))

func (w *world) read() error {
	if w.failing > 0 {
		if w.failing--; w.failing == 0 {
			return errBroken
		}
	}
	return nil
}

func (w *world) change(k item.Key) (record.Change, error) {
	value, there := w.items[k]
	if !there {
		image, err := item.Parse(fmt.Appendf(nil, `{"PK":{"S":%q}}`, k))
		if err != nil {
			return record.Change{}, err
		}
		return w.changes.removeOf(image)
	}
	image, err := item.Parse(fmt.Appendf(nil, `{"PK":{"S":%q},"Value":{"S":%q}}`, k, value))
	if err != nil {
		return record.Change{}, err
	}
	return w.changes.snapshotOf(image)
}

// Read implements [Lookup].
func (w *world) Read(_ context.Context, keys []item.Key) ([]Item, error) {
	time.Sleep(w.pause)
	w.mu.Lock()
	defer w.mu.Unlock()
	changes := make([]Item, len(keys))
	for i, k := range keys {
		var err error
		if changes[i].Change, err = w.change(k); err != nil {
			return nil, err
		}
	}
	return changes, w.read()
}

// Info implements [snapshot.Snapshot].
func (w *world) Info() snapshot.Info { return snapshot.Info{Source: "a test", Items: -1, Bytes: -1} }

// testParts is the number of parts of the table and of segments of the sink.
const testParts = 8

func partOf(k string) int { return int(hashOf(k) >> 20 % testParts) }

// Parts implements [snapshot.Snapshot].
func (w *world) Parts() (all []snapshot.Part) {
	for i := range testParts {
		all = append(all, snapshot.Part{ID: strconv.Itoa(i), Items: -1, Bytes: -1})
	}
	return all
}

// Open implements [snapshot.Snapshot].
func (w *world) Open(_ context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened++
	var keys []item.Key
	for k := range w.items {
		if strconv.Itoa(partOf(string(k))) == id && string(k) > string(from) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return &testReader{w, keys}, nil
}

type testReader struct {
	w    *world
	keys []item.Key
}

// Read implements [snapshot.Reader]. A page has ten items.
func (r *testReader) Read(context.Context) (*pipeline.Page, error) {
	time.Sleep(r.w.pause)
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if len(r.keys) == 0 {
		return nil, io.EOF
	}
	page := &pipeline.Page{}
	for _, k := range r.keys[:min(10, len(r.keys))] {
		c, err := r.w.change(k)
		if err != nil {
			return nil, err
		}
		if !c.Removed() {
			page.Changes = append(page.Changes, c)
		}
		page.Position = pipeline.Position(k)
	}
	r.keys = r.keys[min(10, len(r.keys)):]
	return page, r.w.read()
}

// Close implements [snapshot.Reader].
func (r *testReader) Close() error { return nil }

// testSink is the sink of a world.
type testSink struct{ *world }

func (s testSink) Name() string { return "rows" }

func digestOf(k item.Key, value string) audit.Digest {
	sum := sha256.Sum256([]byte(string(k) + "=" + value))
	return audit.Digest(sum[:16])
}

func (s testSink) place(c *record.Change) (place, value string) {
	v, _ := c.New.Get("Value")
	value, _ = v.Text()
	if s.claims {
		return value[:1] + value[len(value)-1:], value
	}
	return string(c.Key), value
}

// Expected implements [audit.Sink]. An item whose value begins with ! cannot be planned. An item whose value begins
// with - has no row.
func (s testSink) ExpectedEntries(c *record.Change, yield func(audit.Entry)) error {
	if c.Removed() {
		return nil
	}
	place, value := s.place(c)
	switch value[0] {
	case '!':
		return errors.New("it cannot be planned")
	case '-':
		return nil
	}
	yield(audit.Entry{Kind: audit.Row, Place: place, Item: c.Key, Digest: digestOf(c.Key, value), Claimed: s.claims})
	return nil
}

// StoredEntries implements [audit.Sink].
func (s testSink) StoredEntries(_ context.Context, l state.Listing) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		s.mu.Lock()
		rows := maps.Clone(s.rows)
		err := s.read()
		s.mu.Unlock()
		for place, row := range rows {
			if l.Segments > 1 && int(hashOf(place)>>20%uint64(l.Segments)) != l.Segment {
				continue
			}
			if !yield(audit.Entry{Kind: audit.Row, Place: place, Item: row.item, Digest: digestOf(row.item, row.value)}, nil) {
				return
			}
		}
		if err != nil {
			yield(audit.Entry{}, err)
		}
	}
}

// Compare implements [audit.Sink].
func (s testSink) Compare(_ context.Context, known *audit.ItemState, places []audit.Entry) (found []audit.Finding, err error) {
	c := &known.Change
	time.Sleep(s.pause)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks++; s.onLook != nil {
		s.onLook(s.world)
	}
	if c.Key == s.damaged {
		return nil, pipeline.Fatal(fmt.Errorf("a guard: %w", &state.DamagedError{Err: errors.New("no version")}))
	}
	want := ""
	if err := s.ExpectedEntries(c, func(e audit.Entry) {
		want = e.Place
		row, there := s.rows[e.Place]
		f := audit.Finding{Kind: audit.Row, Place: e.Place, Item: c.Key, Expected: true, Verdict: audit.Equal, FoundText: strconv.Itoa(row.version)}
		switch {
		case !there:
			f.Verdict = audit.Missing
		case row.item != c.Key && s.claims && row.item < c.Key:
			f.Verdict = audit.Waiting
		case digestOf(row.item, row.value) != e.Digest:
			f.Verdict = audit.Wrong
		}
		if f.Verdict.Differs() && s.held[c.Key] {
			f.Underlying, f.Verdict = f.Verdict, audit.Held
		}
		found = append(found, f)
	}); err != nil {
		return []audit.Finding{{Item: c.Key, Verdict: audit.Skipped, Reason: err.Error()}}, nil
	}
	for _, p := range places {
		if row, there := s.rows[p.Place]; there && p.Place != want {
			found = append(found, audit.Finding{Kind: audit.Row, Place: p.Place, Item: c.Key, Verdict: audit.Extra, FoundText: strconv.Itoa(row.version)})
		}
	}
	return found, s.read()
}

// Note implements [audit.Sink].
func (s testSink) Note(*record.Change) string { return "" }

// Repair implements [audit.Sink].
func (s testSink) Repair(context.Context, *audit.ItemState, audit.Finding) (audit.Outcome, error) {
	return audit.Outcome{}, errors.New("not in this test")
}

// auditOptions returns options for an audit of the world with a report at path.
func (w *world) auditOptions(path string) Options {
	return Options{
		Header: Header{Pipeline: "p", Sinks: []string{"rows"}, Source: "a test"}, RequestDigest: "r", Report: path, Sinks: []audit.Sink{testSink{w}},
		Items: w, Lookup: w, Segments: testParts, Parts: 3, MaxRounds: 4,
		Checkpoint:       0, // save a checkpoint at each opportunity
		WaitForConsumers: func(context.Context, time.Time) error { return nil },
	}
}

// findings reads the report at path and returns the verdicts by place. A finding without a place is under its item.
func findings(t *testing.T, path string) map[string]audit.Verdict {
	t.Helper()
	found := make(map[string]audit.Verdict)
	header, sum, err := ReadReport(path, func(sink string, f *audit.Finding) error {
		key := f.Place
		if key == "" {
			key = string(f.Item)
		}
		if found[key] != "" {
			return fmt.Errorf("%q is in the report twice", key)
		}
		found[key] = f.Verdict
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if header.Pipeline != "p" || sum == nil {
		t.Errorf("report has header %+v, summary %+v", header, sum)
	}
	return found
}

// spoil makes n items differ from their rows and returns the verdicts that an audit should find.
func (w *world) spoil(r *rand.Rand, n int) map[string]audit.Verdict {
	want := make(map[string]audit.Verdict)
	keys := slices.Sorted(maps.Keys(w.items))
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for i, k := range keys[:n] {
		switch i % 5 {
		case 0:
			delete(w.rows, string(k))
			want[string(k)] = audit.Missing
		case 1:
			w.rows[string(k)] = storedRow{k, "other", 1}
			want[string(k)] = audit.Wrong
		case 2:
			delete(w.items, k)
			want[string(k)] = audit.Extra
		case 3:
			w.items[k] = "-"
			want[string(k)] = audit.Extra
		case 4:
			w.items[k] = "!"
			delete(w.rows, string(k))
			want[string(k)] = audit.Skipped
		}
	}
	return want
}

func TestAudit_FindsEveryDifferenceAndNoOther(t *testing.T) {
	w := newTestWorld(3000)
	want := w.spoil(rand.New(rand.NewPCG(1, 1)), 500)
	path := filepath.Join(t.TempDir(), "report.jsonl")
	sum, err := Audit(t.Context(), w.auditOptions(path))
	if err != nil {
		t.Fatal(err)
	}
	if found := findings(t, path); !maps.Equal(found, want) {
		t.Errorf("%d found, want %d", len(found), len(want))
	}
	if sum.Differing != 400 || sum.Open != 100 || sum.Items != 2900 {
		t.Errorf("summary %+v", sum)
	}
	if _, err := os.Stat(path + ".work"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the work folder stays: %v", err)
	}
}

func TestAudit_EqualTable(t *testing.T) {
	w := newTestWorld(500)
	sum, err := Audit(t.Context(), w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	if sum.Differing+sum.Open != 0 || w.looks != 0 || sum.Sinks[0].Compared != 500 {
		t.Errorf("%+v, %d looks", sum, w.looks)
	}
}

// An audit that is interrupted many times has the same result as an audit without interruptions.
func TestAudit_GoesOnAfterEachInterruption(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newTestWorld(700)
		want := w.spoil(r, 200)
		path := filepath.Join(t.TempDir(), "report.jsonl")
		broke := 0
		for {
			w.failing = 1 + r.IntN(120)
			if broke == 30 {
				w.failing = 0
			}
			sum, err := Audit(t.Context(), w.auditOptions(path))
			if err == nil {
				one := sum.Sinks[0]
				if sum.Items != 660 || one.Expected != 580 || one.Stored != 620 || one.Compared != 660 || sum.Differing != 160 || sum.Open != 40 {
					t.Errorf("seed %d, after %d interruptions: %+v", seed, broke, sum)
				}
				break
			}
			if !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			broke++
		}
		if found := findings(t, path); !maps.Equal(found, want) {
			t.Errorf("seed %d, after %d interruptions: %d found, want %d", seed, broke, len(found), len(want))
		}
		if broke == 0 {
			t.Errorf("seed %d: nothing broke", seed)
		}
	}
}

// If a late change arrives between two looks, the audit reports no difference. An item that changes before each look is
// busy.
func TestAudit_WhatMovesIsNoDifference(t *testing.T) {
	w := newTestWorld(300)
	for _, k := range []item.Key{"k00001", "k00002"} {
		delete(w.rows, string(k))
	}
	w.onLook = func(w *world) {
		if w.looks == 3 { // the change of k00001 arrives between the rounds
			w.put("k00001", "late")
		}
		w.version++
		w.items["k00002"] = fmt.Sprint("moves", w.version)
	}
	path := filepath.Join(t.TempDir(), "report.jsonl")
	sum, err := Audit(t.Context(), w.auditOptions(path))
	if err != nil {
		t.Fatal(err)
	}
	if found := findings(t, path); !maps.Equal(found, map[string]audit.Verdict{"k00002": audit.Busy}) {
		t.Errorf("found %v", found)
	}
	if sum.Differing != 0 || sum.Open != 1 {
		t.Errorf("%+v", sum)
	}
}

// The audit looks twice at a difference that a dead letter explains, like at any other difference. Only if the
// difference has not changed, the audit reports it as held.
func TestAudit_HeldIsLookedAtAgain(t *testing.T) {
	w := newTestWorld(30)
	w.held = map[item.Key]bool{"k00001": true, "k00002": true, "k00003": true}
	for k := range w.held {
		delete(w.rows, string(k))
	}
	o := w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	o.WaitForConsumers = func(context.Context, time.Time) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, there := w.rows["k00001"]; !there {
			w.put("k00001", "late") // a late change arrives
		}
		w.version++
		w.items["k00003"] = fmt.Sprint("moves", w.version)
		return nil
	}
	sum, err := Audit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if found := findings(t, o.Report); !maps.Equal(found, map[string]audit.Verdict{"k00002": audit.Held, "k00003": audit.Busy}) || sum.Differing != 1 || sum.Open != 1 {
		t.Errorf("found %v, %+v", found, sum)
	}
}

// A resumed audit reports the assumption about the lag, even if only its last part made the assumption.
func TestAudit_SaysWhatItTrusts(t *testing.T) {
	w := newTestWorld(30)
	delete(w.rows, "k00001")
	o := w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	o.WaitForConsumers = func(context.Context, time.Time) error { return errBroken }
	if _, err := Audit(t.Context(), o); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	o = w.auditOptions(o.Report)
	o.Header.Assumed = "no lag"
	sum, err := Audit(t.Context(), o)
	if err != nil || sum.Assumed != "no lag" || sum.Differing != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// An audit of named items counts each item once, also after several rounds and interruptions.
func TestAudit_CountsNamedItemsOnce(t *testing.T) {
	w := newTestWorld(30)
	delete(w.rows, "k00001")
	o := w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	o.Items, o.ItemsSelected = nil, true
	o.Suspects = func(add func(sink int, s Suspect)) error {
		for _, k := range []item.Key{"k00001", "k00002"} {
			add(0, Suspect{Item: k})
		}
		return nil
	}
	breaks := o
	breaks.WaitForConsumers = func(context.Context, time.Time) error { return errBroken }
	if _, err := Audit(t.Context(), breaks); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	sum, err := Audit(t.Context(), o)
	if err != nil || sum.Items != 2 || sum.NothingSelected || sum.Differing != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// If an entry of an item cannot be read, the audit skips this item and compares the others.
func TestAudit_SkipsDamagedEntries(t *testing.T) {
	w := newTestWorld(30)
	w.damaged = "k00002"
	for _, k := range []string{"k00001", "k00002"} {
		delete(w.rows, k)
	}
	path := filepath.Join(t.TempDir(), "report.jsonl")
	sum, err := Audit(t.Context(), w.auditOptions(path))
	if err != nil {
		t.Fatal(err)
	}
	if found := findings(t, path); !maps.Equal(found, map[string]audit.Verdict{"k00001": audit.Missing, "k00002": audit.Skipped}) || sum.Open != 1 {
		t.Errorf("found %v, %+v", found, sum)
	}
}

// The audit waits for the consumers before it looks at a difference again.
func TestAudit_WaitsBetweenTwoLooks(t *testing.T) {
	w := newTestWorld(50)
	delete(w.rows, "k00007")
	o := w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	waits := 0
	o.WaitForConsumers = func(_ context.Context, since time.Time) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if waits++; since.IsZero() || time.Since(since) < 0 {
			t.Errorf("waits for %v", since)
		}
		w.put("k00007", "v0") // the consumer writes the late change
		return nil
	}
	sum, err := Audit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Differing+sum.Open != 0 || waits != 1 {
		t.Errorf("%+v after %d waits", sum, waits)
	}
}

// If several items claim a row, the audit expects the row of the item with the smallest key.
func TestAudit_SmallestClaimantHasTheRow(t *testing.T) {
	w := newTestWorld(0)
	w.claims = true
	for i := range 70 {
		w.items[item.Key(fmt.Sprintf("k%05d", i))] = fmt.Sprintf("v%d", i%7)
	}
	for i := range 7 {
		k := item.Key(fmt.Sprintf("k%05d", i))
		w.rows[fmt.Sprintf("v%d", i)] = storedRow{k, w.items[k], i}
	}
	w.rows["v3"] = storedRow{"k00010", "v3", 3} // k00010 does not have the smallest key
	path := filepath.Join(t.TempDir(), "report.jsonl")
	if _, err := Audit(t.Context(), w.auditOptions(path)); err != nil {
		t.Fatal(err)
	}
	if found := findings(t, path); !maps.Equal(found, map[string]audit.Verdict{"v3": audit.Wrong}) {
		t.Errorf("found %v", found)
	}
}

func TestAudit_Sample(t *testing.T) {
	w := newTestWorld(4000)
	want := w.spoil(rand.New(rand.NewPCG(3, 3)), 400)
	path := filepath.Join(t.TempDir(), "report.jsonl")
	o := w.auditOptions(path)
	o.Sample = &Sample{Segments: []int{2, 5}, Of: testParts}
	o.Header.Sample = o.Sample
	sum, err := Audit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for place := range want {
		if p := partOf(place); p != 2 && p != 5 {
			delete(want, place)
		}
	}
	if found := findings(t, path); !maps.Equal(found, want) {
		t.Errorf("%d found, want %d", len(found), len(want))
	}
	bound := *sum.Sinks[0].UpperBound
	if share := float64(sum.Differing) / float64(sum.Sinks[0].Compared); sum.Coverage != 0.25 || bound <= share || bound > share+0.05 {
		t.Errorf("coverage %v, bound %v of %v", sum.Coverage, bound, share)
	}
}

// The upper bounds are equal to those in published tables of the exact binomial test.
func TestUpperBound(t *testing.T) {
	for _, c := range []struct {
		differing, examined int64
		want                float64
	}{{0, 100, 0.02951}, {0, 10, 0.25887}, {1, 10, 0.39416}, {5, 100, 0.10225}, {10, 10, 1}, {0, 0, 1}} {
		if got := upperBound(c.differing, c.examined); got < c.want-0.0002 || got > c.want+0.0002 {
			t.Errorf("%d of %d: %v, want %v", c.differing, c.examined, got, c.want)
		}
	}
}

func TestAudit_OnlyTheSame(t *testing.T) {
	w := newTestWorld(200)
	path := filepath.Join(t.TempDir(), "report.jsonl")
	delete(w.rows, "k00003")
	o := w.auditOptions(path)
	o.WaitForConsumers = func(context.Context, time.Time) error { return errBroken } // interrupts between two looks
	if _, err := Audit(t.Context(), o); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	o = w.auditOptions(path)
	o.RequestDigest = "another"
	if _, err := Audit(t.Context(), o); err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("error %v", err)
	}
}

func TestReadReport_Refuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {"", "is empty"},
		"other":   {`{"sink":"a"}` + "\n", "is not a report"},
		"format":  {`{"audit":{"format":99}}` + "\n", "audit again"},
		"no json": {"what\n", "line 1"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadReport(path, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A killed audit may leave a part of a line at the end of its report. The findings before it are read, and a new audit can
// replace the report.
func TestReadReport_CutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	text := fmt.Sprintf("{\"audit\":{\"format\":%d}}\n{\"sink\":\"a\",\"finding\":{\"verdict\":\"missing\"}}\n{\"sink\":\"a\",\"find", reportFormat)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	header, sum, err := ReadReport(path, func(string, *audit.Finding) error { n++; return nil })
	if err != nil || header == nil || sum != nil || n != 1 {
		t.Errorf("%d findings, header %v, summary %v, %v", n, header, sum, err)
	}
	r, err := openReport(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// If a spool file is too large, the join splits the file and has the same result.
func TestSpool_Splits(t *testing.T) {
	s, err := openSpool(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &auditRun{work: &work{workState: workState{Tally: newTally(1), Read: map[string]int{"0/0": 1}}}}
	suspects, err := openSpool(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := 0; s.lengths[7] <= splitAbove; i++ {
		e := spooledEntry{reading: 1, Entry: audit.Entry{Kind: audit.Row, Place: fmt.Sprint(i, strings.Repeat("x", 2000)), Item: item.Key(fmt.Sprint(i))}}
		if e.hash()%spoolFiles != 7 {
			continue
		}
		n++
		e.stored = n%10 != 0
		if n%10 > 1 {
			if err := s.add(e.hash(), e.appendTo(nil)); err != nil {
				t.Fatal(err)
			}
			e.stored = false
		}
		if err := s.add(e.hash(), e.appendTo(nil)); err != nil {
			t.Fatal(err)
		}
		if n%500 == 0 {
			if _, err := s.flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	if err := newJoiner(a, suspects).join(s, 7, 0); err != nil {
		t.Fatal(err)
	}
	if got := a.work.Tally; got.Sinks[0].Compared != int64(n) || got.Suspects < int64(n)/5-2 || got.Suspects > int64(n)/5+2 {
		t.Errorf("%d places are compared, want %d; %d suspects", got.Sinks[0].Compared, n, got.Suspects)
	}
}
