package coordinator

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// listing holds all shards of a stream, as DescribeStream listed them.
type listing struct {
	status   shardreader.StreamStatus
	shards   []shardreader.Shard
	byID     map[string]int                 // indexes in shards, by shard id
	children map[string][]shardreader.Shard // listed children, by shard id of the parent
}

func newListing(status shardreader.StreamStatus, shards []shardreader.Shard) *listing {
	l := &listing{status, shards, make(map[string]int, len(shards)), make(map[string][]shardreader.Shard)}
	for i, s := range shards {
		l.byID[s.ID] = i
		if s.Parent != "" {
			l.children[s.Parent] = append(l.children[s.Parent], s)
		}
	}
	return l
}

// shard returns a listed shard. It returns the zero Shard if the shard is not listed, or if l is nil.
func (l *listing) shard(id string) shardreader.Shard {
	if !l.has(id) {
		return shardreader.Shard{}
	}
	return l.shards[l.byID[id]]
}

// has reports whether a shard is listed. It returns false if l is nil.
func (l *listing) has(shard string) bool {
	if l == nil {
		return false
	}
	_, ok := l.byID[shard]
	return ok
}

// hasOpen reports whether an open shard is listed. A stream that takes writes has an open shard, but a listing may be
// late.
func (l *listing) hasOpen() bool { return slices.ContainsFunc(l.shards, shardreader.Shard.Open) }

// parent returns the parent of a listed shard; "" if the shard is not listed or has no parent. The parent itself may be
// unlisted.
func (l *listing) parent(shard string) string { return l.shard(shard).Parent }

// markAncestors adds the ancestors of a shard to ancestors.
func (l *listing) markAncestors(shard string, ancestors map[string]bool) {
	for id := l.parent(shard); id != "" && !ancestors[id]; id = l.parent(id) {
		ancestors[id] = true
	}
}

// aboveParent reports whether the sequence numbers of a shard are above those of its parent, as far as the listing
// shows them. Versions depend on the order of sequence numbers.
func (l *listing) aboveParent(s shardreader.Shard) bool {
	last := l.shard(s.Parent).Last
	return s.First == "" || last == "" || record.CompareSequence(s.First, last) > 0
}

// listRequest is a request for a listing of a stream.
type listRequest struct {
	wanted func() bool
	done   func(l *listing, err error)
}

// streamLister lists one stream. Requests that come during a listing share the next one.
type streamLister struct {
	c       *Coordinator
	stream  string
	running bool
	waiting []listRequest // requests that wait for the listing in flight
	later   []listRequest // requests that wait for the next listing, because the listing in flight began too early

	// The listing in flight.
	sent           time.Duration // when its first request was made
	shards         []shardreader.Shard
	requestedPages map[string]bool // pages that were requested
	after          string          // start of the page that is requested now
	tries          tries

	began  time.Duration            // when the last complete listing began
	lacked map[string]time.Duration // for each listed shard: a time at which it was not listed yet
}

// longAgo is longer than the retention of any stream.
const longAgo = 100 * 365 * 24 * time.Hour

const (
	listRetries  = 6 // number of retries of a page before the listing fails
	initialTries = 1 // start value of tries: listings wait twice as long as other calls
)

// list reads all shards of a stream, and calls done if the listing is still wanted. The listing begins after this call.
func (c *Coordinator) list(stream string, wanted func() bool, done func(*listing, error)) {
	l := c.listers[stream]
	if l == nil {
		l = &streamLister{c: c, stream: stream}
		c.listers[stream] = l
	}
	l.later = append(l.later, listRequest{wanted, done})
	if !l.running {
		l.begin()
	}
}

// begin begins a listing for the requests in later.
func (l *streamLister) begin() {
	l.running = true
	l.waiting, l.later = l.later, nil
	l.sent, l.requestedPages, l.tries = l.c.now, make(map[string]bool), initialTries
	l.requestPage("")
}

// requestPage requests a page of the listing.
func (l *streamLister) requestPage(after string) {
	l.after = after
	l.c.queueDescribe(shardreader.DescribeQuery{StreamARN: l.stream, After: after}, l.isWanted, l.handleDescription)
}

// isWanted reports whether a waiter still wants the listing.
func (l *streamLister) isWanted() bool {
	return slices.ContainsFunc(l.waiting, func(r listRequest) bool { return r.wanted() })
}

// handleDescription handles a page of the listing, and requests the next page.
func (l *streamLister) handleDescription(d shardreader.StreamDescription, err error) {
	if err == nil && d.After != "" && l.requestedPages[d.After] {
		err = errs.New("DescribeStream names the same page of shards twice")
	}
	if err != nil {
		l.handleError(err)
		return
	}
	l.shards = append(l.shards, d.Shards...)
	if d.After != "" {
		l.tries = initialTries
		l.requestedPages[d.After] = true
		l.requestPage(d.After)
		return
	}
	l.noteLacked()
	l.end(newListing(d.Status, l.shards), nil)
}

// handleError requests the page again after a transient error. After too many tries, or after another error, the
// listing fails.
func (l *streamLister) handleError(err error) {
	if !transient(err) || l.tries >= initialTries+listRetries {
		l.end(nil, err)
		return
	}
	l.c.after(l.tries.nextBackoff(l.c, maxBackoff, err), func() {
		if !l.isWanted() {
			l.end(nil, errCallNotWanted)
			return
		}
		l.requestPage(l.after)
	})
}

// end ends the listing, begins the next one if there are requests, and gives the result to the requests that waited for
// the ended listing.
func (l *streamLister) end(result *listing, err error) {
	waiting := l.waiting
	l.running, l.waiting, l.shards = false, nil, nil
	if len(l.later) > 0 {
		l.begin()
	}
	for _, request := range waiting {
		if request.wanted() {
			request.done(result, err)
		}
	}
}

// noteLacked notes for each new shard when the last listing without the shard began.
func (l *streamLister) noteLacked() {
	lastWithout := l.began
	if l.lacked == nil {
		lastWithout = -longAgo // no listing is known that lacks these shards
	}
	lacked := make(map[string]time.Duration, len(l.shards))
	for _, s := range l.shards {
		at, known := l.lacked[s.ID]
		if !known {
			at = lastWithout
		}
		lacked[s.ID] = at
	}
	l.began, l.lacked = l.sent, lacked
}
