package shardreader

import (
	"errors"
	"strings"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes the errors of this package. Each error has a redacted text for logs.
const errs = redact.Class("stream")

// The kinds of errors that are not transient. See the errors of GetRecords and GetShardIterator in the DynamoDB Streams
// API reference.
var (
	// ErrExpiredIterator: the iterator is older than 15 minutes. The caller requests a new iterator after the last
	// sequence number that it read.
	ErrExpiredIterator = errs.New("the shard iterator has expired")
	// ErrTrimmed: the position is older than 24 hours. The records between the position and the oldest record left are
	// lost.
	ErrTrimmed = errs.New("the position is older than what the stream keeps")
	// ErrNotFound: the table, stream or shard does not exist, or no longer exists.
	ErrNotFound = errs.New("not found")
	// ErrDenied: the credentials are missing, wrong or expired, or do not allow the call.
	ErrDenied = errs.New("access denied")
)

// classes maps the kinds of errors to the classes that [Error.Describe] returns.
var classes = map[error]string{
	ErrExpiredIterator: "expired", ErrTrimmed: "trimmed", ErrNotFound: "missing", ErrDenied: "denied",
}

// Error is a failed call of the Streams API. [pipeline.Retryable] reports whether it is transient.
type Error struct {
	Op      string // ListStreams, DescribeStream, GetShardIterator, GetRecords
	Subject string // the table, the stream, or the shard of a stream
	Kind    error  // ErrExpiredIterator, ErrTrimmed, ErrNotFound or ErrDenied; nil for other errors
	Err     error  // the cause
	Hint    string // advice to the operator; "" if there is none
}

var _ redact.Redacted = (*Error)(nil)

// Error returns "GetRecords shard x of stream y: cause (hint)".
func (e *Error) Error() string {
	if e.Err == nil {
		return e.message("")
	}
	return e.message(e.Err.Error())
}

// Redacted returns the same as Error, but with the redacted text of the cause. The full text of a cause comes from a
// server.
func (e *Error) Redacted() string {
	if e.Err == nil {
		return e.message("")
	}
	return e.message(redact.SafeText(e.Err))
}

// Describe returns the class of Kind, or the class of the cause if Kind has none. field is always "".
func (e *Error) Describe() (class, field string) {
	for kind, class := range classes {
		if errors.Is(e.Kind, kind) {
			return class, ""
		}
	}
	if e.Err == nil {
		return "stream", ""
	}
	return redact.ErrorClass(e.Err), ""
}

func (e *Error) message(cause string) string {
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

// Unwrap returns Kind and the cause, if they are set.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
