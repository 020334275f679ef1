package pipeline

import (
	"slices"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/record"
)

// memoryLimit limits the memory in flight, in bytes and in changes. It counts the pages that a delivery pins (whose
// memory the delivery needs), the deliveries of these pages, and cloned changes. The source is read while less than the
// limit is used. So a page larger than the limit passes alone.
//
// If the source is a [Pauser], a partition is paused while little memory is left and the partition uses more than its
// share. So partitions that use little are read first. The limit is divided among the partitions that use memory. One
// partition alone is paused as well, so that memory is left for a shard that is listed later. A page that was read is
// never refused, so a paused partition can fill the memory. Then the limit is raised for the other partitions.
//
// Pipeline.mu guards a memoryLimit.
type memoryLimit struct {
	limit       amount
	raisedLimit amount // the limit while paused partitions use memory
	usable      amount // the part of limit for partitions that use more than their share
	spare       amount // the rest of limit
	clones      quota
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

func newMemoryLimit(maxBytes int64, maxChanges int, pauser bool) *memoryLimit {
	m := &memoryLimit{limit: amount{maxBytes, int64(maxChanges)}, pauser: pauser, hasRoom: make(chan struct{}, 1),
		shares: map[string]*share{}}
	m.spare = m.limit.dividedBy(spareDivisor)
	m.usable = m.limit.minus(m.spare)
	m.raisedLimit = m.limit
	m.raisedLimit.add(m.limit.dividedBy(extraDivisor))
	clonable := m.limit.dividedBy(clonedDivisor)
	m.clones = quota{all: clonable, share: clonable.dividedBy(maxShares)}
	return m
}

// acquire adds to the memory in flight, even above the limit: the limit stops the reader, not a page that was read.
func (m *memoryLimit) acquire(partition string, a amount) { m.add(partition, a, amount{}) }

// release undoes acquire.
func (m *memoryLimit) release(partition string, a amount) {
	m.add(partition, amount{}.minus(a), amount{})
}

// takeClones is acquire for cloned changes.
func (m *memoryLimit) takeClones(partition string, a amount) { m.add(partition, a, a) }

// releaseClones undoes takeClones.
func (m *memoryLimit) releaseClones(partition string, a amount) {
	m.takeClones(partition, amount{}.minus(a))
}

// add adds to the memory in flight of a partition. cloned is the part of used that clones use.
func (m *memoryLimit) add(partition string, used, cloned amount) {
	s := m.shares[partition]
	if s == nil {
		s = &share{name: partition}
		m.shares[partition] = s
	}
	wasUsing := s.used != amount{}
	m.used.add(used)
	m.cloned.add(cloned)
	s.used.add(used)
	s.cloned.add(cloned)
	if s.paused {
		m.usedPaused.add(used)
	}

	isUsing := s.used != amount{}
	if isUsing && !wasUsing {
		m.usingShares++
	}
	if wasUsing && !isUsing {
		m.usingShares--
	}

	if m.pauser {
		m.pauseOrResume(s)
	}
	if used.bytes < 0 || used.changes < 0 {
		m.resume()
		m.wakeReader()
	}
}

// wakeReader wakes the reader if it waits for memory and there is some again.
func (m *memoryLimit) wakeReader() {
	if !m.waiting || m.isFull() {
		return
	}
	select {
	case m.hasRoom <- struct{}{}:
	default: // it was woken already
	}
}

// pauseOrResume pauses a partition if it takes too much memory. It resumes a paused partition that no longer takes too
// much.
func (m *memoryLimit) pauseOrResume(s *share) {
	paused := m.takesTooMuch(s)
	if paused == s.paused {
		return
	}
	s.paused = paused
	m.pauseCalls = append(m.pauseCalls, pauseCall{s.name, paused})
	if paused {
		m.paused = append(m.paused, s)
		m.usedPaused.add(s.used)
		return
	}
	m.usedPaused = m.usedPaused.minus(s.used)
	i := slices.Index(m.paused, s)
	m.paused = slices.Delete(m.paused, i, i+1)
}

// resume resumes the paused partitions that can be read again. There are few paused partitions, because each uses a
// share.
func (m *memoryLimit) resume() {
	for i := len(m.paused) - 1; i >= 0; i-- {
		m.pauseOrResume(m.paused[i])
	}
}

// takesTooMuch reports whether a partition must be paused. It must if it uses more than its share and little memory is
// left. It also must if clones use more than half of the limit, and the partition has more than a few of them.
func (m *memoryLimit) takesTooMuch(s *share) bool {
	shareCount := max(1, min(m.usingShares, maxShares))
	forAll := quota{all: m.usable, share: m.usable.dividedBy(int64(shareCount))}
	return m.clones.isExceeded(m.cloned, s.cloned) || forAll.isExceeded(m.used, s.used)
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
func (m *memoryLimit) isPaused(partition string) bool {
	s := m.shares[partition]
	return s != nil && s.paused
}

// dropUnused drops the share of a partition if it uses no memory.
func (m *memoryLimit) dropUnused(partition string) {
	s := m.shares[partition]
	if s == nil || s.used != (amount{}) {
		return
	}
	delete(m.shares, partition)
	m.resume()
}

// isFull reports whether so much memory is used that the source must not be read.
func (m *memoryLimit) isFull() bool {
	if !m.used.atLeast(m.limit) {
		return false
	}
	if len(m.paused) == 0 {
		return true
	}
	// Paused partitions use much of the memory. The others are read while they use less than spare, up to raisedLimit.
	usedByOthers := m.used.minus(m.usedPaused)
	return usedByOthers.atLeast(m.spare) || m.used.atLeast(m.raisedLimit)
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

// currentPressure returns the current pressure. moving is run.moving. It returns somePressure only with a [Pauser]:
// somePressure depends on time and changes how batches are formed, and without a Pauser they must depend on the input
// alone.
func (m *memoryLimit) currentPressure(moving int) pressure {
	isReaderBlocked := m.waiting && m.isFull()
	if isReaderBlocked && moving == 0 {
		return stalled
	}
	if m.pauser && (isReaderBlocked || len(m.paused) > 0) {
		return somePressure
	}
	return noPressure
}

// isMostlyFilling reports whether filling, the memory of batches that wait to be full, is at least half of the memory
// in flight. At least half of the memory of one paused partition is enough too. The memory in flight is counted without
// clones, because most clones are retries, which wait for no other change. filling is given by partition, and can
// include clones.
func (m *memoryLimit) isMostlyFilling(filling map[string]amount) bool {
	for _, s := range m.paused {
		if filling[s.name].atLeastHalfOf(s.used.minus(s.cloned)) {
			return true
		}
	}
	var all amount
	for _, a := range filling {
		all.add(a)
	}
	return all.atLeastHalfOf(m.used.minus(m.cloned))
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
