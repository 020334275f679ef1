package ddbjson

import "math"

// pageStats holds the sizes of records, to predict how much memory the rest of a page needs. This works because the
// pages of a stream resemble each other. With the prediction, a page wastes at most about 10 % of its memory
// (TestPagesTakeWhatTheirChangesNeed of package record).
type pageStats struct {
	records    int
	bytes      int // bytes of the records, and of the commas and spaces between them
	arenaAttrs int // attributes in the arena; see attrArena.taken

	sumSize, sumSquares float64 // sums of the records' sizes in bytes, and of the squares of these sizes
}

const (
	minSample     = 4       // with fewer records, their sizes predict little
	enoughRecords = 32      // with this many records or more, a page needs no past to predict its rest
	maxPast       = 128     // a past with more records is halved before a page is added
	maxExpected   = 1 << 16 // records
)

// add counts a record of size bytes. read is the number of bytes of the page's records so far, and arenaAttrs the
// number of attributes in the arena.
func (s *pageStats) add(size, read, arenaAttrs int) {
	s.records++
	s.bytes, s.arenaAttrs = read, arenaAttrs
	s.sumSize += float64(size)
	s.sumSquares += float64(size) * float64(size)
}

// expectedRecords predicts the number of records in the next bytesLeft bytes. It rounds up and adds two standard
// deviations. If the prediction is too low, the reader must copy all records of the page.
func (s pageStats) expectedRecords(bytesLeft int) int {
	if s.records == 0 {
		return 0
	}
	n := float64(bytesLeft) / float64(s.bytes) * float64(s.records)
	if n < 0.5 { // only the bytes that close the page are left
		return 0
	}
	if s.records < minSample {
		return int(min(math.Ceil(n), minSample))
	}
	mean := s.sumSize / float64(s.records)
	deviation := math.Sqrt(max(s.sumSquares/float64(s.records)-mean*mean, 0)) / mean
	return int(min(math.Ceil(n+2*deviation*math.Sqrt(n)), maxExpected))
}

// expectedAttrs predicts the number of attributes of n records.
func (s pageStats) expectedAttrs(n int) int {
	if s.records == 0 {
		return 0
	}
	return (s.arenaAttrs*n + s.records - 1) / s.records
}

// mergedWith returns the sum of s and past if s has few records, and the records of s and past have similar mean sizes.
// Otherwise it returns s.
func (s pageStats) mergedWith(past pageStats) pageStats {
	if s.records >= enoughRecords || past.records == 0 {
		return s
	}
	if s.records > 0 {
		ratioOfMeans := s.sumSize * float64(past.records) / (past.sumSize * float64(s.records))
		if ratioOfMeans < 0.5 || ratioOfMeans > 2 {
			return s
		}
	}
	return pageStats{
		records: s.records + past.records, bytes: s.bytes + past.bytes, arenaAttrs: s.arenaAttrs + past.arenaAttrs,
		sumSize: s.sumSize + past.sumSize, sumSquares: s.sumSquares + past.sumSquares,
	}
}

// nextPast returns the past of the next page. The past of a page is the statistics of earlier pages; s is the past of
// page. If page has enough records, or if its records have other sizes than those of s, page alone is the new past.
// Otherwise the new past is the sum of s and page. If s has more than maxPast records, nextPast first halves s, so that
// older pages count less.
func (s pageStats) nextPast(page pageStats) pageStats {
	if s.records > maxPast {
		s = pageStats{
			records: s.records / 2, bytes: s.bytes / 2, arenaAttrs: s.arenaAttrs / 2,
			sumSize: s.sumSize / 2, sumSquares: s.sumSquares / 2,
		}
	}
	if page.records == 0 {
		return s
	}
	return page.mergedWith(s)
}
