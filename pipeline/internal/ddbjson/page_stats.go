package ddbjson

import "math"

// pageStats holds the sizes of records, to predict how much memory the rest of a page needs. Pages of a stream resemble
// each other: with the prediction, a page wastes at most about 10 % of its memory (TestPagesTakeWhatTheirChangesNeed of
// package record).
type pageStats struct {
	records int
	bytes   int // bytes of the records and between them
	kept    int // attributes in the arena; see attrArena.taken

	sizes, squares float64 // sums of the records' sizes in bytes, and of the squares of these sizes
}

const (
	fewRecords  = 4       // fewer records predict little about the next ones
	someRecords = 32      // from this many records on, a page alone predicts its rest
	pastRecords = 128     // a past of more records is halved before a page is added
	maxExpected = 1 << 16 // records
)

// add counts a record of size bytes. read is the number of bytes of the page's records so far, and arenaAttrs the
// number of attributes in the arena.
func (s *pageStats) add(size, read, kept int) {
	s.records++
	s.bytes, s.kept = read, kept
	s.sizes += float64(size)
	s.squares += float64(size) * float64(size)
}

// expectedRecords predicts the number of records in the next bytesLeft bytes. It rounds up and adds two standard
// deviations, because an underestimate makes the reader copy all records of the page.
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

// mergedWith returns the sum of s and past if s has few records and the records of past have similar sizes. Otherwise
// it returns s.
func (s pageStats) with(past pageStats) pageStats {
	if s.records >= someRecords || past.records == 0 {
		return s
	}
	ratio := s.sizes * float64(past.records) / (past.sizes * float64(max(s.records, 1))) // of the mean sizes
	if s.records > 0 && (ratio < 0.5 || ratio > 2) {
		return s
	}
	return pageStats{
		records: s.records + past.records, bytes: s.bytes + past.bytes, kept: s.kept + past.kept,
		sizes: s.sizes + past.sizes, squares: s.squares + past.squares,
	}
}

// nextPast returns the past for the page after page. s is the past of page. If page has enough records, or records of
// other sizes than s, page alone is the new past. Otherwise page is added to s, which is halved before if it has more
// than maxPast records: so older pages count less.
func (s pageStats) then(page pageStats) pageStats {
	if s.records > pastRecords {
		s = pageStats{
			records: s.records / 2, bytes: s.bytes / 2, kept: s.kept / 2,
			sizes: s.sizes / 2, squares: s.squares / 2,
		}
	}
	if page.records == 0 {
		return s
	}
	return page.with(s)
}
