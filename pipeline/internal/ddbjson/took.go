package ddbjson

import "math"

// took is what records took, for a guess of what is still to come.
type took struct {
	records int
	bytes   int // with what stands between them
	kept    int // see attrSlab

	sizes, squares float64 // sums of the records' lengths, in bytes, and of their squares
}

const (
	fewRecords  = 4       // from so many on a guess is more than a hope
	someRecords = 32      // from so many on those of a page speak for it
	longRecord  = 128     // of the past so many count, or one page
	mostGuessed = 1 << 16 // records
)

// Read notes a record of so many bytes, by which the page is Read up to so many behind its first.
func (t *took) Read(size, upTo, kept int) {
	t.records++
	t.bytes, t.kept = upTo, kept
	t.sizes += float64(size)
	t.squares += float64(size) * float64(size)
}

// more is how many records are likely to come in what is left of a page: rather one too many
// than all of them moved.
func (t took) more(left int) int {
	if t.records == 0 {
		return 0
	}
	n := float64(left) / float64(t.bytes) * float64(t.records)
	if n < 0.5 { // what closes the page
		return 0
	}
	if t.records < fewRecords {
		return int(min(math.Ceil(n), fewRecords))
	}
	mean := t.sizes / float64(t.records)
	spread := math.Sqrt(max(t.squares/float64(t.records)-mean*mean, 0)) / mean
	return int(min(math.Ceil(n+2*spread*math.Sqrt(n)), mostGuessed))
}

// attrs is what n records are likely to keep.
func (t took) attrs(n int) int {
	if t.records == 0 {
		return 0
	}
	return (t.kept*n + t.records - 1) / t.records
}

// with is t and what the pages before took, where their records resemble those of this page.
func (t took) with(past took) took {
	if t.records >= someRecords || past.records == 0 {
		return t
	}
	if ratio := t.sizes * float64(past.records) / (past.sizes * float64(max(t.records, 1))); t.records > 0 && (ratio < 0.5 || ratio > 2) {
		return t
	}
	return took{t.records + past.records, t.bytes + past.bytes, t.kept + past.kept, t.sizes + past.sizes, t.squares + past.squares}
}

// then is the past behind a page: t was the one before it.
func (t took) then(page took) took {
	if t.records > longRecord {
		t = took{t.records / 2, t.bytes / 2, t.kept / 2, t.sizes / 2, t.squares / 2}
	}
	if page.records == 0 {
		return t
	}
	return page.with(t)
}
