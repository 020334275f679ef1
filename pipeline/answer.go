package pipeline

import (
	"strings"
)

// Answer is a whole GetRecords answer.
type Answer struct {
	Page         *DecodedPage
	NextIterator string // "" when the shard has ended
	Ended        bool   // NextShardIterator is null or absent in a complete, valid answer
}

var (
	errAnswer   = errs.New("no GetRecords answer: an object with Records and NextShardIterator")
	errIterator = errs.New("NextShardIterator is an empty text")
)

// DecodeAnswer reads a GetRecords answer: an object with an array of Records, and
// a NextShardIterator that is null or absent when the shard has ended. It takes b over.
// An empty, cut or trailing-garbage body is a *FramingError, and never Ended; so is
// an object without Records. The page holds what came whole before.
func (d *Decoder) DecodeAnswer(b []byte) (Answer, error) {
	r := d.reader(b)
	defer d.release(r)
	e := envelope{anything: true}
	start := r.space(0)
	i := r.envelope(start, &e)
	if i >= 0 {
		switch i = r.space(i); {
		case i != len(b):
			i = r.fail(i, errTrailing)
		case !e.records:
			r.at, r.err, i = start, errAnswer, -1
		}
	} else if start == len(b) {
		r.at, r.err = start, errNothing
	}
	if i < 0 {
		return Answer{Page: r.page}, r.framingError()
	}
	return Answer{Page: r.page, NextIterator: strings.Clone(e.next), Ended: e.next == ""}, nil
}
