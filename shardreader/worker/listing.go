package worker

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// listing is all shards of a stream, as DescribeStream listed them.
type listing struct {
	status   shardreader.StreamStatus
	shards   []shardreader.Shard
	byID     map[string]int
	children map[string][]shardreader.Shard
}

func newListing(status shardreader.StreamStatus, shards []shardreader.Shard) *listing {
	l := &listing{status: status, shards: shards, byID: make(map[string]int, len(shards)), children: make(map[string][]shardreader.Shard)}
	for i, s := range shards {
		l.byID[s.ID] = i
		if s.Parent != "" {
			l.children[s.Parent] = append(l.children[s.Parent], s)
		}
	}
	return l
}

// parent is the parent that a shard is listed with; "" where there is none, no such shard, or no listing.
func (l *listing) parent(shard string) string {
	if l == nil {
		return ""
	}
	if i, ok := l.byID[shard]; ok {
		return l.shards[i].Parent
	}
	return ""
}

// first is the sequence number that a shard is listed to start with; "" where it is not listed.
func (l *listing) first(shard string) string {
	if i, ok := l.byID[shard]; ok {
		return l.shards[i].First
	}
	return ""
}

// markAncestors marks the shards above a shard.
func (l *listing) markAncestors(shard string, above map[string]bool) {
	for shard = l.parent(shard); shard != "" && !above[shard]; shard = l.parent(shard) {
		above[shard] = true
	}
}

// abovePrior tells whether the sequence numbers of a shard are above those of its
// parent, as far as the listing says: what versions rest on.
func (l *listing) abovePrior(s shardreader.Shard) bool {
	i, ok := l.byID[s.Parent]
	return !ok || s.First == "" || l.shards[i].Last == "" || pipeline.CompareSequence(s.First, l.shards[i].Last) > 0
}

func (l *listing) has(shard string) bool {
	_, ok := l.byID[shard]
	return ok
}

// streamLister lists one stream, for all who ask meanwhile.
type streamLister struct {
	running bool
	waiting []listRequest // for the listing under way
	later   []listRequest // for the next one: it must begin after they asked

	began  time.Duration            // of the last listing that was whole
	lacked map[string]time.Duration // shards that are listed, with when the last listing without them began
}

// long is longer than any stream keeps a record.
const long = 100 * 365 * 24 * time.Hour

// listed notes which shards a listing has that the one before it lacked.
func (l *streamLister) listed(began time.Duration, shards []shardreader.Shard) {
	before := l.began
	if l.lacked == nil {
		before = -long // these may have been there for ever
	}
	lacked := make(map[string]time.Duration, len(shards))
	for _, s := range shards {
		at, known := l.lacked[s.ID]
		if !known {
			at = before
		}
		lacked[s.ID] = at
	}
	l.began, l.lacked = began, lacked
}

type listRequest struct {
	wanted func() bool
	then   func(*listing, error)
}

// listTries is how often a page of a listing is asked for before the listing fails.
const listTries = 6

// list reads all shards of a stream, beginning after this call.
func (w *Worker) list(stream string, wanted func() bool, then func(*listing, error)) {
	l := w.lists[stream]
	if l == nil {
		l = &streamLister{}
		w.lists[stream] = l
	}
	l.later = append(l.later, listRequest{wanted, then})
	if !l.running {
		w.runList(stream, l)
	}
}

func (w *Worker) runList(stream string, l *streamLister) {
	l.running = true
	began := w.now
	l.waiting, l.later = l.later, nil
	wanted := func() bool {
		for _, a := range l.waiting {
			if a.wanted() {
				return true
			}
		}
		// Nobody wants it any more: whoever asks next begins anew.
		l.running, l.waiting = false, nil
		if len(l.later) > 0 {
			w.runList(stream, l)
		}
		return false
	}
	finish := func(got *listing, err error) {
		waiting := l.waiting
		l.running, l.waiting = false, nil
		if len(l.later) > 0 {
			w.runList(stream, l)
		}
		for _, a := range waiting {
			if a.wanted() {
				a.then(got, err)
			}
		}
	}
	var shards []shardreader.Shard
	seen := make(map[string]bool)
	tries := 0
	var page func(after string)
	page = func(after string) {
		w.describe(shardreader.DescribeQuery{StreamARN: stream, After: after}, wanted, func(d shardreader.StreamDescription, err error) {
			if err == nil && d.After != "" && seen[d.After] {
				err = errs.New("DescribeStream names the same page of shards twice")
			}
			if server, again := pipeline.Retryable(err); err != nil && again && tries < listTries {
				tries++
				w.after(w.backoff(tries, maxRetry, server), func() {
					if wanted() {
						page(after)
					}
				})
				return
			}
			if err != nil {
				finish(nil, err)
				return
			}
			tries = 0
			shards = append(shards, d.Shards...)
			if d.After != "" {
				seen[d.After] = true
				page(d.After)
				return
			}
			l.listed(began, shards)
			finish(newListing(d.Status, shards), nil)
		})
	}
	page("")
}
