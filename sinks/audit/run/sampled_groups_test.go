package run

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// testGroups is a sink with a group for each value. A group counts the rows with its value.
type testGroups struct {
	testSink
	groups map[string]int // stored counts by value
	sums   int            // number of calls of CompareGroups, which adds up all rows
	why    string         // reason why groups cannot be compared; "" if they can
}

func newTestGroups(w *world) *testGroups {
	s := &testGroups{testSink: testSink{w}, groups: make(map[string]int)}
	for _, row := range w.rows {
		s.groups[row.value]++
	}
	return s
}

func countDigest(n int) audit.Digest {
	return audit.Digest{15: byte(n), 14: byte(n >> 8), 13: byte(n >> 16)}
}

// StoredEntries implements [audit.Sink]. A group is in the segment of its name.
func (s *testGroups) StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for e, err := range s.testSink.StoredEntries(ctx, l) {
			if !yield(e, err) {
				return
			}
			share := audit.Entry{Kind: audit.Group, Place: s.rows[e.Place].value, Share: true, Digest: countDigest(1)}
			if err != nil || s.why == "" && !yield(share, nil) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.groups)) {
			if l.Segments > 1 && int(hashOf(name)>>20%uint64(l.Segments)) != l.Segment || s.why != "" {
				continue
			}
			if !yield(audit.Entry{Kind: audit.Group, Place: name, Digest: countDigest(s.groups[name])}, nil) {
				return
			}
		}
	}
}

// FindGroups implements [audit.GroupSink].
func (s *testGroups) FindGroups(context.Context, *record.Change) ([]audit.Finding, error) {
	return nil, nil
}

// CompareGroups implements [audit.GroupSink].
func (s *testGroups) CompareGroups(_ context.Context, _ state.Listing, places []string) (found []audit.Finding, err error) {
	s.sums++
	counts := make(map[string]int)
	for _, row := range s.rows {
		counts[row.value]++
	}
	for _, p := range places {
		f := audit.Finding{Kind: audit.Group, Place: p, Verdict: audit.Equal, FoundText: strconv.Itoa(s.groups[p])}
		stored, there := s.groups[p]
		switch {
		case !there && counts[p] > 0:
			f.Verdict = audit.Missing
		case there && counts[p] == 0:
			f.Verdict = audit.Extra
		case stored != counts[p]:
			f.Verdict = audit.Wrong
		}
		found = append(found, f)
	}
	return found, nil
}

// GroupsSkippedReason implements [audit.GroupSink].
func (s *testGroups) GroupsSkippedReason() string { return s.why }

// RepairGroups implements [audit.GroupSink].
func (s *testGroups) RepairGroups(context.Context, state.Listing, []audit.Finding) ([]audit.Outcome, error) {
	return nil, nil
}

// sampleOf audits the given segments of a sink with groups and returns the summary and the findings.
func sampleOf(t *testing.T, s *testGroups, segments ...int) (*Summary, map[string]audit.Verdict) {
	t.Helper()
	o := s.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	o.Sinks = []audit.Sink{s}
	o.Sample = &Sample{Segments: segments, Of: testParts}
	o.Header.Sample = o.Sample
	sum, err := Audit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return sum, findings(t, o.Report)
}

// An audit of a sample compares the groups in which the contributions of the sample count. It compares these groups
// with the sums of all contributions.
func TestAudit_SampleOfGroups(t *testing.T) {
	s := newTestGroups(newTestWorld(700))
	sum, found := sampleOf(t, s, 3)
	if one := sum.Sinks[0]; !sum.Complete() || sum.Differing > 0 || len(found) > 0 || s.sums != 1 || one.Compared != sum.Items+7 || one.NotCompared != "" {
		t.Errorf("of equal groups: %+v, %v, %d sums", sum, found, s.sums)
	}
	for name := range s.groups {
		s.groups[name] = 77777
	}
	want := map[string]audit.Verdict{}
	for i := range 7 {
		want[fmt.Sprint("v", i)] = audit.Wrong
	}
	if sum, found = sampleOf(t, s, 3); !maps.Equal(found, want) || sum.Differing != 7 || !sum.Complete() || *sum.Sinks[0].UpperBound > 0.05 {
		t.Errorf("of wrong groups: %+v, %v", sum, found)
	}
}

// A sample finds a group without items if the group is in a segment of the sample.
func TestAudit_SampleOfExtraGroups(t *testing.T) {
	s := newTestGroups(newTestWorld(70))
	s.groups["nobody"] = 1
	segment := partOf("nobody")
	if sum, found := sampleOf(t, s, segment); found["nobody"] != audit.Extra || sum.Differing != 1 {
		t.Errorf("%+v, %v", sum, found)
	}
	if sum, found := sampleOf(t, s, (segment+1)%testParts); len(found) > 0 || !sum.Complete() {
		t.Errorf("of another segment: %+v, %v", sum, found)
	}
}

// If a sample has very many groups, the audit compares only maxSampledGroups of them.
func TestAudit_SampleOfManyGroups(t *testing.T) {
	w := newTestWorld(0)
	for i := range maxSampledGroups + 100 {
		w.put(item.Key(fmt.Sprintf("k%05d", i)), fmt.Sprintf("v%05d", i))
	}
	sum, _ := sampleOf(t, newTestGroups(w), 0, 1, 2, 3, 4, 5, 6, 7)
	if one := sum.Sinks[0]; one.Compared != sum.Items+maxSampledGroups || !sum.Complete() {
		t.Errorf("%+v", sum)
	}
}

// If the groups of a sink cannot be compared, the audit of a sample is incomplete.
func TestAudit_SampleWithoutGroups(t *testing.T) {
	s := newTestGroups(newTestWorld(70))
	s.why = "nothing tells"
	if sum, _ := sampleOf(t, s, 0, 1); sum.Complete() || sum.Open != 1 || sum.Sinks[0].NotCompared != s.why {
		t.Errorf("%+v", sum)
	}
}
