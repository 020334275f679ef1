package pipeline

import (
	"context"
	"slices"
	"sync"
	"unsafe"
)

// bounds holds what is in flight to the pipeline's limits: the bytes and changes
// of the pages that some delivery still pins, and of the changes cloned out of them. The
// source is read while there is room for a byte and a change, so that a page
// larger than all the bounds still passes, alone.
//
// Of a source that reads its partitions apart, a partition is paused where there is little
// room left and it holds more than its share of what there is; so one that others have
// left nothing for is read first. A partition that holds nothing takes nothing from the
// share of the others.
//
// It also knows when nothing can move any more: then a batch that waits to be
// full would wait for ever, because the pages that fill it are not read.
type bounds struct {
	most   amount
	pauser Pauser // nil where the source has none

	mu      sync.Mutex
	held    amount
	parked  amount        // of held
	moving  int           // pages on their way to the sinks, writes under way
	waiting bool          // the reader waits for room
	room    chan struct{} // signals the reader; capacity 1
	shares  map[string]*share
	holding int      // shares that hold something
	paused  []*share // those that are not read for now
}

// amount is memory in flight.
type amount struct{ bytes, changes int64 }

func (a *amount) add(b amount) { a.bytes, a.changes = a.bytes+b.bytes, a.changes+b.changes }
func (a *amount) sub(b amount) { a.bytes, a.changes = a.bytes-b.bytes, a.changes-b.changes }

// part is what n of them have each.
func (a amount) part(n int64) amount { return amount{a.bytes / n, a.changes / n} }

// most tells whether it is at least half of what is held and not parked.
func (a amount) most(held, parked amount) bool {
	held.sub(parked)
	return a.bytes > 0 && 2*a.bytes >= held.bytes || a.changes > 0 && 2*a.changes >= held.changes
}

const (
	// mostShares is into how many shares the bounds are divided at most. Of thousands of
	// partitions few hold much at a time; with shares of their number each page would pause
	// its partition.
	mostShares = 64

	// spareRoom is the part of the bounds that is left to partitions which hold less than
	// their share.
	spareRoom = 16

	// parkedRoom is the part of the bounds that may be filled by what failed and is tried
	// again: the rest is for what moves.
	parkedRoom = 2
)

// reading says whether a partition is read, and why not.
type reading uint8

const (
	isRead      reading = iota
	atShare             // it holds its share, and there is little room left
	atItsParked         // much of the bounds is parked, and it has a part in that
)

// share is what one partition has in flight.
type share struct {
	name   string
	held   amount
	parked amount // of held: clones of what waits beyond its batch
	state  reading
}

func newBounds(maxBytes int64, maxChanges int, src Source) *bounds {
	b := &bounds{most: amount{maxBytes, int64(maxChanges)}, room: make(chan struct{}, 1), shares: map[string]*share{}}
	b.pauser, _ = src.(Pauser)
	return b
}

// take adds to what is in flight, above the bounds too: they hold back the
// reader, never a page that is there.
func (b *bounds) take(partition string, a amount) { b.change(partition, a, amount{}) }

// release gives back what take took.
func (b *bounds) release(partition string, a amount) {
	b.change(partition, amount{-a.bytes, -a.changes}, amount{})
}

// park is take of a clone, which waits beyond its batch.
func (b *bounds) park(partition string, bytes int64) {
	a := amount{bytes, 1}
	b.change(partition, a, a)
}

// unpark gives back what park took.
func (b *bounds) unpark(partition string, bytes int64) {
	a := amount{-bytes, -1}
	b.change(partition, a, a)
}

func (b *bounds) change(partition string, held, parked amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.shares[partition]
	if s == nil {
		s = &share{name: partition}
		b.shares[partition] = s
	}
	before := s.held != amount{}
	b.held.add(held)
	b.parked.add(parked)
	s.held.add(held)
	s.parked.add(parked)
	less := held.bytes < 0 || held.changes < 0
	if after := s.held != (amount{}); after != before {
		if after {
			b.holding++
		} else {
			b.holding--
		}
	}
	if b.pauser != nil {
		b.weigh(s)
		if less && len(b.paused) > 0 {
			b.resume()
		}
	}
	if less && b.waiting && !b.full() {
		b.signal()
	}
}

// weigh pauses a partition, or resumes it.
func (b *bounds) weigh(s *share) {
	state := b.reads(s)
	switch was := s.state; {
	case was == isRead && state != isRead:
		b.paused = append(b.paused, s)
		b.pauser.Pause(s.name, true)
	case was != isRead && state == isRead:
		i := slices.Index(b.paused, s)
		b.paused = slices.Delete(b.paused, i, i+1)
		b.pauser.Pause(s.name, false)
	}
	s.state = state
}

// resume resumes the partitions that may be read again. Each holds a share, so they are few.
func (b *bounds) resume() {
	for i := len(b.paused) - 1; i >= 0; i-- {
		b.weigh(b.paused[i])
	}
}

// reads tells whether a partition may be read.
func (b *bounds) reads(s *share) reading {
	if len(b.shares) < 2 {
		return isRead // the reader waits for it
	}
	parkable := b.most.part(parkedRoom)
	least := parkable.part(mostShares)
	if b.parked.bytes > parkable.bytes && s.parked.bytes > least.bytes ||
		b.parked.changes > parkable.changes && s.parked.changes > least.changes {
		return atItsParked
	}
	room, spare := b.most, b.most.part(spareRoom)
	room.sub(spare)
	fair := room.part(int64(max(1, min(b.holding, mostShares))))
	if b.held.bytes > room.bytes && s.held.bytes > fair.bytes ||
		b.held.changes > room.changes && s.held.changes > fair.changes {
		return atShare
	}
	return isRead
}

// forget drops a partition that has ended and holds nothing.
func (b *bounds) forget(partition string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.shares[partition]; s != nil && s.held == (amount{}) {
		delete(b.shares, partition)
		if len(b.paused) > 0 {
			b.resume()
		}
	}
}

func (b *bounds) full() bool { return b.held.bytes >= b.most.bytes || b.held.changes >= b.most.changes }

func (b *bounds) signal() {
	select {
	case b.room <- struct{}{}:
	default:
	}
}

// wait blocks until there is room or ctx is done. pressure is called before it blocks.
func (b *bounds) wait(ctx context.Context, pressure func()) {
	for ctx.Err() == nil {
		b.mu.Lock()
		b.waiting = b.full()
		waiting := b.waiting
		b.mu.Unlock()
		if !waiting {
			return
		}
		pressure()
		select {
		case <-b.room:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	b.waiting = false
	b.mu.Unlock()
}

// move notes that n things started (or, below 0, stopped) moving.
func (b *bounds) move(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moving += n
}

// pressed says what is held back for want of room.
type pressed uint8

const (
	notPressed pressed = iota
	some               // some partitions are paused, or all wait while something moves
	stuck              // the reader waits, and nothing moves
)

// pressure tells what is held back now. What depends on time shows only with a source that
// reads its partitions apart: what others are given is cut by the input alone.
func (b *bounds) pressure() pressed {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.waiting && b.full()
	switch {
	case waiting && b.moving == 0:
		return stuck
	case b.pauser != nil && (waiting || len(b.paused) > 0):
		return some
	}
	return notPressed
}

// heldBackBy tells whether what waits for batches to fill, in all and of partitions, is most of
// what is held back and not parked.
func (b *bounds) heldBackBy(all amount, parts []*partition) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if all.most(b.held, b.parked) {
		return true
	}
	for _, part := range parts {
		if s := b.shares[part.name]; s != nil && s.state != isRead && part.filling.most(s.held, s.parked) {
			return true
		}
	}
	return false
}

// inFlight tells what is in flight.
func (b *bounds) inFlight() (bytes, changes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.bytes, b.held.changes
}

// pinnedBytes is what a page keeps in memory: its input, and once it is decoded its changes,
// and the index of their attributes and what sinks plan for them, which is about as much as
// the input.
func pinnedBytes(page *Page) int64 {
	n := int64(page.Bytes)
	if len(page.Changes) > 0 {
		n += n + int64(len(page.Changes))*int64(unsafe.Sizeof(Change{}))
	}
	return n
}

// ownBytes is what a clone of an item keeps in memory.
func ownBytes(it *item) int64 { return 2*it.size + int64(unsafe.Sizeof(Change{})) }
