package streamtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// shard stores its records as GetRecords sends them, joined by commas. So a page is a range of bytes, and needs no
// copy.
type shard struct {
	id, parent string
	keys       keyRange
	first      sequence // sequence number at which the shard starts
	offset     sequence // subtracted from the sequence numbers of the server; see Stream.SplitBelow

	listedFrom   time.Time // time from which on the shard is listed; zero if always
	hidden       bool      // the shard is not listed
	listedOpen   bool      // the shard is listed as open, even if it has ended
	ended        time.Time // when the shard ended; zero if it is open
	gone         bool      // the shard was dropped or has expired
	trimmedCount int       // number of trimmed records
	records      []storedRecord
	blocks       [][]byte // never moved or reallocated, so readers need no lock; trimmed blocks are nil
	released     int      // number of nil blocks

	lastReads map[string]time.Time // time of the last GetRecords call, by reader
}

type storedRecord struct {
	number   sequence
	at       int64 // time of the write, Unix nanoseconds
	block    int32
	from, to uint32 // range of bytes in the block
}

const (
	smallBlock = 4 << 10
	largeBlock = 4 << 20
)

func (sh *shard) closed() bool { return !sh.ended.IsZero() }

// next returns the sequence number of the next record.
func (sh *shard) next(s *Server) sequence { return s.nextSequence() - sh.offset }

// append adds a record. text is the JSON of the record.
func (sh *shard) append(n sequence, at int64, text []byte) {
	last := len(sh.blocks) - 1
	hasRoom := last >= 0 && len(sh.blocks[last])+len(",")+len(text) <= cap(sh.blocks[last])
	if !hasRoom {
		size := smallBlock
		if last >= 0 {
			size = min(2*cap(sh.blocks[last]), largeBlock)
		}
		sh.blocks = append(sh.blocks, make([]byte, 0, max(size, len(text))))
		last++
	}
	block := sh.blocks[last]
	if len(block) > 0 {
		block = append(block, ',')
	}
	from := len(block)
	block = append(block, text...)
	sh.blocks[last] = block
	sh.records = append(sh.records, storedRecord{number: n, at: at, block: int32(last), from: uint32(from),
		to: uint32(len(block))})
}

// pageEnd returns the index after the records of a page that begins at the index from. The page has at most limit
// records, and at most size bytes, but at least one record if there is one.
func (sh *shard) pageEnd(from, limit, size int) int {
	end := from
	for end < len(sh.records) && end-from < limit {
		size -= int(sh.records[end].to - sh.records[end].from)
		if size < 0 && end > from {
			break
		}
		end++
	}
	return end
}

// appendPage appends the records between two indexes to dst, as byte ranges that the caller joins with commas.
func (sh *shard) appendPage(dst [][]byte, from, end int) [][]byte {
	for from < end {
		first := sh.records[from]
		to := first.to
		for from < end && sh.records[from].block == first.block {
			to = sh.records[from].to
			from++
		}
		dst = append(dst, sh.blocks[first.block][first.from:to:to])
	}
	return dst
}

// trim removes the records before the index n.
func (sh *shard) trim(n int) {
	sh.trimmedCount = min(max(sh.trimmedCount, n), len(sh.records))
	keep := len(sh.blocks) - 1 // the last block takes more records
	if sh.trimmedCount < len(sh.records) {
		keep = int(sh.records[sh.trimmedCount].block)
	}
	for ; sh.released < keep; sh.released++ {
		sh.blocks[sh.released] = nil
	}
}

// trimBefore trims the records that were written before a time.
func (sh *shard) trimBefore(before int64) {
	n := sh.trimmedCount
	for n < len(sh.records) && sh.records[n].at < before {
		n++
	}
	if n > sh.trimmedCount {
		sh.trim(n)
	}
}

// indexFrom returns the index of the first record whose sequence number is at least n.
func (sh *shard) indexFrom(n sequence) int {
	i, _ := slices.BinarySearchFunc(sh.records, n,
		func(r storedRecord, n sequence) int { return cmp.Compare(r.number, n) })
	return i
}

// indexAt returns the index of the oldest record left whose creation time is not before the time at. Creation times are
// whole seconds.
func (sh *shard) indexAt(at time.Time) int {
	from := at.UnixNano()
	i := sh.trimmedCount
	for i < len(sh.records) && sh.records[i].at-sh.records[i].at%int64(time.Second) < from {
		i++
	}
	return i
}

// lastSequence returns the sequence number of the newest record of a shard. If there is no record, it returns the first
// sequence number of the shard.
func (sh *shard) lastSequence() sequence {
	if len(sh.records) == 0 {
		return sh.first
	}
	return sh.records[len(sh.records)-1].number
}

// listing returns the shard as DescribeStream lists it. ok is false if the shard is not listed.
func (sh *shard) listing(o *Options, now time.Time) (s shardreader.Shard, ok bool) {
	if sh.hidden || now.Before(sh.listedFrom) {
		return s, false
	}
	s = shardreader.Shard{ID: sh.id, Parent: sh.parent, First: sh.first.text()}
	if sh.closed() && !sh.listedOpen && !now.Before(sh.ended.Add(o.CloseDelay)) {
		s.Last = sh.lastSequence().text()
	}
	return s, true
}
