package handlers

import (
	"cmp"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/pipeline/record"
)

// eventRecords has the decoded records of one event. Each page has a tracker, which knows the finished records of the
// page.
type eventRecords struct {
	pages  []*pipeline.Page
	window *window // nil if the event has no tumbling window
}

// defaultPartition is the partition of records whose shard is unknown.
const defaultPartition = "lambda"

// decodeEvent decodes an event. from is the service that it comes from. The records keep the event's bytes, so the
// caller must not change them.
func (h *handler) decodeEvent(event []byte, from origin) (*eventRecords, error) {
	page, err := h.decoder.Decode(event)
	if err != nil {
		return nil, errs.Errorf("the event is broken, and none of its records is delivered: %w", err)
	}
	c := jsoncursor.New(event)
	c.Peek() // skips white space before the event
	isReadAsRecord := len(page.Errors) == 1 && page.Errors[0].Offset == int64(c.Offset())
	if isReadAsRecord { // an event without Records
		return nil, errs.Errorf("the event is not one of a stream: %w", page.Errors[0].Err)
	}
	b := &eventRecords{}
	var shard string
	b.window, shard = readWindow(&c, page)
	partition := cmp.Or(shard, defaultPartition)
	if from == fromKinesis {
		sortByCreation(page)
		b.add(partition, page)
		return b, nil
	}
	before, rest := splitBeforeError(page)
	b.add(partition, before)
	b.add(partition, rest)
	return b, nil
}

// splitBeforeError splits a page before its first record that cannot be decoded. Such a record delays its page until it
// is dead-lettered, and the records before it need not wait. If there is no split, before is the whole page, and rest
// is nil.
func splitBeforeError(page *record.Page) (before, rest *record.Page) {
	if len(page.Errors) == 0 {
		return page, nil
	}
	split := 0 // number of changes before the first error
	for split < len(page.Changes) && int(page.Changes[split].Index) < page.Errors[0].Index {
		split++
	}
	if split == 0 {
		return page, nil
	}
	before = &record.Page{Changes: page.Changes[:split:split]}
	rest = &record.Page{Changes: page.Changes[split:], Errors: page.Errors, Bytes: page.Bytes, EmptyMaps: page.EmptyMaps}
	return before, rest
}

// add appends a page of a partition, unless the page is empty.
func (b *eventRecords) add(partition string, page *record.Page) {
	if page == nil || page.Len()+page.Duplicates == 0 {
		return
	}
	b.pages = append(b.pages, &pipeline.Page{Page: *page, Partition: partition, Tracker: &pipeline.Tracker{}})
}

// size returns the number of records, including the repeated records that were dropped.
func (b *eventRecords) size() (size int) {
	for _, p := range b.pages {
		size += p.Len() + p.Duplicates
	}
	return size
}

// firstUnfinished returns the earliest record that is not finished; nil if every record is finished.
func (b *eventRecords) firstUnfinished() (first *record.PageRecord) {
	for _, p := range b.pages {
		for r := range p.Records() { // not always in the order of their indexes
			isEarliest := first == nil || r.Index < first.Index
			if isEarliest && !p.Tracker.Finished(r.Index) {
				first = new(r)
			}
		}
		if first != nil {
			return first // the pages are in order
		}
	}
	return nil
}

// noneFinished reports whether no record is finished.
func (b *eventRecords) noneFinished() bool {
	for _, p := range b.pages {
		for r := range p.Records() {
			if p.Tracker.Finished(r.Index) {
				return false
			}
		}
	}
	return true
}

// age returns the age of the oldest record, or 0 if no record has a time.
func (b *eventRecords) age(now time.Time) time.Duration {
	var oldest time.Time
	for _, p := range b.pages {
		for i := range p.Changes {
			created := p.Changes[i].Time
			if oldest.IsZero() || !created.IsZero() && created.Before(oldest) {
				oldest = created
			}
		}
	}
	if oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(oldest))
}

// sortByCreation drops repeated changes of a page and sorts the other changes by their creation time. Changes of the
// same microsecond keep the order of the event. The first copy of a repeated change stays, because Lambda sends an
// unfinished record again together with all records after it, and so with the later copies.
func sortByCreation(page *record.Page) {
	seen := make(map[string]struct{}, len(page.Changes))
	unique := page.Changes[:0]
	for i := range page.Changes {
		change := &page.Changes[i]
		if _, isRepeated := seen[change.EventID]; isRepeated && change.EventID != "" {
			page.Duplicates++
			continue
		}
		seen[change.EventID] = struct{}{}
		unique = append(unique, *change)
	}
	clear(page.Changes[len(unique):])
	page.Changes = unique
	slices.SortStableFunc(page.Changes,
		func(a, b record.Change) int { return cmp.Compare(a.Version.Epoch(), b.Version.Epoch()) })
}
