package record

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// GetRecordsPage is a whole GetRecords answer.
type GetRecordsPage struct {
	Page         *Page
	NextIterator string // "" when the shard has ended
	Ended        bool   // NextShardIterator is null or absent in a complete, valid answer
}

var (
	errAnswer   = errs.New("no GetRecords answer: an object with Records and NextShardIterator")
	errIterator = errs.New("NextShardIterator is an empty text")
)

// DecodeGetRecords reads a GetRecords answer: an object with an array of Records, and
// a NextShardIterator that is null or absent when the shard has ended. It takes b over.
// An empty, cut or trailing-garbage body is a *FramingError, and never Ended; so is
// an object without Records. The page holds what came whole before.
func (d *Decoder) DecodeGetRecords(b []byte) (GetRecordsPage, error) {
	r := d.reader(b)
	defer d.release(r)
	e := envelope{anything: true}
	start := r.Space(0)
	i := r.envelope(start, &e)
	if i >= 0 {
		switch i = r.Space(i); {
		case i != len(b):
			i = r.Fail(i, ddbjson.ErrTrailing)
		case !e.records:
			r.At, r.Err, i = start, errAnswer, -1
		}
	} else if start == len(b) {
		r.At, r.Err = start, errNothing
	}
	if i < 0 {
		return GetRecordsPage{Page: r.page}, r.framingError()
	}
	return GetRecordsPage{Page: r.page, NextIterator: strings.Clone(e.next), Ended: e.next == ""}, nil
}
