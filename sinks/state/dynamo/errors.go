package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("state")

// viewErrs creates the errors about the output of views. They have the class of package view.
const viewErrs = redact.Class("view")

// The kinds of an [Error]. The DynamoDB API reference lists the errors of each call.
var (
	// ErrThrottled: the table, one of its partitions or an index is over its throughput. Transient.
	ErrThrottled = errs.New("throttled")
	// ErrRequestLimit: the account is over its quota of requests in this Region. Transient.
	ErrRequestLimit = errs.New("the account is over its request limit")
	// ErrConflict: another transaction or write uses one of the items. Transient.
	ErrConflict = errs.New("in conflict with another write")
	// ErrInProgress: a transaction with the same client token is still being executed. Transient.
	ErrInProgress = errs.New("the same transaction is in progress")
	// ErrTokenReused: the client token was used within 10 minutes for another
	// transaction. Transient: the redelivered write has another token.
	ErrTokenReused = errs.New("the client token belongs to another transaction")
	// ErrUnavailable: there was no answer, an incomplete answer, or a server error. A write may have happened.
	// Transient.
	ErrUnavailable = errs.New("no answer")
	// ErrCollectionFull: an item collection of a table with a local secondary index is at
	// 10 GB. Permanent.
	ErrCollectionFull = errs.New("the item collection is full")
	// ErrTooLarge: an item is over 400 KB, or a transaction over 4 MB. Permanent.
	ErrTooLarge = errs.New("too large")
	// ErrNumber: a number, or the sum of an addition, has over 38 digits or is out of range. Permanent.
	ErrNumber = errs.New("a number is beyond what DynamoDB holds")
	// ErrInvalid: the request is wrong, for example a key of another type or an unknown function. Permanent.
	ErrInvalid = errs.New("not valid")
	// ErrNoTable: the table does not exist. Fatal.
	ErrNoTable = errs.New("there is no such table")
	// ErrDenied: the credentials are missing, wrong, expired or lack the right. Fatal, see [pipeline.Denied].
	ErrDenied = errs.New("access denied")
	// ErrInUse: the table is being made, changed or deleted. Transient.
	ErrInUse = errs.New("the table is being changed")

	errClosed = errs.New("the store is closed")
)

// Error is the error of a failed call of DynamoDB. It is marked as transient, fatal or permanent. Its text may be
// logged: it contains types and names of attributes, but never a value or a key of an item.
type Error struct {
	Op     string // name of the API call: TransactWriteItems
	Table  string // "" if the call concerns several tables
	Action int    // index of the failed action of the transaction; -1 if no single action failed
	Kind   error  // one of ErrThrottled to ErrInUse; nil if no kind applies
	Code   string // error code of the server, for example ThrottlingException; "" if the server did not answer
	Detail string // more about the cause; "" if unknown
	Hint   string // advice for the user; may be ""
	Err    error  // the cause, whose text may hold values; may be nil
}

var _ redact.Redacted = (*Error)(nil)

// Error returns a text like "dynamodb: PutItem on T: throttled (ThrottlingException): hint".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("dynamodb: " + e.Op)
	if e.Table != "" {
		b.WriteString(" on " + e.Table)
	}
	if e.Action >= 0 {
		fmt.Fprintf(&b, ": action %d", e.Action)
	}
	if e.Kind != nil {
		b.WriteString(": " + e.Kind.Error())
	}
	if e.Code != "" {
		b.WriteString(" (" + e.Code + ")")
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

// Redacted returns Error, which contains no values.
func (e *Error) Redacted() string { return e.Error() }

// Describe returns the class of the kind.
func (e *Error) Describe() (class, field string) {
	if class, ok := classes[e.Kind]; ok {
		return class, ""
	}
	return "dynamodb", ""
}

var classes = map[error]string{
	ErrThrottled: "throttled", ErrRequestLimit: "throttled", ErrConflict: "conflict", ErrInProgress: "conflict",
	ErrTokenReused: "conflict",
	ErrUnavailable: "unavailable", ErrCollectionFull: "full", ErrTooLarge: "too_large", ErrNumber: "number",
	ErrInvalid: "invalid", ErrNoTable: "missing", ErrDenied: "denied", ErrInUse: "unavailable", errClosed: "closed",
}

// Unwrap returns the kind and the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// stoppedError returns the error of a call whose context is done.
func stoppedError(ctx context.Context) error {
	return pipeline.Transient(fmt.Errorf("dynamodb: stopped: %w", context.Cause(ctx)))
}

// Classify converts an error of the SDK to an [Error] or, if conditions are not met, to a [ConditionError].
func Classify(ctx context.Context, op, table string, err error) error {
	if ctx.Err() != nil {
		return stoppedError(ctx)
	}
	if unmet := unmetConditions(err); unmet != nil {
		return unmet
	}
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return cancellationError(op, c)
	}

	e := &Error{Op: op, Table: table, Action: -1, Code: awserr.Code(err), Err: err}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		e.Detail, e.Kind = kindOf(e.Code, api.ErrorMessage())
	}
	if errors.Is(e.Kind, ErrDenied) && awserr.ClockCorrected(err) {
		e.Kind, e.Detail = ErrUnavailable, "the clock of this machine is not the server's"
	}
	if e.Kind == nil {
		e.setGeneralKind(err)
	}
	return e.marked(awserr.RequestedWait(err))
}

// setGeneralKind sets the kind and the detail of e, because err has no code, or a code that kindOf does not know.
func (e *Error) setGeneralKind(err error) {
	e.Kind = generalKinds[awserr.KindOf(err)]
	if errors.Is(e.Kind, ErrUnavailable) {
		e.Detail = failureDetail(err)
	} else if e.Code == "" {
		e.Detail = fmt.Sprintf("%T", awserr.WithoutOperation(err))
	}
}

// failureDetail describes why a call got no answer from DynamoDB. It returns "" if the reason is unknown.
func failureDetail(err error) string {
	if foreign, ok := errors.AsType[*awshttp.Error](err); ok {
		return foreign.Error()
	}
	if status := awserr.Status(err); status != 0 {
		return "status " + strconv.Itoa(status)
	}
	if broken, ok := errors.AsType[*net.OpError](err); ok {
		return broken.Error() // dial tcp 10.0.0.1:443: connect: connection refused
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the call took too long"
	}
	return ""
}

// generalKinds maps the kinds of package awserr to the kinds of this package. It is used for codes that kindOf does not
// list.
var generalKinds = map[awserr.Kind]error{awserr.Transient: ErrUnavailable, awserr.Denied: ErrDenied,
	awserr.Missing: ErrNoTable}

// marked adds the hint to e, and marks e as transient, fatal or permanent. wait is how long the server asked to wait,
// or 0 if it did not ask.
func (e *Error) marked(wait time.Duration) error {
	switch e.Kind {
	case ErrThrottled, ErrRequestLimit, ErrConflict, ErrInProgress, //nolint:errorlint // a Kind is never wrapped
		ErrTokenReused, ErrUnavailable, ErrInUse:
		return pipeline.RetryAfter(e, wait)
	case ErrNoTable:
		e.Hint = "check name, Region and account, or make it with --create (`tablewake consume`, `backfill` and `replay`; in Go, aws.Create)"
		return pipeline.Fatal(e)
	case ErrDenied:
		e.Hint = "check the credentials, and that they allow dynamodb:" + e.Op
		return pipeline.Denied(e)
	case ErrTooLarge:
		if e.Detail == itemTooLarge {
			e.Hint = "keep less in the row"
		}
	case ErrCollectionFull:
		e.Hint = "spread the rows over more partition keys, or drop the table's local secondary indexes"
	}
	return pipeline.Permanent(e)
}

// kindOf returns the kind of an error, and a detail from its message. code is the code of an API error or of the reason
// why a transaction was cancelled. kind is nil if the code is unknown.
func kindOf(code, message string) (detail string, kind error) {
	switch code {
	case "ProvisionedThroughputExceededException", "ProvisionedThroughputExceeded", "ThrottlingException",
		"ThrottlingError", "Throttling", "TooManyRequestsException", "RequestThrottled", "SlowDown", "LimitExceededException":
		return "", ErrThrottled
	case "RequestLimitExceeded":
		return "", ErrRequestLimit
	case "TransactionConflictException", "TransactionConflict", "ReplicatedWriteConflictException":
		return "", ErrConflict
	case "TransactionInProgressException":
		return "", ErrInProgress
	case "IdempotentParameterMismatchException":
		return "", ErrTokenReused
	case "ItemCollectionSizeLimitExceededException", "ItemCollectionSizeLimitExceeded":
		return "", ErrCollectionFull
	case "ValidationException", "ValidationError", "SerializationException":
		return invalid(message)
	case "TableNotFoundException":
		return "", ErrNoTable
	case "ResourceInUseException", "TableInUseException":
		return "", ErrInUse
	}
	general, _ := awserr.KindOfCode(code)
	return "", generalKinds[general]
}

// Damaged returns the error of an item that cannot be read. The item is in the state table, or in a table of rows if a
// store of rows calls Damaged. what describes the item without values.
func (db *DB) Damaged(what string, err error) error {
	return pipeline.Fatal(&Error{Op: "read", Table: db.table, Action: -1, Detail: what + " can't be read",
		Hint: "it was changed by hand or by another program, or its table was emptied or exchanged: `tablewake adopt` shows what belongs together, and what to do", Err: &state.DamagedError{Err: err}})
}

// wording recognizes a message of a ValidationException of DynamoDB or DynamoDB Local. The detail may contain the
// groups $1 to $3 of text. These groups match names and types, but never values.
type wording struct {
	text   *regexp.Regexp
	kind   error
	detail string
}

const itemTooLarge = "an item has at most 400 KB"

var wordings = []wording{
	{regexp.MustCompile(`(?i)item size (to update )?has exceeded`), ErrTooLarge, itemTooLarge},
	{regexp.MustCompile(`(?i)(payload|aggregated?) size`), ErrTooLarge, "a transaction has at most 4 MB"},
	{regexp.MustCompile(`(?i)expression size has exceeded`), ErrTooLarge, "an expression has at most 4 KB"},
	{regexp.MustCompile(
		`(?i)number (overflow|underflow)|38 (significant )?digits|magnitude (larger|smaller) than supported`), ErrNumber, ""},
	{regexp.MustCompile(`(?i)multiple operations on (one|the same) item`), ErrInvalid, "two actions are on one item"},
	{regexp.MustCompile(`(?i)operand in the update expression has an incorrect data type`), ErrInvalid,
		"what is added to is of another type"},
	{regexp.MustCompile(`Type mismatch for key (\S+) expected: ([A-Z]+) actual: ([A-Z]+)`), ErrInvalid,
		"the key attribute $1 is of type $2, and a value of type $3 was given"},
	{regexp.MustCompile(`Type mismatch for key`), ErrInvalid, "a key attribute is of another type"},
	{regexp.MustCompile(`Missing the key (\S+) in the item`), ErrInvalid, "the key attribute $1 is missing"},
	{regexp.MustCompile(`required keys was not given a value`), ErrInvalid, "a key attribute is missing"},
	{regexp.MustCompile(`(?i)empty string value\. Key: (\S+)`), ErrInvalid, "the key attribute $1 is empty"},
	{regexp.MustCompile(`(?i)size of (hashkey|rangekey) has exceeded|primary key values must be under`), ErrInvalid,
		"a partition key has at most 2048 bytes and a sort key 1024"},
	{regexp.MustCompile(`(?i)does not match the schema`), ErrInvalid,
		"the table's key has other attributes or other types"},
	{regexp.MustCompile(`(?i)reserved keyword: (\w+)`), ErrInvalid, "an expression names the reserved word $1"},
}

// invalid returns the kind and the detail of a validation error. The detail is "" if the message is unknown, because an
// unknown message may quote values.
func invalid(message string) (detail string, kind error) {
	for _, w := range wordings {
		if m := w.text.FindStringSubmatchIndex(message); m != nil {
			return string(w.text.ExpandString(nil, w.detail, message, m)), w.kind
		}
	}
	return "", ErrInvalid
}
