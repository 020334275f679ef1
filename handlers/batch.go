package handlers

import (
	"cmp"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
)

// batch is the records of one event, decoded. Each page has a tracker.
type batch struct {
	pages  []*pipeline.Page
	window *window // nil where the event is of none
}

// nameless is the partition of records of which nobody says what shard they are of.
const nameless = "lambda"

// open decodes an event, which it takes over.
func (h *handler) open(event []byte, from origin) (*batch, error) {
	page, err := h.decoder.Decode(event)
	if err != nil {
		return nil, errs.Errorf("the event is broken, and nothing of it is delivered: %w", err)
	}
	c := jsoncursor.New(event)
	c.Peek()
	if len(page.Errors) == 1 && page.Errors[0].Offset == int64(c.Offset()) { // the event itself passed for a record
		return nil, errs.Errorf("the event is none of a stream: %w", page.Errors[0].Err)
	}
	b := &batch{}
	var shard string
	b.window, shard = windowOf(&c, page)
	page.Partition = cmp.Or(shard, nameless)
	if from == fromKinesis {
		putInOrder(page)
		b.add(page)
		return b, nil
	}
	sound, rest := apart(page)
	b.add(sound)
	b.add(rest)
	return b, nil
}

// apart parts a page before its first record that cannot be decoded. What such a record is in
// one page with waits until it is in dead letters; what stands before it need not.
func apart(page *pipeline.Page) (sound, rest *pipeline.Page) {
	if len(page.Errors) == 0 {
		return page, nil
	}
	n := 0
	for n < len(page.Changes) && int(page.Changes[n].Index) < page.Errors[0].Index {
		n++
	}
	if n == 0 {
		return page, nil
	}
	return &pipeline.Page{Partition: page.Partition, Changes: page.Changes[:n:n]},
		&pipeline.Page{Partition: page.Partition, Changes: page.Changes[n:], Errors: page.Errors, Bytes: page.Bytes, EmptyMaps: page.EmptyMaps}
}

// add adds a page that holds something.
func (b *batch) add(page *pipeline.Page) {
	if page == nil || len(page.Changes)+len(page.Errors)+page.Duplicates == 0 {
		return
	}
	page.Tracker = &pipeline.Tracker{}
	b.pages = append(b.pages, page)
}

// size counts the records, repeated ones too.
func (b *batch) size() int {
	n := 0
	for _, p := range b.pages {
		n += len(p.Changes) + len(p.Errors) + p.Duplicates
	}
	return n
}

// unfinished is the earliest record that is not finished, by its place in the event; all tells
// that there is none. Its sequence number is "" where that does not decode.
func (b *batch) unfinished() (index int, sequence string, all bool) {
	all = true
	for _, p := range b.pages {
		see := func(i int, s string) {
			if !p.Tracker.Finished(i) && (all || i < index) {
				index, sequence, all = i, s, false
			}
		}
		for i := range p.Changes {
			see(int(p.Changes[i].Index), p.Changes[i].Sequence)
		}
		for _, e := range p.Errors {
			see(e.Index, e.Sequence)
		}
		if !all {
			break // the pages are in order
		}
	}
	return index, sequence, all
}

// untouched tells that no record is finished.
func (b *batch) untouched() bool {
	for _, p := range b.pages {
		for i := range p.Changes {
			if p.Tracker.Finished(int(p.Changes[i].Index)) {
				return false
			}
		}
		for _, e := range p.Errors {
			if p.Tracker.Finished(e.Index) {
				return false
			}
		}
	}
	return true
}

// age is that of the oldest record; 0 where none shows its time.
func (b *batch) age(now time.Time) time.Duration {
	var oldest time.Time
	for _, p := range b.pages {
		for i := range p.Changes {
			if t := p.Changes[i].Time; !t.IsZero() && (oldest.IsZero() || t.Before(oldest)) {
				oldest = t
			}
		}
	}
	if oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(oldest))
}
