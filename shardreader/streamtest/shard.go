package streamtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// shard holds its records as they are sent, one behind the other with commas
// between, so that a page is a range of bytes that is neither built nor copied.
type shard struct {
	id, parent string
	keys       keyRange
	first      sequence // at which it starts
	back       sequence // how far its numbers are behind the server's

	listed   time.Time // from when on; zero: at once
	hidden   bool
	open     bool      // listed as open, though it may have ended
	ended    time.Time // zero while it is open
	gone     bool
	horizon  int // records gone from its start
	records  []stored
	blocks   [][]byte // filled up to their capacity, never moved: read without a lock; nil when trimmed
	released int      // blocks that are nil

	seen map[string]time.Time // readers, with their last GetRecords
}

type stored struct {
	number   sequence
	at       int64 // when it was written, Unix nanoseconds
	block    int32
	from, to uint32 // in its block
}

const (
	smallBlock = 4 << 10
	largeBlock = 4 << 20
)

func (sh *shard) closed() bool { return !sh.ended.IsZero() }

// next mints a number for a record of the shard.
func (sh *shard) next(s *Server) sequence { return s.next() - sh.back }

// append adds a record, which text writes behind what it is given.
func (sh *shard) append(n sequence, at int64, text func(dst []byte) []byte) {
	last := len(sh.blocks) - 1
	var grown []byte
	if last >= 0 {
		grown = sh.blocks[last]
	}
	room := cap(grown)
	if len(grown) > 0 {
		grown = append(grown, ',')
	}
	from := len(grown)
	grown = text(grown)
	if cap(grown) != room { // it did not fit: the block stays, the record begins another
		record := grown[from:]
		grown = make([]byte, 0, max(min(2*room, largeBlock), smallBlock, len(record)))
		grown, from = append(grown, record...), 0
		sh.blocks = append(sh.blocks, nil)
		last++
	}
	sh.blocks[last] = grown
	sh.records = append(sh.records, stored{number: n, at: at, block: int32(last), from: uint32(from), to: uint32(len(grown))})
}

// page is the records from one on: their bytes in ranges that are to be joined with
// commas, and the record behind them.
func (sh *shard) page(dst [][]byte, from, limit, size int) (parts [][]byte, next int) {
	next = from
	for next < len(sh.records) && next-from < limit {
		r := sh.records[next]
		end := next + 1
		size -= int(r.to - r.from)
		if size < 0 && next > from {
			break
		}
		for end < len(sh.records) && end-from < limit && sh.records[end].block == r.block {
			n := sh.records[end]
			if size -= int(n.to - n.from); size < 0 {
				break
			}
			end++
		}
		dst = append(dst, sh.blocks[r.block][r.from:sh.records[end-1].to:sh.records[end-1].to])
		next = end
		if size < 0 {
			break
		}
	}
	return dst, next
}

// trim makes the horizon be at record n or behind it.
func (sh *shard) trim(n int) {
	sh.horizon = min(max(sh.horizon, n), len(sh.records))
	keep := len(sh.blocks) - 1 // takes more records
	if sh.horizon < len(sh.records) {
		keep = int(sh.records[sh.horizon].block)
	}
	for ; sh.released < keep; sh.released++ {
		sh.blocks[sh.released] = nil
	}
}

// age trims what was written before a time.
func (sh *shard) age(before int64) {
	n := sh.horizon
	for n < len(sh.records) && sh.records[n].at < before {
		n++
	}
	if n > sh.horizon {
		sh.trim(n)
	}
}

// behind is the first record whose number is n or above.
func (sh *shard) behind(n sequence) int {
	i, _ := slices.BinarySearchFunc(sh.records, n, func(r stored, n sequence) int { return cmp.Compare(r.number, n) })
	return i
}

// last is the number at which a closed shard ended.
func (sh *shard) last() sequence {
	if len(sh.records) == 0 {
		return sh.first
	}
	return sh.records[len(sh.records)-1].number
}

// listing is the shard as DescribeStream lists it; ok is false while it does not.
func (sh *shard) listing(o *Options, now time.Time) (s shardreader.Shard, ok bool) {
	if sh.hidden || now.Before(sh.listed) {
		return s, false
	}
	s = shardreader.Shard{ID: sh.id, Parent: sh.parent, First: sh.first.text()}
	if sh.closed() && !sh.open && !now.Before(sh.ended.Add(o.CloseDelay)) {
		s.Last = sh.last().text()
	}
	return s, true
}
