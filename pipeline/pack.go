package pipeline

import (
	"bytes"
	"cmp"
	"compress/flate"
	"container/heap"
	"encoding/binary"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// pack has compressed changes of some pages, which wait for a batch to fill. The changes are ordered by key and
// version. They are compressed in frames, which are read one after the other.
type pack struct {
	frames []frame
	bytes  int64 // compressed size of all frames
	pages  int   // number of pages that still need the pack
}

type frame struct {
	data []byte // compressed
	size int    // size before compression
}

const (
	packSize  = 1 << 20  // bytes of records, about
	frameSize = 64 << 10 // before compression, about
)

// packed refers to the changes in a pack that come from one page, for one route.
type packed struct {
	pack   *pack
	page   int // number of the page in the pack
	newest time.Time
}

// packablePage is a page whose changes can be packed.
type packablePage struct {
	page    *inflightPage
	changes []*record.Change
	bytes   int64 // size of their records
}

// packedRecord is a change with its position in the order of the source: its pack, its page and its place in the page.
type packedRecord struct {
	c               *record.Change
	pack, page, pos int
}

func (r packedRecord) compare(s packedRecord) int {
	return cmp.Or(cmp.Compare(r.c.Key, s.c.Key), r.c.Version.Compare(s.c.Version),
		cmp.Compare(r.pack, s.pack), cmp.Compare(r.page, s.page), cmp.Compare(r.pos, s.pos))
}

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // no error: the level is valid
	return w
}}

// packPages returns a pack of the changes of pages.
func packPages(pages []packablePage) *pack {
	var records []packedRecord
	for n, p := range pages {
		for i, c := range p.changes {
			records = append(records, packedRecord{c, 0, n, i})
		}
	}
	slices.SortFunc(records, packedRecord.compare)
	p := &pack{pages: len(pages)}
	var plain []byte
	for i, r := range records {
		plain = binary.AppendUvarint(binary.AppendUvarint(plain, uint64(r.page)), uint64(r.pos))
		plain = record.AppendPacked(plain, r.c)
		if len(plain) >= frameSize || i == len(records)-1 {
			p.add(plain)
			plain = plain[:0]
		}
	}
	return p
}

// add compresses a frame.
func (p *pack) add(plain []byte) {
	var out bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	w.Reset(&out)
	_, _ = w.Write(plain) // a buffer never fails
	_ = w.Close()
	deflaters.Put(w)
	data := bytes.Clone(out.Bytes()) // the capacity of a buffer can be twice its length
	p.frames = append(p.frames, frame{data, len(plain)})
	p.bytes += int64(len(data))
}

// packReader reads a pack, one change after the other.
type packReader struct {
	p        *pack
	frame    int
	rest     []byte
	inflater io.ReadCloser
	record.Unpacker
	packedRecord
}

// next reads the next change. It returns false at the end of the pack, and with an error.
func (r *packReader) next() (bool, error) {
	if len(r.rest) == 0 {
		if r.frame == len(r.p.frames) {
			return false, nil
		}
		f := r.p.frames[r.frame]
		r.frame++
		if r.inflater == nil {
			r.inflater = flate.NewReader(bytes.NewReader(f.data))
		} else if err := r.inflater.(flate.Resetter).Reset(bytes.NewReader(f.data), nil); err != nil {
			return false, err
		}
		r.rest = make([]byte, f.size) // new memory for each frame, because the changes refer to it
		if _, err := io.ReadFull(r.inflater, r.rest); err != nil {
			return false, err
		}
	}
	page, n := binary.Uvarint(r.rest)
	index, m := binary.Uvarint(r.rest[max(n, 0):])
	if n <= 0 || m <= 0 {
		return false, record.ErrPacked
	}
	r.page, r.pos = int(page), int(index)
	c := new(record.Change)
	rest, err := r.Unpack(r.rest[n+m:], c)
	r.c, r.rest = c, rest
	return err == nil, err
}

// packReaders is a heap of readers. The first reader has the change that comes first in the order of compare.
type packReaders = heapOf[*packReader]

var _ ordered[*packReader] = (*packReader)(nil)

func (r *packReader) before(other *packReader) bool { return r.compare(other.packedRecord) < 0 }

// unpackSorted yields the changes of packed chunks in the order of their keys and versions. The field page of a yielded
// record is the index of its chunk in chunks. One frame of each pack is in memory at a time. After an error nothing
// more is yielded.
func unpackSorted(chunks []chunk) iter.Seq2[packedRecord, error] {
	return func(yield func(packedRecord, error) bool) {
		readers, chunkIndexes := packReadersOf(chunks)
		for _, r := range readers {
			if ok, err := r.next(); !ok { // a pack has at least one change
				yield(packedRecord{}, cmp.Or(err, record.ErrPacked))
				return
			}
		}
		heap.Init(&readers)
		for len(readers) > 0 {
			r := readers[0]
			lowest := r.packedRecord
			index, chunkIndex := chunkIndexes[r.p][r.page]
			if lowest.page = index; chunkIndex && !yield(lowest, nil) {
				return
			}
			switch ok, err := r.next(); {
			case err != nil:
				yield(packedRecord{}, err)
				return
			case ok:
				heap.Fix(&readers, 0)
			default:
				heap.Pop(&readers)
			}
		}
	}
}

// packReadersOf returns a reader for each pack of the chunks, and the index in chunks of each page of a pack.
func packReadersOf(chunks []chunk) (readers packReaders, chunkIndexes map[*pack]map[int]int) {
	chunkIndexes = map[*pack]map[int]int{}
	for i, c := range chunks {
		p := c.packed.pack
		if chunkIndexes[p] == nil {
			readers = append(readers, &packReader{p: p, packedRecord: packedRecord{pack: len(readers)}})
			chunkIndexes[p] = map[int]int{}
		}
		chunkIndexes[p][c.packed.page] = i
	}
	return readers, chunkIndexes
}
