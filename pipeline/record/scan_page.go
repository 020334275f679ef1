package record

import (
	"strconv"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// ScanPage is a complete answer of Scan.
type ScanPage struct {
	Page    *Page
	LastKey []byte  // JSON of LastEvaluatedKey; nil at the end of the segment
	Units   float64 // CapacityUnits of ConsumedCapacity; -1 if the answer has none
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

// DecodeScan reads an answer of Scan. The page and LastKey keep b, which the caller must not change. A body that is
// empty or incomplete, has trailing data, lacks Items or has another Count is a *FramingError. The page then has the
// items before the error. LastKey is then nil although the segment has not ended.
func (d *SnapshotDecoder) DecodeScan(b []byte) (ScanPage, error) {
	r := d.newReader(b)
	defer d.records.release(r)
	r.form = plainForm
	a := scanAnswer{ScanPage: ScanPage{Page: r.page, Units: -1}, count: -1}
	field := func(name []byte, i int) int { return r.scanField(name, i, &a) }
	err := r.answer(errScan, field, func() error {
		switch {
		case !a.hasItems:
			return errScan
		case a.count >= 0 && a.count != r.index():
			return errItemCount
		}
		return nil
	})
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

func (r *recordReader) scanField(name []byte, i int, a *scanAnswer) int {
	switch string(name) {
	case "Items":
		return r.arrayOnce(i, &a.hasItems, errItems)
	case "LastEvaluatedKey":
		return r.lastKey(i, a)
	case "Count":
		next := r.JSONNumber(i)
		if next >= 0 {
			if n, err := strconv.Atoi(ddbjson.View(r.Input[i:next])); err == nil && n >= 0 {
				a.count = n
				return next
			}
		}
		return r.Fail(i, errCount)
	case "ConsumedCapacity":
		if r.Peek(i) == '{' {
			return r.members(i, func(name []byte, i int) int { return r.capacityField(name, i, a) })
		}
	}
	return r.SkipValue(i)
}

// lastKey reads LastEvaluatedKey, an object with attributes or null.
func (r *recordReader) lastKey(i int, a *scanAnswer) int {
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
	if r.Peek(i) != '{' || r.Peek(r.Space(i+1)) != '"' {
		return r.Fail(i, errLastKey)
	}
	a.LastKey = r.Input[i:next:next]
	return next
}

// capacityField reads a field of ConsumedCapacity, {"CapacityUnits":128.5, ...}.
func (r *recordReader) capacityField(name []byte, i int, a *scanAnswer) int {
	next := r.SkipValue(i)
	if next >= 0 && string(name) == "CapacityUnits" {
		units, err := strconv.ParseFloat(ddbjson.View(r.Input[i:next]), 64)
		if err != nil || units < 0 {
			return r.Fail(i, errUnits)
		}
		a.Units = units
	}
	return next
}
