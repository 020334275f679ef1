package record

import (
	"errors"

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

// readInput reads an event, an answer, an array of records or a record at i. Like all methods that read at a position,
// it returns the position after what it read, or -1 after an error. The error is then in r.Err and r.ErrAt.
func (r *recordReader) readInput(i int) int {
	if i >= len(r.Input) {
		r.ErrAt, r.Err = i, errNothing
		return -1
	}
	if r.Input[i] == '[' {
		return r.readArray(i)
	}
	firstChange := len(r.page.Changes)
	next := r.readRecordOrEnvelope(i)
	isEnvelope := next < 0 && errors.Is(r.Err, errEnvelope)
	if !isEnvelope {
		return next
	}
	var e envelope
	next = r.readObject(i, func(name []byte, at int) int { return r.envelopeField(name, at, &e) })
	if e.shard != "" && r.o.Shard == "" {
		changes := r.page.Changes[firstChange:]
		for n := range changes {
			changes[n].Shard = e.shard
		}
	}
	return next
}

// readAnswer reads the whole input. The input is one object, the answer of a service. readAnswer calls field for each
// member, as readObject does. If the input is not an object, the error is notObject.
func (r *recordReader) readAnswer(notObject error, field func(name []byte, at int) int) error {
	start := r.SkipSpace(0)
	if start == len(r.Input) {
		return r.framingErrorAt(start, errNothing)
	}
	if r.Peek(start) != '{' {
		return r.framingErrorAt(start, notObject)
	}
	next := r.readObject(start, field)
	if next < 0 {
		return r.framingError()
	}
	if end := r.SkipSpace(next); end != len(r.Input) {
		return r.framingErrorAt(end, ddbjson.ErrTrailing)
	}
	return nil
}

// readObject reads the object at i. For each member it calls field with the position of the value. field reads the
// value, and returns the position after the value, or -1 after an error.
func (r *recordReader) readObject(i int, field func(name []byte, valueAt int) int) int {
	i = r.SkipSpace(i + 1)
	if r.Peek(i) == '}' {
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
		if e.getRecords {
			return r.iteratorField(i, e)
		}
	case "shardId":
		if r.Peek(i) == '"' {
			return r.textField(i, &e.shard)
		}
	}
	return r.SkipValue(i)
}

// iteratorField reads NextShardIterator, a text that is not empty, or null.
func (r *recordReader) iteratorField(i int, e *envelope) int {
	if e.hasIterator {
		return r.Fail(i, errDuplicateField)
	}
	e.hasIterator = true
	next := r.textField(i, &e.nextIterator)
	isEmptyText := e.nextIterator == "" && r.Peek(i) == '"'
	if next >= 0 && isEmptyText {
		return r.Fail(i, errIterator)
	}
	return next
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
	i = r.SkipSpace(i + 1)
	if r.Peek(i) == ']' {
		return i + 1
	}
	for ended := false; !ended; {
		if i = r.readRecord(i); i < 0 {
			return -1
		}
		if i, ended = r.Separator(i, ']'); i < 0 {
			return -1
		}
	}
	return i
}

// readRecord reads a record and adds it to the changes or the errors of the page. It returns -1 if the grammar is
// invalid.
func (r *recordReader) readRecord(i int) int {
	next := r.tryRecord(i)
	if next < 0 {
		return r.addInvalid(i)
	}
	return next
}

// readRecordOrEnvelope does the same as readRecord, unless the object at i is an envelope: an object with an array of
// records, such as an event. Then it adds nothing, and fails with errEnvelope.
func (r *recordReader) readRecordOrEnvelope(i int) int {
	next := r.tryRecord(i)
	if next < 0 && !errors.Is(r.Err, errEnvelope) {
		return r.addInvalid(i)
	}
	return next
}

// tryRecord reads a record and adds it to the changes of the page. It adds nothing and returns -1 if the record is
// invalid.
func (r *recordReader) tryRecord(i int) int {
	page := r.page
	r.recordAt = i
	if r.index() == 0 {
		r.firstRecordAt = i
	}
	r.Arena.BeginRecord(r.inputSize - i)
	if n := len(page.Changes); n > 0 {
		r.previous = &page.Changes[n-1]
	}
	c, emptyMaps := r.nextChange(), r.EmptyMaps
	next := r.readChange(i, c)
	if next < 0 {
		r.forgetPrevious()
		*c = Change{}
		r.EmptyMaps = emptyMaps
		return -1
	}
	page.EmptyMaps += r.EmptyMaps - emptyMaps
	r.recordAt = next
	r.addChange(c, next)
	return next
}

// nextChange returns the memory for the next change, which is zero: the element after page.Changes, or scratch if the
// page has no memory for another change.
func (r *recordReader) nextChange() *Change {
	n := len(r.page.Changes)
	if n < cap(r.page.Changes) {
		return &r.page.Changes[:n+1][n]
	}
	return &r.scratch
}

// addChange adds c, the result of nextChange, to the page. The record of c ends at next.
func (r *recordReader) addChange(c *Change, next int) {
	page, arena := r.page, &r.Arena
	arena.EndRecord(len(c.Raw), next-r.firstRecordAt, r.inputSize-next)
	if !arena.IsOpen() {
		arena.Open()
		r.moveToArena(c)
	}
	n := len(page.Changes)
	if n < cap(page.Changes) {
		page.Changes = page.Changes[:n+1] // the last element is c
		return
	}
	page.Changes = append(make([]Change, 0, n+1+arena.ExpectedRecords()), page.Changes...)
	page.Changes, r.scratch = append(page.Changes, *c), Change{}
}

// moveToArena moves the indexes and the keys of the first record into the arena. They are in scratch memory.
func (r *recordReader) moveToArena(c *Change) {
	arena := &r.Arena
	if r.keysInArena {
		c.Keys = item.Indexed(arena.KeepBytes(c.Keys.Bytes()), c.Keys.Index())
	}
	for _, image := range []*item.Image{&c.Keys, &c.Old, &c.New} {
		if image.Exists() {
			*image = item.Indexed(image.Bytes(), arena.Keep(image.Index()))
		}
	}
	c.Key = item.Key(ddbjson.View(arena.KeepBytes(ddbjson.Bytes(string(c.Key)))))
}

// readChange reads a record into c. The caller passes a zero c.
func (r *recordReader) readChange(i int, c *Change) int {
	r.pendingFields = pendingFields{}
	c.Shard = r.o.Shard
	next, isValid := 0, false
	if r.snapshot != nil {
		next = r.readLineFields(i, c)
		isValid = next >= 0 && r.completeLine(c)
	} else {
		next = r.readRecordFields(i, c)
		isValid = next >= 0 && r.completeRecord(c)
	}
	if !isValid {
		return -1
	}
	c.Raw = r.Input[i:next:next]
	c.Index = int32(r.index())
	return next
}

// completeRecord sets the fields of c that follow from other fields. It returns false if a field is missing or invalid.
func (r *recordReader) completeRecord(c *Change) bool {
	if r.seenFields.has(fieldKinesis) {
		return r.readKinesis(c) && r.validateKinesis(c)
	}
	return r.validate(c)
}

// addInvalid adds the invalid record at i to the errors of the page, and returns the position after the record. If the
// grammar is invalid, it adds nothing and returns -1.
func (r *recordReader) addInvalid(i int) int {
	next := r.SkipValue(i)
	if next < 0 {
		return -1
	}
	r.addError(i, next, r.Err)
	r.recordAt = next
	return next
}

// addError adds the record from i to end to the errors of the page.
func (r *recordReader) addError(i, end int, err error) {
	e := &RecordError{Index: r.index(), Offset: int64(i), Path: r.ErrPath, Raw: r.Input[i:end:end], Err: err,
		Snapshot: r.snapshotOptions()}
	if e.Path == "" {
		e.Path = r.pathAt(i)
	}
	r.recoverKey(i, e)
	r.page.Errors = append(r.page.Errors, e)
}

// pathAt returns the path of the error in the record at i.
func (r *recordReader) pathAt(i int) string {
	if r.snapshot != nil {
		return r.linePath(i)
	}
	return r.Locate(i, r.ErrAt, ddbjson.InRecord)
}

// index returns the index of the next record.
func (r *recordReader) index() int { return r.page.Len() }

// recoverKey sets the key and the version of e if they are valid in the record at i.
func (r *recordReader) recoverKey(i int, e *RecordError) {
	// The page gets the error that was found before, and counts no {} of an invalid record.
	err, errAt, emptyMaps := r.Err, r.ErrAt, r.EmptyMaps
	defer func() { r.Err, r.ErrAt, r.EmptyMaps, r.skipInvalidFields = err, errAt, emptyMaps, false }()
	if !r.Arena.IsOpen() {
		r.Arena.OpenEmpty()
	}
	var c Change
	r.skipInvalidFields, r.pendingFields = true, pendingFields{}
	if r.snapshot != nil {
		r.recoverLine(i, &c)
	} else {
		r.readRecordFields(i, &c)
	}
	r.forgetPrevious()
	r.recoverVersion(&c)
	if c.Keys.Exists() && (c.Table != "" || !r.o.TableInKey) {
		r.setKey(&c)
	}
	e.Key, e.Sequence, e.Version = c.Key, c.Sequence, c.Version
	if e.Key != "" {
		e.Keys = c.Keys
	}
}

// recoverVersion sets the stream and the version of c if its fields have them.
func (r *recordReader) recoverVersion(c *Change) {
	if r.snapshot != nil {
		r.setLineVersion(c)
		return
	}
	if !r.seenFields.has(fieldKinesis) {
		r.setStream(c)
		return
	}
	pageBytes := r.page.Bytes
	r.readKinesis(c)
	r.page.Bytes = pageBytes
	if us, err := r.microseconds(); err == nil && c.Sequence != "" {
		c.Version = kinesisVersion(uint64(us), c.Sequence)
	}
}

func (r *recordReader) framingError() error { return r.framingErrorAt(r.ErrAt, r.Err) }

func (r *recordReader) framingErrorAt(i int, err error) error {
	return &FramingError{Offset: int64(i), Index: r.index(), Err: err}
}
