package replay

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/tablewake/tablewake/pipeline/record"
)

// StreamError ends a replay in which only some records name their stream. A version without a stream is older than any
// version with a stream, so changes would be lost.
type StreamError struct {
	Unnamed string // location of a record without a stream
	Named   string // location of a record with a stream
}

// Error returns both locations, and what to do.
func (e *StreamError) Error() string {
	return fmt.Sprintf(
		"%s: the record does not name its stream, and the record at %s does, so their versions cannot be compared: name the stream with --stream-arn", e.Unnamed, e.Named)
}

// Redacted returns Error without the locations, because the names of archive objects contain values.
func (e *StreamError) Redacted() string {
	return "a record does not name its stream, and another one does, so their versions cannot be compared: name the stream with --stream-arn"
}

// Describe returns the class of this package's errors.
func (e *StreamError) Describe() (class, field string) { return string(errs), "" }

// streamNames checks that either all records name their stream, or no record does. It is safe for concurrent use.
type streamNames struct {
	mu             sync.Mutex
	unnamed, named string // locations of the first record without a stream, and with a stream
}

// check returns a *StreamError if, in all pages so far, some records name their stream and others do not.
func (s *streamNames) check(p *record.Page, location func(c *record.Change) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range p.Changes {
		c := &p.Changes[i]
		namesStream := c.Version.Epoch() != 0
		switch {
		case namesStream && s.named == "":
			s.named = location(c)
		case !namesStream && s.unnamed == "":
			s.unnamed = location(c)
		default:
			continue
		}
		if s.unnamed != "" && s.named != "" {
			return &StreamError{Unnamed: s.unnamed, Named: s.named}
		}
	}
	return nil
}

// location returns the location of a change of the block.
func (b *block) location(c *record.Change) string {
	at := LocationError{File: b.file}
	if b.isLines {
		offset := max(bytes.Index(b.bytes, c.Raw), 0)
		at.Line, at.Offset = b.line+int64(bytes.Count(b.bytes[:offset], newline)), b.offset+int64(offset)
	} else {
		start := b.starts[c.Index]
		at.Line, at.Offset, at.Record = start.line, start.inFile, start.number
	}
	return at.Location()
}
