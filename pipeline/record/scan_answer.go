package record

import (
	"strconv"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// ScanPage is a complete answer of Scan.
type ScanPage struct {
	Page          *Page
	LastKey       []byte  // JSON of LastEvaluatedKey; nil at the end of the scan's segment
	CapacityUnits float64 // CapacityUnits of ConsumedCapacity; -1 if the answer has none
}

// The errors of an answer of Scan.
var (
	errScan      = errs.New("no Scan answer: an object with Items")
	errItems     = errs.New("Items is no array")
	errLastKey   = errs.New("LastEvaluatedKey is no key")
	errCount     = errs.New("want a number of items")
	errUnits     = errs.New("want a number of capacity units")
	errItemCount = errs.New("the answer has another number of items than its Count")
)

// DecodeScan reads an answer of Scan. The page and LastKey keep b, which the caller must not change. The error is a
// *FramingError if the body is empty or incomplete, or has trailing data. It is also a *FramingError if the body lacks
// Items, or if Count is not the number of items. The page then has the items before the error. LastKey is then nil,
// too, although the segment has not ended.
func (d *SnapshotDecoder) DecodeScan(b []byte) (ScanPage, error) {
	r := d.newReader(b)
	defer d.decoder.release(r)
	r.form = bareItemForm
	a := scanAnswer{ScanPage: ScanPage{Page: r.page, CapacityUnits: -1}, count: -1}
	err := r.readAnswer(errScan, func(name []byte, i int) int { return r.readScanField(name, i, &a) })
	switch {
	case err != nil:
	case !a.hasItems:
		err = r.framingErrorAt(r.SkipSpace(0), errScan)
	case a.count >= 0 && a.count != r.index():
		err = r.framingErrorAt(r.SkipSpace(0), errItemCount)
	}
	if err != nil {
		return ScanPage{Page: r.page}, err
	}
	return a.ScanPage, nil
}

// scanAnswer is an answer that is being read.
type scanAnswer struct {
	ScanPage
	hasItems bool
	count    int // Count; -1 if there is none
}

func (r *recordReader) readScanField(name []byte, i int, a *scanAnswer) int {
	switch string(name) {
	case "Items":
		return r.arrayOnce(i, &a.hasItems, errItems)
	case "LastEvaluatedKey":
		return r.readLastKey(i, a)
	case "Count":
		return r.readCount(i, a)
	case "ConsumedCapacity":
		if r.Peek(i) == '{' {
			return r.readObject(i, func(name []byte, i int) int { return r.readCapacityField(name, i, a) })
		}
	}
	return r.SkipValue(i)
}

// readCount reads Count.
func (r *recordReader) readCount(i int, a *scanAnswer) int {
	next := r.JSONNumber(i)
	if next < 0 {
		return r.Fail(i, errCount)
	}
	count, err := strconv.Atoi(ddbjson.View(r.Input[i:next]))
	if err != nil || count < 0 {
		return r.Fail(i, errCount)
	}
	a.count = count
	return next
}

// readLastKey reads LastEvaluatedKey, an object with attributes or null.
func (r *recordReader) readLastKey(i int, a *scanAnswer) int {
	if a.LastKey != nil {
		return r.Fail(i, errDuplicateField)
	}
	if r.Peek(i) == 'n' {
		return r.Word(i, "null")
	}
	next := r.SkipValue(i)
	if next < 0 {
		return -1
	}
	hasMembers := r.Peek(i) == '{' && r.Peek(r.SkipSpace(i+1)) == '"'
	if !hasMembers {
		return r.Fail(i, errLastKey)
	}
	a.LastKey = r.Input[i:next:next]
	return next
}

// readCapacityField reads a field of ConsumedCapacity, {"CapacityUnits":128.5, ...}.
func (r *recordReader) readCapacityField(name []byte, i int, a *scanAnswer) int {
	next := r.SkipValue(i)
	if next >= 0 && string(name) == "CapacityUnits" {
		units, err := strconv.ParseFloat(ddbjson.View(r.Input[i:next]), 64)
		if err != nil || units < 0 {
			return r.Fail(i, errUnits)
		}
		a.CapacityUnits = units
	}
	return next
}
