package replay

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/tablewake/tablewake/pipeline/record"
)

// StreamError ends a replay of records of which only some name their stream: a version
// without a stream counts as older than any with one, so changes would be lost.
type StreamError struct {
	Unnamed string // place of a record that names no stream
	Named   string // place of one that does
}

// Error names both places, and what to do.
func (e *StreamError) Error() string {
	return fmt.Sprintf("%s: the record does not name its stream, and that at %s does: nobody can tell which is newer; name the stream with --stream-arn", e.Unnamed, e.Named)
}

// Redacted is Error without the places: names of an archive's objects hold values.
func (e *StreamError) Redacted() string {
	return "a record does not name its stream, and another one does: nobody can tell which is newer; name the stream with --stream-arn"
}

// Describe is the class of what is wrong with the input.
func (e *StreamError) Describe() (class, field string) { return string(errs), "" }

// streams is what records say of their streams. Pages are decoded by several goroutines.
type streams struct {
	mu             sync.Mutex
	unnamed, named string // places of the first of each
}

// check fails where only some of the records that were read name their stream.
func (s *streams) check(p *record.Page, place func(c *record.Change) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range p.Changes {
		c := &p.Changes[i]
		first := &s.named
		if c.Version.Epoch() == 0 {
			first = &s.unnamed
		}
		if *first != "" {
			continue
		}
		if *first = place(c); s.unnamed != "" && s.named != "" {
			return &StreamError{Unnamed: s.unnamed, Named: s.named}
		}
	}
	return nil
}

// place says where a change of the block is.
func (b *block) place(c *record.Change) string {
	at := PlaceError{File: b.file}
	if b.lines {
		offset := max(bytes.Index(b.bytes, c.Raw), 0)
		at.Line, at.Offset = b.line+int64(bytes.Count(b.bytes[:offset], newline)), b.offset+int64(offset)
	} else {
		start := b.starts[c.Index]
		at.Line, at.Offset, at.Record = start.line, start.inFile, start.number
	}
	return at.Place()
}
