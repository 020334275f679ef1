package pipeline

import (
	"context"
	"sync"
	"unsafe"
)

// bounds holds what is in flight to the pipeline's limits: the bytes and changes
// of the pages that some delivery still pins, and of the changes cloned out of them. The
// source is read while there is room for a byte and a change, so that a page
// larger than all the bounds still passes, alone.
//
// It also knows when nothing can move any more: then a batch that waits to be
// full would wait for ever, because the pages that fill it are not read.
type bounds struct {
	maxBytes   int64
	maxChanges int64
	pauser     Pauser // nil where the source has none

	mu      sync.Mutex
	bytes   int64
	changes int64
	moving  int           // pages on their way to the sinks, writes under way
	waiting bool          // the reader waits for room
	room    chan struct{} // signals the reader; capacity 1
	shares  map[string]*share
}

// mostShares is into how many shares the bounds are divided at most. Of thousands of
// partitions few hold much at a time; with shares of their number each page would pause
// its partition.
const mostShares = 64

// share is what one partition has in flight.
type share struct {
	bytes, changes int64
	paused         bool
}

func newBounds(maxBytes int64, maxChanges int, src Source) *bounds {
	b := &bounds{maxBytes: maxBytes, maxChanges: int64(maxChanges), room: make(chan struct{}, 1), shares: map[string]*share{}}
	b.pauser, _ = src.(Pauser)
	return b
}

// take adds to what is in flight, above the bounds too: they hold back the
// reader, never a page that is there.
func (b *bounds) take(partition string, bytes, changes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(partition, bytes, changes)
}

// release gives back what take took.
func (b *bounds) release(partition string, bytes, changes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(partition, -bytes, -changes)
	if b.waiting && !b.full() {
		b.signal()
	}
}

func (b *bounds) add(partition string, bytes, changes int64) {
	b.bytes += bytes
	b.changes += changes
	s := b.shares[partition]
	if s == nil {
		s = &share{}
		b.shares[partition] = s
	}
	s.bytes += bytes
	s.changes += changes
	if b.pauser == nil {
		return
	}
	n := int64(min(len(b.shares), mostShares))
	if over := n > 1 && (s.bytes > b.maxBytes/n || s.changes > b.maxChanges/n); over != s.paused {
		s.paused = over
		b.pauser.Pause(partition, over)
	}
}

// forget drops a partition that has ended and holds nothing.
func (b *bounds) forget(partition string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.shares[partition]; s != nil && s.bytes == 0 && s.changes == 0 {
		delete(b.shares, partition)
	}
}

func (b *bounds) full() bool { return b.bytes >= b.maxBytes || b.changes >= b.maxChanges }

func (b *bounds) signal() {
	select {
	case b.room <- struct{}{}:
	default:
	}
}

// wait blocks until there is room or ctx is done. pressure is called when it
// would block while nothing moves.
func (b *bounds) wait(ctx context.Context, pressure func()) {
	for ctx.Err() == nil {
		b.mu.Lock()
		if !b.full() {
			b.waiting = false
			b.mu.Unlock()
			return
		}
		b.waiting = true
		stuck := b.moving == 0
		b.mu.Unlock()
		if stuck {
			pressure()
		}
		select {
		case <-b.room:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	b.waiting = false
	b.mu.Unlock()
}

// move notes that n things started (or, below 0, stopped) moving. It is true when
// the last one stopped while the reader waits: the caller then relieves the
// pressure, holding no lock.
func (b *bounds) move(n int) (stuck bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moving += n
	return b.moving == 0 && b.waiting && b.full()
}

// held tells what is in flight.
func (b *bounds) held() (bytes, changes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes, b.changes
}

// stuck tells whether the reader waits while nothing moves.
func (b *bounds) stuck() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moving == 0 && b.waiting && b.full()
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
