package handoff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
)

// report is the result of an audit.
type report struct {
	number   int
	findings []finding
	unsure   int // findings that cannot be repaired, such as busy ones
}

// finding is a finding with the sink that it is about.
type finding struct {
	sink int
	audit.Finding
}

// Bounds of an audit.
const (
	auditRounds = 10 // looks at a place that moves
	groupRounds = 3  // looks at a group that changes
)

// suspect is an item that an audit checks in one sink.
type suspect struct {
	sink   int
	key    item.Key
	places []audit.Entry
	seen   string // the result of the previous round; "" if there is none, or if the item changed during the round
}

// audit compares all items with all sinks, as `tablewake audit` does.
func (w *RepairWorld) audit(p *process, r *report) {
	suspects, groups := w.findSuspects()
	var looked int64
	for round := 0; len(suspects) > 0; round++ {
		if round > 0 && !w.rules.Repair.Unwaited {
			w.waitUntil(p, func() bool { return w.isPast(looked) })
		}
		suspects = w.lookAt(suspects, round, r)
		looked = w.now
	}
	for _, sink := range slices.Sorted(maps.Keys(groups)) {
		w.lookAtGroups(sink, groups[sink], r)
	}
	w.tell("audit %d ends with %d differences", r.number, len(r.findings))
	for _, f := range r.findings {
		w.tell("  %s: %s %s %s: %s, version %s, %v", w.sinks[f.sink].name, f.Verdict, f.Kind, f.Place, f.FoundText, f.Version, f.Differences)
	}
}

// isPast reports whether all changes up to a time are acknowledged, and none of them will be delivered again.
func (w *RepairWorld) isPast(at int64) bool {
	for _, s := range w.shards {
		if s.durable < len(s.writes) && s.writes[s.durable].at <= at {
			return false
		}
	}
	return !slices.ContainsFunc(w.givenUp, func(b batch) bool { return b[0].at <= at }) &&
		!slices.ContainsFunc(w.processes, func(p *process) bool { return len(p.batch) > 0 && p.batch[0].at <= at })
}

// snapshotOf returns the current state of an item, or its removal.
func (w *RepairWorld) snapshotOf(item int) *record.Change {
	m := w.table.now[item]
	if m != nil {
		return w.decodeLine(0, map[string]any{"Item": m.attributes(item)})
	}
	text, err := json.Marshal(map[string]any{"eventName": "REMOVE", "dynamodb": map[string]any{"SequenceNumber": "0", "StreamViewType": "KEYS_ONLY", "Keys": keys(item)}})
	if err != nil {
		w.failf("%v", err)
	}
	page, err := w.removals.Decode(text)
	if err != nil {
		w.failf("%v", err)
	}
	c, err := onlyChange(page)
	if err != nil {
		w.failf("%v", err)
	}
	return c
}

// numberOf returns the number of the item with a key. It returns false if the world has no such item.
func (w *RepairWorld) numberOf(key item.Key) (int, bool) {
	for i := range w.table.now {
		if key == item.Key(keyOf(i)+",o") {
			return i, true
		}
	}
	return 0, false
}

// lookUp returns the current state of the item with a key, or its removal if the table does not have it. The world must
// have such an item.
func (w *RepairWorld) lookUp(key item.Key) *record.Change {
	if i, ok := w.numberOf(key); ok {
		return w.snapshotOf(i)
	}
	w.failf("no item %s", key)
	return nil
}

// findSuspects compares the required entries of the sinks with the stored entries. It returns the suspect groups
// separately, by the index of the sink.
func (w *RepairWorld) findSuspects() (suspects []*suspect, groups map[int][]string) {
	groups = make(map[int][]string)
	for n, s := range w.audited {
		expected := w.expectedEntries(s)
		stored := w.storedEntries(s, expected)
		found := differingEntries(expected, stored)
		for _, key := range slices.Sorted(maps.Keys(found)) {
			places := found[key]
			slices.SortFunc(places, func(x, y audit.Entry) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Place, y.Place)) })
			if key != "" {
				suspects = append(suspects, &suspect{sink: n, key: key, places: places})
				continue
			}
			for _, e := range places {
				groups[n] = append(groups[n], e.Place)
			}
		}
	}
	return suspects, groups
}

// place identifies an entry of a sink.
type place struct {
	kind  audit.Kind
	place string
}

// expectedEntries returns the entries that a sink must have for the items of the table.
func (w *RepairWorld) expectedEntries(s audit.Sink) map[place]audit.Entry {
	expected := make(map[place]audit.Entry)
	for i, m := range w.table.now {
		if m == nil {
			continue
		}
		w.pause()
		if w.table.now[i] == nil { // it was removed meanwhile
			continue
		}
		err := s.ExpectedEntries(w.snapshotOf(i), func(e audit.Entry) {
			at := place{e.Kind, e.Place}
			if was, ok := expected[at]; !ok || e.Claimed && e.Item < was.Item {
				expected[at] = e
			}
		})
		if err != nil {
			w.failf("%s: %v", s.Name(), err)
		}
	}
	return expected
}

// storedEntries returns the entries that a sink has. A stored share of a group is no entry: it is added to expected.
func (w *RepairWorld) storedEntries(s audit.Sink, expected map[place]audit.Entry) map[place]audit.Entry {
	stored := make(map[place]audit.Entry)
	for e, err := range s.StoredEntries(w.ctx, state.Listing{}) {
		if err != nil {
			w.failf("%s: %v", s.Name(), err)
		}
		at := place{e.Kind, e.Place}
		if e.Share {
			e.Digest = audit.AddDigests(expected[at].Digest, e.Digest)
			expected[at] = e
			continue
		}
		stored[at] = e
	}
	return stored
}

// differingEntries returns the entries that differ, by item: expected entries that are not stored like that, and stored
// entries that are expected of another item, or of none.
func differingEntries(expected, stored map[place]audit.Entry) map[item.Key][]audit.Entry {
	found := make(map[item.Key][]audit.Entry)
	for at, e := range expected {
		have, isStored := stored[at]
		isEmptyGroup := e.Share && e.Digest == audit.Digest{} // it needs no row
		if isStored && have.Digest != e.Digest || !isStored && !isEmptyGroup {
			found[e.Item] = append(found[e.Item], e)
		}
	}
	for at, have := range stored {
		e, isExpected := expected[at]
		isOfItem := isExpected && e.Item == have.Item // the loop above has compared it
		if !isOfItem && (!isExpected || e.Digest != have.Digest) {
			found[have.Item] = append(found[have.Item], have)
		}
	}
	return found
}

// imageText returns the new image of a change as text; "" if there is none.
func imageText(c *record.Change) string { return string(c.New.AppendDynamoDBJSON(nil)) }

// lookAt compares suspects, and returns the suspects to compare again. A difference counts if the item and its places
// are the same in two rounds, with the same versions, and the item is still the same after its places are read.
func (w *RepairWorld) lookAt(suspects []*suspect, round int, r *report) (again []*suspect) {
	items, founds := make([]*record.Change, len(suspects)), make([][]audit.Finding, len(suspects))
	for i, s := range suspects {
		items[i] = w.lookUp(s.key)
	}
	w.pause()
	for i, s := range suspects {
		fs, err := w.audited[s.sink].Compare(w.ctx, &audit.ItemState{Change: *items[i]}, s.places)
		if err != nil {
			w.failf("%s: %v", w.sinks[s.sink].name, err)
		}
		founds[i] = slices.DeleteFunc(fs, func(f audit.Finding) bool { return f.Verdict == audit.Equal || f.Verdict == audit.Waiting })
	}
	for i, s := range suspects {
		if len(founds[i]) == 0 {
			continue
		}
		image := imageText(items[i])
		b, err := json.Marshal(founds[i])
		if err != nil {
			w.failf("%v", err)
		}
		seen := string(b) + image
		isSeenTwice := seen == s.seen
		if !w.rules.Repair.ReadOnce && imageText(w.lookUp(s.key)) != image {
			w.count("audit: an item changed while its places were read")
			seen, isSeenTwice = "", false
		}
		differs := slices.ContainsFunc(founds[i], func(f audit.Finding) bool { return f.Verdict.Differs() })
		isUnsure := differs && !isSeenTwice
		if isUnsure && round < auditRounds {
			s.seen = seen
			again = append(again, s)
			continue
		}
		for _, f := range founds[i] {
			if isUnsure {
				f.Verdict = audit.Busy
			}
			w.report(r, s.sink, f)
		}
	}
	return again
}

// lookAtGroups compares groups with the sums of the contributions.
func (w *RepairWorld) lookAtGroups(sink int, places []string, r *report) {
	slices.Sort(places)
	for round := 0; len(places) > 0; round++ {
		fs, err := w.audited[sink].(audit.GroupSink).CompareGroups(w.ctx, state.Listing{}, slices.Compact(places))
		if err != nil {
			w.failf("%s: %v", w.sinks[sink].name, err)
		}
		places = nil
		for _, f := range fs {
			switch {
			case f.Verdict == audit.Busy && round+1 < groupRounds:
				places = append(places, f.Place)
			case f.Verdict != audit.Equal:
				w.report(r, sink, f)
			}
		}
	}
}

// report adds a finding to a report. It encodes and decodes the finding first, as a saved report does.
func (w *RepairWorld) report(r *report, sink int, f audit.Finding) {
	if !f.Verdict.Differs() {
		w.count("audit: " + string(f.Verdict))
		w.tell("audit %d: %s: %s %s %s", r.number, w.sinks[sink].name, f.Verdict, f.Kind, f.Place)
		r.unsure++
		return
	}
	w.count(fmt.Sprintf("found: %s %s", f.Verdict, f.Kind))
	b, err := json.Marshal(f)
	var saved audit.Finding
	if err == nil {
		err = json.Unmarshal(b, &saved)
	}
	if err != nil {
		w.failf("%v", err)
	}
	r.findings = append(r.findings, finding{sink, saved})
	if w.shape == healthy {
		w.wrong[w.sinks[sink].kind] = fmt.Sprintf("a false difference: %s %s %s: %s %v", f.Verdict, f.Kind, f.Place, f.FoundText, f.Differences)
	}
}

// repair repairs the findings of a report as `tablewake audit --repair` does, groups first. It returns the number of
// findings that are left.
func (w *RepairWorld) repair(r *report) (left int) {
	sinks := w.openAudit() // opened again as in another process, because the repairs of one process take turns at a row
	groups := make(map[int][]audit.Finding)
	var rest []finding
	for _, f := range r.findings {
		if f.Kind == audit.Group {
			groups[f.sink] = append(groups[f.sink], f.Finding)
		} else {
			rest = append(rest, f)
		}
	}
	told := func(f *finding, o audit.Outcome) {
		w.tell("  repair of report %d: %s: %s %s: %s %s %s", r.number, w.sinks[f.sink].name, f.Kind, f.Place, o.Result, o.WriteText, o.Reason)
		w.count("repair: " + string(o.Result))
		if o.Result == audit.Repaired {
			w.count(fmt.Sprintf("repaired: %s", f.Kind))
		}
		if o.Result == audit.ChangedMeanwhile || o.Result == audit.Refused {
			left++
		}
	}
	for _, sink := range slices.Sorted(maps.Keys(groups)) {
		os, err := sinks[sink].(audit.GroupSink).RepairGroups(w.ctx, state.Listing{}, groups[sink])
		if err != nil {
			w.failf("%s: %v", w.sinks[sink].name, err)
		}
		for i := range os {
			told(&finding{sink, groups[sink][i]}, os[i])
		}
	}
	items := make(map[item.Key]*record.Change)
	for _, f := range rest {
		if items[f.Item] == nil {
			items[f.Item] = w.lookUp(f.Item)
		}
	}
	for i := range rest {
		f := &rest[i]
		w.pause()
		o, err := sinks[f.sink].Repair(w.ctx, &audit.ItemState{Change: *items[f.Item]}, f.Finding)
		if err != nil {
			w.failf("%s: %s: %v", w.sinks[f.sink].name, f.Place, err)
		}
		if o.Result == audit.Repaired && !w.rules.Repair.Unread {
			o = w.readAgain(sinks[f.sink], items[f.Item], f, o)
		}
		told(f, o)
	}
	return left + r.unsure
}

// readAgain reads the item of a repair again. If the item changed and its place now differs, it returns the outcome
// audit.ChangedMeanwhile. Otherwise it returns o.
func (w *RepairWorld) readAgain(sink audit.Sink, was *record.Change, f *finding, o audit.Outcome) audit.Outcome {
	w.unsure++ // includes a repair that is killed here
	w.pause()
	now := w.lookUp(f.Item)
	if imageText(now) != imageText(was) {
		w.pause()
		fs, err := sink.Compare(w.ctx, &audit.ItemState{Change: *now}, []audit.Entry{{Kind: f.Kind, Place: f.Place}})
		if err != nil {
			w.failf("%s: %v", w.sinks[f.sink].name, err)
		}
		for _, again := range fs {
			if again.Verdict.Differs() && again.Kind == f.Kind && again.Place == f.Place {
				w.count("an item changed during its repair")
				return audit.Outcome{Result: audit.ChangedMeanwhile, Reason: "the item changed"}
			}
		}
	}
	w.unsure--
	return o
}

// newRemovals returns a decoder for the removals that stand for items that the table does not have.
func newRemovals() *record.Decoder {
	return record.NewDecoder(record.DecoderOptions{EpochZero: true, Table: sinktest.Table})
}
