package record

import (
	"errors"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// envelope has the fields of an event or of a GetRecords answer, without its records.
type envelope struct {
	getRecords   bool   // the input is a GetRecords answer, so NextShardIterator is read; set by the caller
	hasRecords   bool   // there is a field Records
	hasIterator  bool   // there is a field NextShardIterator, null or not
	nextIterator string // NextShardIterator
	shard        string // shardId of a Lambda event with a tumbling window
}

// document reads an event, an answer, an array of records or a record at i. Like all methods that read at a position,
// it returns the position after what it read, or -1 after an error. The error is then in r.Err and r.ErrAt.
func (r *recordReader) document(i int) int {
	switch {
	case i >= len(r.Input):
		r.ErrAt, r.Err = i, errNothing
		return -1
	case r.Input[i] == '[':
		return r.readArray(i)
	}
	first := len(r.page.Changes)
	next := r.readRecord(i, true)
	if next < 0 && errors.Is(r.Err, errEnvelope) {
		var e envelope
		next = r.readEnvelope(i, &e)
		if e.shard != "" && r.o.Shard == "" {
			for n := range r.page.Changes[first:] {
				r.page.Changes[first+n].Shard = e.shard
			}
		}
	}
	return next
}

// readEnvelope reads {"Records":[...], ...}.
func (r *recordReader) readEnvelope(i int, e *envelope) int {
	if r.Peek(i) != '{' {
		return r.Fail(i, errObject)
	}
	return r.readObject(i, func(name []byte, at int) int { return r.envelopeField(name, at, e) })
}

// readAnswer reads the whole input. The input is one object, the answer of a service. readAnswer calls field for each
// member, as readObject does. Then it calls check, which returns an error if the fields do not fit together. If the
// input is not an object, the error is notObject.
func (r *recordReader) readAnswer(notObject error, field func(name []byte, at int) int, check func() error) error {
	i, start := -1, r.SkipSpace(0)
	switch {
	case start == len(r.Input):
		r.ErrAt, r.Err = start, errNothing
	case r.Peek(start) != '{':
		r.Fail(start, notObject)
	default:
		i = r.readObject(start, field)
	}
	if i < 0 {
		return r.framingError()
	}
	if i = r.SkipSpace(i); i != len(r.Input) {
		r.Fail(i, ddbjson.ErrTrailing)
		return r.framingError()
	}
	if err := check(); err != nil {
		r.ErrAt, r.Err = start, err
		return r.framingError()
	}
	return nil
}

// readObject reads the object at i. For each member it calls field with the position of the value. field reads the
// value, and returns the position after the value, or -1 after an error.
func (r *recordReader) readObject(i int, field func(name []byte, valueAt int) int) int {
	if i = r.SkipSpace(i + 1); r.Peek(i) == '}' {
		return i + 1
	}
	for ended := false; !ended; {
		name, valueAt := r.Field(i)
		if valueAt < 0 {
			return -1
		}
		next := field(name, valueAt)
		if next < 0 {
			return -1
		}
		if i, ended = r.Separator(next, '}'); i < 0 {
			return -1
		}
	}
	return i
}

func (r *recordReader) envelopeField(name []byte, i int, e *envelope) int {
	switch string(name) {
	case "Records":
		return r.arrayOnce(i, &e.hasRecords, errRecords)
	case "NextShardIterator":
		if !e.getRecords {
			break
		}
		if e.hasIterator {
			return r.Fail(i, errDuplicateField)
		}
		e.hasIterator = true
		next := r.textField(i, &e.nextIterator)
		if next >= 0 && e.nextIterator == "" && r.Peek(i) == '"' {
			return r.Fail(i, errIterator)
		}
		return next
	case "shardId":
		if r.Peek(i) == '"' {
			return r.textField(i, &e.shard)
		}
	}
	return r.SkipValue(i)
}

// arrayOnce reads the array of records at i and sets found. It fails if found is already set, because an object has
// only one array of records. If the value is not an array, it fails with notArray.
func (r *recordReader) arrayOnce(i int, found *bool, notArray error) int {
	if *found {
		return r.Fail(i, errDuplicateField)
	}
	*found = true
	if r.Peek(i) != '[' {
		return r.Fail(i, notArray)
	}
	return r.readArray(i)
}

// readArray reads an array of records.
func (r *recordReader) readArray(i int) int {
	if i = r.SkipSpace(i + 1); r.Peek(i) == ']' {
		return i + 1
	}
	for ended := false; !ended; {
		if i = r.readRecord(i, false); i < 0 {
			return -1
		}
		if i, ended = r.Separator(i, ']'); i < 0 {
			return -1
		}
	}
	return i
}

// readRecord reads a record and adds it to the changes or the errors of the page. An envelope is an object with an
// array of records, such as an event. If mayBeEnvelope is set and the object is an envelope, readRecord fails with
// errEnvelope.
func (r *recordReader) readRecord(i int, mayBeEnvelope bool) int {
	p := r.page
	if r.recordStart = i; r.index() == 0 {
		r.start = i
	}
	r.Arena.BeginRecord(r.size - i)
	n := len(p.Changes)
	c := &r.scratch
	if n < cap(p.Changes) {
		c = &p.Changes[:n+1][n]
	}
	if n > 0 {
		r.previous = &p.Changes[n-1]
	}
	emptyMaps := r.EmptyMaps
	if next := r.readChange(i, c); next >= 0 {
		p.EmptyMaps += r.EmptyMaps - emptyMaps
		r.recordStart = next
		r.addChange(c, next)
		return next
	}
	r.forgetPrevious()
	*c = Change{}
	r.EmptyMaps = emptyMaps
	if mayBeEnvelope && errors.Is(r.Err, errEnvelope) {
		return -1
	}
	return r.addInvalid(i)
}

// addChange adds c to the page. The record of c ends at next. c is the next free element of page.Changes, or r.scratch
// if there is none.
func (r *recordReader) addChange(c *Change, next int) {
	p, arena := r.page, &r.Arena
	arena.EndRecord(len(c.Raw), next-r.start, r.size-next)
	if !arena.IsOpen() { // the first record is in scratch memory, and moves into the arena
		arena.Open()
		if r.keysInArena {
			c.Keys = item.Indexed(arena.KeepBytes(c.Keys.Bytes()), c.Keys.Index())
		}
		for _, m := range []*item.Image{&c.Keys, &c.Old, &c.New} {
			if m.Exists() {
				*m = item.Indexed(m.Bytes(), arena.Keep(m.Index()))
			}
		}
		c.Key = item.Key(arena.KeepKey(unsafe.Slice(unsafe.StringData(string(c.Key)), len(c.Key))))
	}
	n := len(p.Changes)
	if n == cap(p.Changes) {
		p.Changes = append(make([]Change, 0, n+1+arena.ExpectedRecords()), p.Changes...)
		p.Changes, r.scratch = append(p.Changes, *c), Change{}
		return
	}
	p.Changes = p.Changes[:n+1]
}

// readChange reads a record into c. The caller passes a zero c.
func (r *recordReader) readChange(i int, c *Change) int {
	r.rawRecord = rawRecord{}
	c.Shard = r.o.Shard
	next, ok := 0, false
	switch {
	case r.snapshot != nil:
		next = r.readLineFields(i, c)
		ok = next >= 0 && r.completeLine(c)
	default:
		if next = r.fields(i, c); next < 0 {
			return -1
		}
		if r.seenFields.has(fieldKinesis) {
			ok = r.readKinesis(c) && r.validateKinesis(c)
		} else {
			ok = r.validate(c)
		}
	}
	if !ok {
		return -1
	}
	c.Raw = r.Input[i:next:next]
	c.Index = int32(r.index())
	return next
}

// addInvalid adds the invalid record at i to the errors of the page, and returns the position after the record. If the
// grammar is invalid, it adds nothing and returns -1.
func (r *recordReader) addInvalid(i int) int {
	e := &RecordError{Index: r.index(), Offset: int64(i), Err: r.Err, Path: r.ErrPath, Snapshot: r.snapshotOptions()}
	if r.ErrPath == "" {
		e.Path = r.pathAt(i)
	}
	next := r.SkipValue(i)
	if next < 0 {
		return -1
	}
	e.Raw = r.Input[i:next:next]
	r.recoverKey(i, e)
	r.page.Errors = append(r.page.Errors, e)
	r.recordStart = next
	return next
}

// pathAt returns the path of the error in the record at i.
func (r *recordReader) pathAt(i int) string {
	if r.snapshot != nil {
		return r.linePath(i)
	}
	return r.Locate(i, r.ErrAt, ddbjson.InRecord)
}

// index returns the index of the next record.
func (r *recordReader) index() int { return len(r.page.Changes) + len(r.page.Errors) }

// recoverKey sets the key and the version of e if they are valid in the record at i.
func (r *recordReader) recoverKey(i int, e *RecordError) {
	err, at, emptyMaps := r.Err, r.ErrAt, r.EmptyMaps
	defer func() { r.Err, r.ErrAt, r.EmptyMaps, r.skipInvalidFields = err, at, emptyMaps, false }()
	if !r.Arena.IsOpen() {
		r.Arena.OpenEmpty()
	}
	var c Change
	r.skipInvalidFields, r.rawRecord = true, rawRecord{}
	if r.snapshot != nil {
		r.recoverLine(i, &c)
	} else {
		r.fields(i, &c)
	}
	r.forgetPrevious()
	switch {
	case r.snapshot != nil:
		r.setLineVersion(&c)
	case r.seenFields.has(fieldKinesis):
		bytes := r.page.Bytes
		r.readKinesis(&c)
		r.page.Bytes = bytes
		if us, err := r.microseconds(); err == nil && c.Sequence != "" {
			c.Version = kinesisVersion(uint64(us), c.Sequence)
		}
	default:
		r.setStream(&c)
	}
	if c.Keys.Exists() && (c.Table != "" || !r.o.TableInKey) {
		r.setKey(&c)
	}
	e.Key, e.Sequence, e.Version = c.Key, c.Sequence, c.Version
	if e.Key != "" {
		e.Keys = c.Keys
	}
}

func (r *recordReader) framingError() error {
	return &FramingError{Offset: int64(r.ErrAt), Index: r.index(), Err: r.Err}
}
