package record

import (
	"strconv"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// ScanPage is a complete answer of Scan.
type ScanPage struct {
	Page    *Page
	LastKey []byte  // JSON of LastEvaluatedKey; nil at the end of the segment
	Count   int     // items of the answer
	Scanned int     // items that were read, before the filter
	Units   float64 // CapacityUnits of ConsumedCapacity; 0 if the answer has none
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

// DecodeScan reads an answer of Scan. The page and LastKey keep b, which the caller must not change. An empty or
// incomplete body is a *FramingError, as is a body with trailing data, without Items, or with another Count: LastKey is
// then nil, and the segment has not ended. The page then has the items before the error.
func (d *SnapshotDecoder) DecodeScan(b []byte) (ScanPage, error) {
	r := d.newReader(b)
	defer d.d.release(r)
	r.form = plainForm
	a := scanAnswer{ScanPage: ScanPage{Page: r.page}, count: -1}
	start := r.Space(0)
	i := r.scanAnswer(start, &a)
	if i >= 0 {
		switch i = r.Space(i); {
		case i != len(b):
			i = r.Fail(i, ddbjson.ErrTrailing)
		case !a.hasItems:
			r.ErrAt, r.Err, i = start, errScan, -1
		case a.count >= 0 && a.count != r.index():
			r.ErrAt, r.Err, i = start, errItemCount, -1
		}
	} else if start == len(b) {
		r.ErrAt, r.Err = start, errNothing
	}
	if i < 0 {
		return ScanPage{Page: r.page}, r.framingError()
	}
	a.Count = r.index()
	a.Scanned = max(a.Scanned, a.Count)
	return a.ScanPage, nil
}

// scanAnswer is an answer that is being read.
type scanAnswer struct {
	ScanPage
	hasItems bool
	count    int // Count; -1 if there is none
}

// scanAnswer reads {"Items":[...], ...}.
func (r *recordReader) scanAnswer(i int, a *scanAnswer) int {
	if r.Peek(i) != '{' {
		return r.Fail(i, errScan)
	}
	if i = r.Space(i + 1); r.Peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		name, at := r.Field(i)
		if at < 0 {
			return -1
		}
		next := r.scanField(name, at, a)
		if next < 0 {
			return -1
		}
		if i, done = r.Separator(next, '}'); i < 0 {
			return -1
		}
	}
	return i
}

func (r *recordReader) scanField(name []byte, i int, a *scanAnswer) int {
	switch string(name) {
	case "Items":
		if a.hasItems {
			return r.Fail(i, errFieldTwo)
		}
		a.hasItems = true
		if r.Peek(i) != '[' {
			return r.Fail(i, errItems)
		}
		return r.array(i)
	case "LastEvaluatedKey":
		return r.lastKey(i, a)
	case "Count":
		return r.itemCount(i, &a.count)
	case "ScannedCount":
		return r.itemCount(i, &a.Scanned)
	case "ConsumedCapacity":
		return r.consumedCapacity(i, a)
	}
	return r.SkipValue(i)
}

// lastKey reads LastEvaluatedKey, an object with attributes or null.
func (r *recordReader) lastKey(i int, a *scanAnswer) int {
	if a.LastKey != nil {
		return r.Fail(i, errFieldTwo)
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

func (r *recordReader) itemCount(i int, to *int) int {
	next := r.JSONNumber(i)
	if next < 0 {
		return r.Fail(i, errCount)
	}
	n, err := strconv.Atoi(ddbjson.View(r.Input[i:next]))
	if err != nil || n < 0 {
		return r.Fail(i, errCount)
	}
	*to = n
	return next
}

// consumedCapacity reads {"CapacityUnits":128.5, ...}, or null.
func (r *recordReader) consumedCapacity(i int, a *scanAnswer) int {
	if r.Peek(i) != '{' {
		return r.SkipValue(i)
	}
	if i = r.Space(i + 1); r.Peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		name, at := r.Field(i)
		if at < 0 {
			return -1
		}
		next := r.SkipValue(at)
		if next < 0 {
			return -1
		}
		if string(name) == "CapacityUnits" {
			units, err := strconv.ParseFloat(ddbjson.View(r.Input[at:next]), 64)
			if err != nil || units < 0 {
				return r.Fail(at, errUnits)
			}
			a.Units = units
		}
		if i, done = r.Separator(next, '}'); i < 0 {
			return -1
		}
	}
	return i
}
