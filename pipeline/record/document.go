package record

import (
	"errors"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// envelope is what stands beside the records of an event or an answer.
type envelope struct {
	records  bool
	next     string // NextShardIterator
	hasNext  bool   // it stands there, be it null
	shard    string // of a Lambda event with a tumbling window
	anything bool   // NextShardIterator counts: the document is an answer
}

// document reads an event, an answer, an array of records or a record.
func (r *recordReader) document(i int) int {
	switch {
	case i >= len(r.B):
		r.At, r.Err = i, errNothing
		return -1
	case r.B[i] == '[':
		return r.array(i)
	}
	first := len(r.page.Changes)
	next := r.one(i, true)
	if next < 0 && errors.Is(r.Err, errEnvelope) {
		var e envelope
		next = r.envelope(i, &e)
		if e.shard != "" && r.o.Shard == "" {
			for n := range r.page.Changes[first:] {
				r.page.Changes[first+n].Shard = e.shard
			}
		}
	}
	return next
}

// envelope reads {"Records":[...], ...}.
func (r *recordReader) envelope(i int, e *envelope) int {
	if r.Peek(i) != '{' {
		return r.Fail(i, errObject)
	}
	if i = r.Space(i + 1); r.Peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		name, at := r.Field(i)
		if at < 0 {
			return -1
		}
		next := r.envelopeField(name, at, e)
		if next < 0 {
			return -1
		}
		if i, done = r.Separator(next, '}'); i < 0 {
			return -1
		}
	}
	return i
}

func (r *recordReader) envelopeField(name []byte, i int, e *envelope) int {
	switch string(name) {
	case "Records":
		if e.records {
			return r.Fail(i, errFieldTwo)
		}
		e.records = true
		if r.Peek(i) != '[' {
			return r.Fail(i, errRecords)
		}
		return r.array(i)
	case "NextShardIterator":
		if !e.anything {
			break
		}
		if e.hasNext {
			return r.Fail(i, errFieldTwo)
		}
		e.hasNext = true
		next := r.textField(i, &e.next)
		if next >= 0 && e.next == "" && r.Peek(i) == '"' {
			return r.Fail(i, errIterator)
		}
		return next
	case "shardId":
		if r.Peek(i) == '"' {
			return r.textField(i, &e.shard)
		}
	}
	return r.Ignore(i)
}

// array reads records.
func (r *recordReader) array(i int) int {
	if i = r.Space(i + 1); r.Peek(i) == ']' {
		return i + 1
	}
	for done := false; !done; {
		if i = r.one(i, false); i < 0 {
			return -1
		}
		if i, done = r.Separator(i, ']'); i < 0 {
			return -1
		}
	}
	return i
}

// one reads a record into the page: among its changes, or among its errors. Where
// an envelope may stand as well, it fails with errEnvelope when there is one.
func (r *recordReader) one(i int, orEnvelope bool) int {
	p := r.page
	if r.current = i; r.index() == 0 {
		r.start = i
	}
	r.Slab.Begin(r.size - i)
	n := len(p.Changes)
	c := &r.spare
	if n < cap(p.Changes) {
		c = &p.Changes[:n+1][n]
	}
	if n > 0 {
		r.before = &p.Changes[n-1]
	}
	sawEmpty := r.SawEmpty
	if next := r.read(i, c); next >= 0 {
		p.EmptyMaps += r.SawEmpty - sawEmpty
		r.current = next
		r.keep(c, next)
		return next
	}
	r.forget()
	*c = Change{}
	r.SawEmpty = sawEmpty
	if orEnvelope && errors.Is(r.Err, errEnvelope) {
		return -1
	}
	return r.reject(i)
}

// keep makes c, which is read up to next, the page's.
func (r *recordReader) keep(c *Change, next int) {
	p, s := r.page, &r.Slab
	s.Left = r.size - next
	s.Now.Read(len(c.Raw), next-r.start, s.Kept)
	if !s.Opened {
		s.Open(s.Kept)
		for _, m := range []*item.Image{&c.Keys, &c.Old, &c.New} {
			if m.Exists() {
				*m = item.Indexed(m.Bytes(), s.Keep(m.Index()))
			}
		}
		c.Key = item.Key(s.KeepKey(unsafe.Slice(unsafe.StringData(string(c.Key)), len(c.Key))))
	}
	n := len(p.Changes)
	if n == cap(p.Changes) {
		p.Changes = append(make([]Change, 0, n+1+s.More()), p.Changes...)
		p.Changes, r.spare = append(p.Changes, *c), Change{}
		return
	}
	p.Changes = p.Changes[:n+1]
}

// read reads a record into c, which is zero.
func (r *recordReader) read(i int, c *Change) int {
	r.record = record{}
	c.Shard = r.o.Shard
	next := r.fields(i, c)
	if next < 0 {
		return -1
	}
	ok := false
	if r.seen.has(fieldKinesis) {
		ok = r.fromKinesis(c) && r.completeKinesis(c)
	} else {
		ok = r.complete(c)
	}
	if !ok {
		return -1
	}
	c.Raw = r.B[i:next:next]
	c.Index = int32(r.index())
	return next
}

// reject finds out what an unsound record is: an error of its own, or the end of
// what can be read.
func (r *recordReader) reject(i int) int {
	e := &RecordError{Index: r.index(), Offset: int64(i), Err: r.Err, Path: r.Path}
	if r.Path == "" {
		e.Path = r.LocateFrom(i, r.At, ddbjson.InRecord)
	}
	next := r.Ignore(i)
	if next < 0 {
		return -1
	}
	e.Raw = r.B[i:next:next]
	r.rescue(i, e)
	r.page.Errors = append(r.page.Errors, e)
	r.current = next
	return next
}

// index is that of the next record.
func (r *recordReader) index() int { return len(r.page.Changes) + len(r.page.Errors) }

// rescue reads of an unsound record what is sound of its key and version.
func (r *recordReader) rescue(i int, e *RecordError) {
	err, at, sawEmpty := r.Err, r.At, r.SawEmpty
	defer func() { r.Err, r.At, r.SawEmpty, r.salvage = err, at, sawEmpty, false }()
	if !r.Slab.Opened {
		r.Slab.Open(0)
	}
	var c Change
	r.salvage, r.record = true, record{}
	r.fields(i, &c)
	r.forget()
	if r.seen.has(fieldKinesis) {
		bytes := r.page.Bytes
		r.fromKinesis(&c)
		r.page.Bytes = bytes
		if us, err := r.microseconds(); err == nil && c.Sequence != "" {
			c.Version = kinesisVersion(uint64(us), c.Sequence)
		}
	} else {
		r.origins(&c)
	}
	if c.Keys.Exists() && (c.Table != "" || !r.o.TableInKey) {
		r.key(&c)
	}
	e.Key, e.Sequence, e.Version = c.Key, c.Sequence, c.Version
	if e.Key != "" {
		e.Keys = c.Keys
	}
}

func (r *recordReader) framingError() error {
	return &FramingError{Offset: int64(r.At), Index: r.index(), Err: r.Err}
}
