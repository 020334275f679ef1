package record

import (
	"iter"
	"slices"
	"strings"
)

// Page has the records of one input, in order.
type Page struct {
	Changes    []Change
	Errors     []*RecordError // records that could not be decoded; Index orders errors and changes
	Duplicates int            // number of repeated records, which Changes and Errors leave out
	Bytes      int            // bytes of the input, which the changes keep in memory
	EmptyMaps  int            // {} that were accepted as the empty map (DecoderOptions.DynamoDBLocal)
}

// PageRecord is one record of a page.
type PageRecord struct {
	Index    int    // index of the record in the input, 0-based
	Sequence string // "" if it could not be decoded
	Raw      []byte
	Change   *Change // nil if the record could not be decoded
}

// Records yields the records of a page in the order of their indexes, also those that could not be decoded. If the
// changes are in another order, they keep it.
func (p *Page) Records() iter.Seq[PageRecord] {
	return func(yield func(PageRecord) bool) {
		changes, errors := p.Changes, p.Errors
		for len(changes)+len(errors) > 0 {
			var next PageRecord
			errorIsNext := len(changes) == 0 || len(errors) > 0 && errors[0].Index < int(changes[0].Index)
			if errorIsNext {
				next = PageRecord{Index: errors[0].Index, Sequence: errors[0].Sequence, Raw: errors[0].Raw}
				errors = errors[1:]
			} else {
				c := &changes[0]
				next = PageRecord{Index: int(c.Index), Sequence: c.Sequence, Raw: c.Raw, Change: c}
				changes = changes[1:]
			}
			if !yield(next) {
				return
			}
		}
	}
}

// Len returns the number of records of a page, without the repeated ones.
func (p *Page) Len() int { return len(p.Changes) + len(p.Errors) }

// FirstSequence returns the sequence number of the first record that has one, or "". The string is a copy, because a
// string of a page keeps the whole page in memory.
func (p *Page) FirstSequence() string {
	for r := range p.Records() {
		if r.Sequence != "" {
			return strings.Clone(r.Sequence)
		}
	}
	return ""
}

// LastSequence returns the sequence number of the last record that has one, like FirstSequence.
func (p *Page) LastSequence() string {
	changes, errors := p.Changes, p.Errors
	for len(changes)+len(errors) > 0 {
		var last string
		c, e := len(changes)-1, len(errors)-1
		errorIsLast := c < 0 || e >= 0 && errors[e].Index > int(changes[c].Index)
		if errorIsLast {
			last, errors = errors[e].Sequence, errors[:e]
		} else {
			last, changes = changes[c].Sequence, changes[:c]
		}
		if last != "" {
			return strings.Clone(last)
		}
	}
	return ""
}

// DropSequences removes the records whose sequence numbers drop selects, and returns their number.
func (p *Page) DropSequences(drop func(sequence string) bool) (dropped int) {
	before := p.Len()
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool { return drop(c.Sequence) })
	p.Errors = slices.DeleteFunc(p.Errors, func(e *RecordError) bool { return drop(e.Sequence) })
	return before - p.Len()
}

// OneChange returns the only change of a page. It returns err if err is not nil, and the error of the record if the
// record could not be decoded.
func OneChange(page *Page, err error) (Change, error) {
	switch {
	case err != nil:
		return Change{}, err
	case len(page.Errors) > 0:
		return Change{}, page.Errors[0]
	case len(page.Changes) != 1:
		return Change{}, errs.New("an item makes more or less than one change")
	}
	return page.Changes[0], nil
}
