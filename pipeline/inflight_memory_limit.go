package pipeline

import (
	"slices"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/record"
)

// bounds limits the memory in flight, in bytes and in changes. It counts the pages that a delivery pins (whose memory
// the delivery needs), the deliveries of these pages, and cloned changes. The source is read while less than the limit
// is used. So a page larger than the limit passes alone.
//
// If the source is a [Pauser], a partition is paused while little memory is left and the partition uses more than its
// share. So partitions that use little are read first. The limit is divided among the partitions that use memory. A
// partition that is alone is paused too. Otherwise a shard that is listed later would find no memory if no change of
// the first partition can be written. The last page of a paused partition may use the rest of the memory. The limit is
// then raised a little, so that the other partitions still find memory.
//
// Pipeline.mu guards bounds.
type bounds struct {
	limit       amount
	pauser      bool // the source is a Pauser
	used        amount
	cloned      amount        // the part of used that clones use
	waiting     bool          // the reader waits for memory
	hasRoom     chan struct{} // wakes the reader; capacity 1
	shares      map[string]*share
	usingShares int         // number of shares that use memory
	paused      []*share    // shares of paused partitions
	usedPaused  amount      // the part of used that paused partitions use
	pauseCalls  []pauseCall // calls of Pause that were not made yet
}

// pauseCall is a call of [Pauser.Pause].
type pauseCall struct {
	partition string
	paused    bool
}

// amount is memory in flight.
type amount struct{ bytes, changes int64 }

func (a *amount) add(b amount) { a.bytes, a.changes = a.bytes+b.bytes, a.changes+b.changes }

func (a amount) minus(b amount) amount { return amount{a.bytes - b.bytes, a.changes - b.changes} }

// dividedBy returns a/n.
func (a amount) dividedBy(n int64) amount { return amount{a.bytes / n, a.changes / n} }

// atLeastHalfOf reports whether a is at least all/2, in bytes or in changes.
func (a amount) atLeastHalfOf(all amount) bool {
	return a.bytes > 0 && 2*a.bytes >= all.bytes || a.changes > 0 && 2*a.changes >= all.changes
}

const (
	// maxShares is the largest number of shares that the limit is divided into. Of thousands of partitions, few use
	// much memory at once. With a share for each of them, every page would pause its partition.
	maxShares = 64

	// spareDivisor reserves 1/16 of the limit for partitions that use less than their share.
	spareDivisor = 16

	// clonedDivisor lets changes that failed and wait for another try use half of the limit.
	clonedDivisor = 2

	// extraDivisor raises the limit by 1/4 for partitions that are not paused, while paused partitions use the rest.
	extraDivisor = 4
)

// share is the memory that one partition has in flight.
type share struct {
	name   string
	used   amount
	cloned amount // the part of used that clones use
	paused bool
}

func newBounds(maxBytes int64, maxChanges int, pauser bool) *bounds {
	return &bounds{limit: amount{maxBytes, int64(maxChanges)}, pauser: pauser, hasRoom: make(chan struct{}, 1),
		shares: map[string]*share{}}
}

// acquire adds to the memory in flight, even above the limit: the limit stops the reader, not a page that was read.
func (b *bounds) acquire(partition string, a amount) { b.add(partition, a, amount{}) }

// release undoes acquire.
func (b *bounds) release(partition string, a amount) {
	b.add(partition, amount{-a.bytes, -a.changes}, amount{})
}

// takeClones is acquire for cloned changes.
func (b *bounds) takeClones(partition string, a amount) { b.add(partition, a, a) }

// releaseClones undoes takeClones.
func (b *bounds) releaseClones(partition string, a amount) {
	a = amount{-a.bytes, -a.changes}
	b.add(partition, a, a)
}

// add adds to the memory in flight of a partition. cloned is the part of used that clones use.
func (b *bounds) add(partition string, used, cloned amount) {
	s := b.shares[partition]
	if s == nil {
		s = &share{name: partition}
		b.shares[partition] = s
	}
	wasUsing := s.used != amount{}
	b.used.add(used)
	b.cloned.add(cloned)
	s.used.add(used)
	s.cloned.add(cloned)
	if s.paused {
		b.usedPaused.add(used)
	}

	isUsing := s.used != amount{}
	if isUsing && !wasUsing {
		b.usingShares++
	}
	if wasUsing && !isUsing {
		b.usingShares--
	}

	if b.pauser {
		b.pauseOrResume(s)
	}
	if used.bytes < 0 || used.changes < 0 {
		b.resume()
		b.wakeReader()
	}
}

// wakeReader wakes the reader if it waits for memory and there is some again.
func (b *bounds) wakeReader() {
	if !b.waiting || b.isFull() {
		return
	}
	select {
	case b.hasRoom <- struct{}{}:
	default: // it was woken already
	}
}

// pauseOrResume pauses a partition if it takes too much memory. It resumes a paused partition that no longer takes too
// much.
func (b *bounds) pauseOrResume(s *share) {
	paused := b.takesTooMuch(s)
	if paused == s.paused {
		return
	}
	s.paused = paused
	b.pauseCalls = append(b.pauseCalls, pauseCall{s.name, paused})
	if paused {
		b.paused = append(b.paused, s)
		b.usedPaused.add(s.used)
		return
	}
	b.usedPaused = b.usedPaused.minus(s.used)
	i := slices.Index(b.paused, s)
	b.paused = slices.Delete(b.paused, i, i+1)
}

// resume resumes the paused partitions that can be read again. There are few paused partitions, because each uses a
// share.
func (b *bounds) resume() {
	for i := len(b.paused) - 1; i >= 0; i-- {
		b.pauseOrResume(b.paused[i])
	}
}

// takesTooMuch reports whether a partition must be paused. It must if it uses more than its share and little memory is
// left. It also must if clones use more than half of the limit, and the partition has more than a few of them.
func (b *bounds) takesTooMuch(s *share) bool {
	clonable := b.limit.dividedBy(clonedDivisor)
	forClones := quota{all: clonable, share: clonable.dividedBy(maxShares)}
	usable := b.limit.minus(b.limit.dividedBy(spareDivisor))
	shareCount := max(1, min(b.usingShares, maxShares))
	forAll := quota{all: usable, share: usable.dividedBy(int64(shareCount))}
	return forClones.isExceeded(b.cloned, s.cloned) || forAll.isExceeded(b.used, s.used)
}

// quota is how much memory all partitions can use together before a partition that uses more than a share is paused.
type quota struct{ all, share amount }

// isExceeded reports whether all exceeds q.all and partition exceeds q.share, both in bytes or both in changes. all is
// the memory of all partitions together, and partition is the memory of one of them.
func (q quota) isExceeded(all, partition amount) bool {
	bytesExceed := all.bytes > q.all.bytes && partition.bytes > q.share.bytes
	changesExceed := all.changes > q.all.changes && partition.changes > q.share.changes
	return bytesExceed || changesExceed
}

// isPaused reports whether a partition is paused.
func (b *bounds) isPaused(partition string) bool {
	s := b.shares[partition]
	return s != nil && s.paused
}

// dropUnused drops the share of a partition if it uses no memory.
func (b *bounds) dropUnused(partition string) {
	s := b.shares[partition]
	if s == nil || s.used != (amount{}) {
		return
	}
	delete(b.shares, partition)
	b.resume()
}

// isFull reports whether so much memory is used that the source must not be read.
func (b *bounds) isFull() bool {
	if !b.used.atLeast(b.limit) {
		return false
	}
	if len(b.paused) == 0 {
		return true
	}
	raisedLimit := b.limit
	raisedLimit.add(b.limit.dividedBy(extraDivisor))
	spare := b.limit.dividedBy(spareDivisor)
	usedByOthers := b.used.minus(b.usedPaused)
	return usedByOthers.atLeast(spare) || b.used.atLeast(raisedLimit)
}

// atLeast reports whether a is at least limit, in bytes or in changes.
func (a amount) atLeast(limit amount) bool {
	return a.bytes >= limit.bytes || a.changes >= limit.changes
}

// pressure is how much the limit on memory delays reading.
type pressure uint8

const (
	noPressure   pressure = iota
	somePressure          // some partitions are paused, or the reader waits while something moves
	stalled               // the reader waits, and nothing moves
)

// currentPressure returns the current pressure. moving is run.moving. The result is somePressure only if the source is
// a [Pauser]. somePressure depends on time and changes how batches are formed; with any other source, batches depend on
// the input alone.
func (b *bounds) currentPressure(moving int) pressure {
	isReaderBlocked := b.waiting && b.isFull()
	if isReaderBlocked && moving == 0 {
		return stalled
	}
	if b.pauser && (isReaderBlocked || len(b.paused) > 0) {
		return somePressure
	}
	return noPressure
}

// isMostlyFilling reports whether filling, the memory of batches that wait to be full, is at least half of the memory
// in flight. At least half of the memory of one paused partition is enough too. The memory in flight is counted without
// clones. filling is given by partition, and can include clones.
func (b *bounds) isMostlyFilling(filling map[string]amount) bool {
	for _, s := range b.paused {
		if filling[s.name].atLeastHalfOf(s.used.minus(s.cloned)) {
			return true
		}
	}
	var all amount
	for _, a := range filling {
		all.add(a)
	}
	return all.atLeastHalfOf(b.used.minus(b.cloned))
}

// pinnedBytes returns the memory of a page: its input and, once it is decoded, its changes. The index of the changes'
// attributes and the plans of sinks together are about as large as the input, so the input counts twice.
func pinnedBytes(page *Page) int64 {
	n := int64(page.Bytes)
	if len(page.Changes) > 0 {
		n += n + int64(len(page.Changes))*int64(unsafe.Sizeof(record.Change{}))
	}
	return n
}

// deliveryBytes returns the memory of the deliveries of a page to all sinks. With many sinks and small records, it is
// more than the memory of the page. Each delivery counts with one operation and one lane.
func (p *preparedPage) deliveryBytes() int64 {
	n := 0
	for i := range p.routes {
		n += len(p.routes[i].deliveries)
	}
	return int64(n) * int64(unsafe.Sizeof(queuedDelivery{})+unsafe.Sizeof(Op(nil))+unsafe.Sizeof(lane{}))
}

// cloneMemory returns the memory of n cloned changes. bytes is the size of all their records together.
func cloneMemory(n int, bytes int64) amount {
	return amount{2*bytes + int64(n)*int64(unsafe.Sizeof(record.Change{})), int64(n)}
}
