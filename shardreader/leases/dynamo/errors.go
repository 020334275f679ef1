package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Error is a failed call. It is marked as transient or fatal. The text has the server's error code, but not the
// server's message, which may contain data.
type Error struct {
	Op     string // name of the API call, such as UpdateItem
	Table  string
	Code   string // error code of the server; "" if it did not answer
	Detail string // further facts; may be ""
	Hint   string // advice to the operator; may be ""
	Err    error  // the cause; may be nil
}

var _ redact.Redacted = (*Error)(nil)

// Error returns "leases: UpdateItem on T: AccessDeniedException: what to do".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("leases: " + e.Op + " on " + e.Table)
	for _, part := range []string{e.Code, e.Detail, e.Hint} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	return b.String()
}

// Redacted returns Error, which contains no data of items.
func (e *Error) Redacted() string { return e.Error() }

// Describe returns the class of the server's error.
func (e *Error) Describe() (class, field string) {
	if e.Err == nil {
		return "leases", ""
	}
	switch kind := awserr.KindOf(e.Err); {
	case kind == awserr.Denied:
		return "denied", ""
	case kind == awserr.Missing:
		return "missing", ""
	case e.Code == "":
		return redact.ErrorClass(e.Err), ""
	case kind == awserr.Transient:
		return "unavailable", ""
	}
	return "leases", ""
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// callError classifies the error of a call; nil stays nil.
func (t *Table) callError(ctx context.Context, op, table string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return pipeline.Transient(fmt.Errorf("leases: %s on %s was given up: %w", op, table, context.Cause(ctx)))
	}
	e := &Error{Op: op, Table: table, Code: awserr.Code(err), Err: err}
	switch kind := awserr.KindOf(err); {
	case kind == awserr.Missing:
		e.Detail = "there is no such table"
		e.Hint = "make it with `tablewake consume --create`, or check name, Region and account"
	case kind == awserr.Denied:
		e.Hint = "check the credentials, and that they allow dynamodb:" + op + " on this table"
	case kind == awserr.Transient:
		if e.Code == "" {
			e.Detail = cause(err)
		}
		return pipeline.RetryAfter(e, awserr.RequestedWait(err))
	case e.Code == "":
		e.Detail = cause(err)
	}
	return pipeline.Fatal(e)
}

// cause returns the reason why there is no valid answer. The text has no message of the server.
func cause(err error) string {
	if st := awserr.Status(err); st != 0 {
		return fmt.Sprintf("an answer with status %d that is none of the service's", st)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
