package shardreader

import (
	"errors"
	"strings"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// What an [Error] can be, beside transient. See the errors of GetRecords and
// GetShardIterator in the DynamoDB Streams API reference.
var (
	// ErrExpiredIterator: the iterator is older than 15 minutes. Take a new one
	// behind the last sequence number that was read.
	ErrExpiredIterator = errs.New("the shard iterator has expired")
	// ErrTrimmed: the position is older than 24 hours, and the records between it
	// and the oldest one left are lost.
	ErrTrimmed = errs.New("the position is older than what the stream keeps")
	// ErrNotFound: there is no such table, stream or shard (any more).
	ErrNotFound = errs.New("not found")
	// ErrDenied: the credentials are missing, wrong, expired or not allowed to do this.
	ErrDenied = errs.New("access denied")
)

// Error is a failed call of the Streams API. When it is transient,
// [pipeline.Retryable] says so.
type Error struct {
	Op      string // ListStreams, DescribeStream, GetShardIterator, GetRecords
	Subject string // what was asked for: a table, a stream, a shard of a stream
	Kind    error  // ErrExpiredIterator, ErrTrimmed, ErrNotFound or ErrDenied; nil for every other
	Err     error  // the cause
	Hint    string // what to do, where there is something to do
}

var _ redact.Redacted = (*Error)(nil)

// Error reads "GetRecords shard x of stream y: cause (hint)".
func (e *Error) Error() string {
	if e.Err == nil {
		return e.text("")
	}
	return e.text(e.Err.Error())
}

// Redacted is Error with the cause's code or type in place of its text, which is a
// server's.
func (e *Error) Redacted() string {
	if e.Err == nil {
		return e.text("")
	}
	return e.text(redact.SafeText(e.Err))
}

// Describe is the class of its kind, and of the cause where it has none.
func (e *Error) Describe() (class, field string) {
	switch {
	case errors.Is(e.Kind, ErrExpiredIterator):
		return "expired", ""
	case errors.Is(e.Kind, ErrTrimmed):
		return "trimmed", ""
	case errors.Is(e.Kind, ErrNotFound):
		return "missing", ""
	case errors.Is(e.Kind, ErrDenied):
		return "denied", ""
	}
	if e.Err == nil {
		return "stream", ""
	}
	return redact.ErrorClass(e.Err), ""
}

func (e *Error) text(cause string) string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Subject != "" {
		b.WriteString(" " + e.Subject)
	}
	if e.Kind != nil {
		b.WriteString(": " + e.Kind.Error())
	}
	if cause != "" {
		b.WriteString(": " + cause)
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap gives errors.Is and errors.As both the kind and the cause.
func (e *Error) Unwrap() []error {
	var both []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			both = append(both, err)
		}
	}
	return both
}
