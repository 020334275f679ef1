package record

import "strings"

// GetRecordsPage is a complete GetRecords answer.
type GetRecordsPage struct {
	Page         *Page
	NextIterator string // "" if the shard has ended
	Ended        bool   // NextShardIterator is null or absent in a complete, valid answer
}

var (
	errAnswer   = errs.New("no GetRecords answer: an object with Records and NextShardIterator")
	errIterator = errs.New("NextShardIterator is an empty text")
)

// DecodeGetRecords reads a GetRecords answer: an object with an array of Records and a NextShardIterator, which is null
// or absent if the shard has ended. The page keeps b, which the caller must not change. If the body is empty or
// incomplete, has trailing data or lacks Records, the error is a *FramingError. The result then has a page with the
// records before the error, and Ended is false.
func (d *Decoder) DecodeGetRecords(b []byte) (GetRecordsPage, error) {
	r := d.newReader(b)
	defer d.release(r)
	e := envelope{getRecords: true}
	err := r.readAnswer(errObject, func(name []byte, i int) int { return r.envelopeField(name, i, &e) })
	if err == nil && !e.hasRecords {
		err = r.framingErrorAt(r.SkipSpace(0), errAnswer)
	}
	if err != nil {
		return GetRecordsPage{Page: r.page}, err
	}
	return GetRecordsPage{Page: r.page, NextIterator: strings.Clone(e.nextIterator), Ended: e.nextIterator == ""}, nil
}
