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
	pack      *pack
	pageIndex int // index of the page in the pack
	newest    time.Time
}

// packablePage is a page whose changes can be packed.
type packablePage struct {
	page    *inflightPage
	changes []*record.Change
	bytes   int64 // size of their records
}

// packedRecord is a change with its position in the order of the source: its pack, its page and its index in the page.
type packedRecord struct {
	change                      *record.Change
	packIndex, pageIndex, index int
}

// compare orders records by key and version, and then by the order of the source.
func (r packedRecord) compare(other packedRecord) int {
	return cmp.Or(cmp.Compare(r.change.Key, other.change.Key), r.change.Version.Compare(other.change.Version),
		cmp.Compare(r.packIndex, other.packIndex), cmp.Compare(r.pageIndex, other.pageIndex),
		cmp.Compare(r.index, other.index))
}

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // no error: the level is valid
	return w
}}

// packPages returns a pack of the changes of pages.
func packPages(pages []packablePage) *pack {
	var records []packedRecord
	for page, p := range pages {
		for i, change := range p.changes {
			records = append(records, packedRecord{change: change, pageIndex: page, index: i})
		}
	}
	slices.SortFunc(records, packedRecord.compare)
	p := &pack{}
	var plain []byte
	for i, r := range records {
		plain = binary.AppendUvarint(plain, uint64(r.pageIndex))
		plain = binary.AppendUvarint(plain, uint64(r.index))
		plain = record.AppendPacked(plain, r.change)
		isLast := i == len(records)-1
		if isLast || len(plain) >= frameSize {
			p.addFrame(plain)
			plain = plain[:0]
		}
	}
	return p
}

// addFrame compresses a frame.
func (p *pack) addFrame(plain []byte) {
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
	pack         *pack
	chunkIndexes map[int]int // index of the chunk in the unpacked chunks, by the index of its page in the pack
	nextFrame    int
	rest         []byte // the part of the current frame that was not read yet
	inflater     io.ReadCloser
	unpacker     record.Unpacker
	current      packedRecord
}

// next reads the next change. It returns false at the end of the pack, and together with an error.
func (r *packReader) next() (ok bool, err error) {
	if len(r.rest) == 0 {
		if r.nextFrame == len(r.pack.frames) {
			return false, nil
		}
		if err := r.inflate(r.pack.frames[r.nextFrame]); err != nil {
			return false, err
		}
		r.nextFrame++
	}
	page, pageLength := binary.Uvarint(r.rest)
	index, indexLength := binary.Uvarint(r.rest[max(pageLength, 0):])
	if pageLength <= 0 || indexLength <= 0 {
		return false, record.ErrPacked
	}
	r.current.pageIndex, r.current.index = int(page), int(index)
	r.current.change = new(record.Change)
	r.rest, err = r.unpacker.Unpack(r.rest[pageLength+indexLength:], r.current.change)
	return err == nil, err
}

// inflate decompresses a frame into rest.
func (r *packReader) inflate(f frame) error {
	compressed := bytes.NewReader(f.data)
	if r.inflater == nil {
		r.inflater = flate.NewReader(compressed)
	} else if err := r.inflater.(flate.Resetter).Reset(compressed, nil); err != nil {
		return err
	}
	r.rest = make([]byte, f.size) // new memory for each frame, because the changes refer to it
	_, err := io.ReadFull(r.inflater, r.rest)
	return err
}

// packReaders is a heap of readers. The first reader has the change that comes first in the order of compare.
type packReaders = heapOf[*packReader]

var _ ordered[*packReader] = (*packReader)(nil)

func (r *packReader) before(other *packReader) bool { return r.current.compare(other.current) < 0 }

// unpackedRecord is a change of a packed chunk.
type unpackedRecord struct {
	change     *record.Change
	chunkIndex int // index of its chunk in the unpacked chunks
	index      int // index in its chunk
}

// unpackSorted yields the changes of packed chunks in the order of their keys and versions. One frame of each pack is
// in memory at a time. After an error nothing more is yielded.
func unpackSorted(chunks []chunk) iter.Seq2[unpackedRecord, error] {
	return func(yield func(unpackedRecord, error) bool) {
		readers := packReadersOf(chunks)
		for _, r := range readers {
			if ok, err := r.next(); !ok { // a pack has at least one change
				yield(unpackedRecord{}, cmp.Or(err, record.ErrPacked))
				return
			}
		}
		heap.Init(&readers)
		for len(readers) > 0 {
			r := readers[0]
			chunkIndex, isWanted := r.chunkIndexes[r.current.pageIndex]
			if isWanted && !yield(unpackedRecord{r.current.change, chunkIndex, r.current.index}, nil) {
				return
			}

			ok, err := r.next()
			if err != nil {
				yield(unpackedRecord{}, err)
				return
			}
			if ok {
				heap.Fix(&readers, 0)
			} else {
				heap.Pop(&readers)
			}
		}
	}
}

// packReadersOf returns a reader for each pack of the chunks.
func packReadersOf(chunks []chunk) packReaders {
	var readers packReaders
	byPack := map[*pack]*packReader{}
	for i, c := range chunks {
		p := c.packed.pack
		r := byPack[p]
		if r == nil {
			r = &packReader{pack: p, chunkIndexes: map[int]int{}, current: packedRecord{packIndex: len(readers)}}
			byPack[p] = r
			readers = append(readers, r)
		}
		r.chunkIndexes[c.packed.pageIndex] = i
	}
	return readers
}
