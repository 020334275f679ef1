package ddbjson

import "math"

// pageStats holds the sizes of records, to predict how much memory the rest of a page needs. Pages of a stream resemble
// each other: with the prediction a page takes a tenth more memory than its changes need
// (TestPagesTakeWhatTheirChangesNeed of package record).
type pageStats struct {
	records int
	bytes   int // of the records, with the bytes between them
	kept    int // attributes in the arena, see attrArena

	sizes, squares float64 // sums of the records' sizes in bytes, and of the squares of these sizes
}

const (
	fewRecords  = 4       // fewer records predict little
	someRecords = 32      // this many records of a page predict its rest without the pages before
	pastRecords = 128     // the past counts this many records, or one page
	maxExpected = 1 << 16 // records
)

// add counts a record of size bytes. read is the number of bytes of the page's records so far, and kept the attributes
// that they have in the arena.
func (s *pageStats) add(size, read, kept int) {
	s.records++
	s.bytes, s.kept = read, kept
	s.sizes += float64(size)
	s.squares += float64(size) * float64(size)
}

// expectedRecords predicts the number of records in the next left bytes. It rather predicts one too many: one too few
// means that all records of the page are copied.
func (s pageStats) expectedRecords(left int) int {
	if s.records == 0 {
		return 0
	}
	n := float64(left) / float64(s.bytes) * float64(s.records)
	if n < 0.5 { // the bytes that close the page
		return 0
	}
	if s.records < fewRecords {
		return int(min(math.Ceil(n), fewRecords))
	}
	mean := s.sizes / float64(s.records)
	deviation := math.Sqrt(max(s.squares/float64(s.records)-mean*mean, 0)) / mean
	return int(min(math.Ceil(n+2*deviation*math.Sqrt(n)), maxExpected))
}

// expectedAttrs predicts the number of attributes of n records.
func (s pageStats) expectedAttrs(n int) int {
	if s.records == 0 {
		return 0
	}
	return (s.kept*n + s.records - 1) / s.records
}

// with returns s with the stats of the pages before, if s has few records and theirs have similar sizes.
func (s pageStats) with(past pageStats) pageStats {
	if s.records >= someRecords || past.records == 0 {
		return s
	}
	if ratio := s.sizes * float64(past.records) / (past.sizes * float64(max(s.records, 1))); s.records > 0 && (ratio < 0.5 || ratio > 2) {
		return s
	}
	return pageStats{s.records + past.records, s.bytes + past.bytes, s.kept + past.kept, s.sizes + past.sizes, s.squares + past.squares}
}

// then returns the past for the page after page, where s is the past of page. Older pages count less.
func (s pageStats) then(page pageStats) pageStats {
	if s.records > pastRecords {
		s = pageStats{s.records / 2, s.bytes / 2, s.kept / 2, s.sizes / 2, s.squares / 2}
	}
	if page.records == 0 {
		return s
	}
	return page.with(s)
}
