// Package awserr says what a failed call of an AWS service means: whether it is worth
// another try, refused for good, or one that no delivery can survive. The errors that it
// makes show the service's code and nothing that the server wrote, which may hold what it
// was sent.
package awserr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Kind is what a failure means.
type Kind uint8

// The kinds of failures.
const (
	Refused   Kind = iota // this request, for good
	Transient             // throttled, unavailable, cut off: worth another try
	Denied                // the credentials, or what they may do
	Missing               // the queue, topic, bus or bucket
)

// Error is a failed call, or a failed entry of one that succeeded.
type Error struct {
	Op   string // what was tried: "SendMessageBatch to the queue orders"
	Code string // the service's; "" where it gave none
	Hint string // what to do, where there is something to do
	Err  error  // the cause; its text is not shown
}

var _ redact.Redacted = (*Error)(nil)

// Error reads "SendMessageBatch to the queue orders: AccessDenied (allow ...)".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op + ": " + e.cause())
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Redacted is Error: it shows nothing of an item.
func (e *Error) Redacted() string { return e.Error() }

// Describe is the class of the kind.
func (e *Error) Describe() (class, field string) {
	if e.Err != nil && Skewed(e.Err) {
		return "clock", ""
	}
	kind, known := KindOfCode(e.Code)
	if !known && e.Err != nil {
		kind = KindOf(e.Err)
		if class := redact.ErrorClass(e.Err); e.Code == "" && class != "unknown" && class != "service" {
			return class, ""
		}
	}
	return [...]string{Refused: "refused_request", Transient: "unavailable", Denied: "denied", Missing: "missing"}[kind], ""
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// cause is the code, and where there is none what the system or the SDK's type says.
func (e *Error) cause() string {
	if e.Code != "" {
		return e.Code
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(e.Err, known) {
			return known.Error()
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](e.Err); ok {
		return errno.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](e.Err); ok {
		return "no address of " + dns.Name
	}
	if st := Status(e.Err); st != 0 {
		return fmt.Sprintf("HTTP %d %s", st, http.StatusText(st))
	}
	last := e.Err
	for cause := last; cause != nil; cause = errors.Unwrap(cause) {
		last = cause
	}
	return fmt.Sprintf("%T", last)
}

// Call is the error of a call, marked for the pipeline: transient with the wait that
// the server asked for, fatal where the credentials or the place are wrong, else
// permanent. hints say what to do, by kind. A nil err stays nil.
func Call(ctx context.Context, op string, err error, hints map[Kind]string) error {
	if err == nil {
		return nil
	}
	kind := KindOf(err)
	e := &Error{Op: op, Code: Code(err), Hint: hints[kind], Err: err}
	if Skewed(err) {
		e.Hint = "the clock of this machine is not the server's: set it"
	}
	if ctx.Err() != nil {
		e.Code, e.Err, kind = "", context.Cause(ctx), Transient
	}
	return mark(e, kind, Wait(err))
}

// Entry is the error of one entry of a batch that a service answered, by its code.
// Where the code is not known, transient says whose fault the service says it is.
func Entry(op, code string, transient bool, hints map[Kind]string) error {
	kind, known := KindOfCode(code)
	if !known && transient {
		kind = Transient
	}
	return mark(&Error{Op: op, Code: plain(code), Hint: hints[kind]}, kind, 0)
}

func mark(e *Error, kind Kind, after time.Duration) error {
	switch kind {
	case Transient:
		return pipeline.RetryAfter(e, after)
	case Denied:
		return pipeline.Denied(e)
	case Missing:
		return pipeline.Fatal(e)
	}
	return pipeline.Permanent(e)
}

// KindOf is what the error of a call means. Beside the codes of the services and the
// SDK's own judgement, an answer that breaks off under the decoder is worth another try, and so are every
// status of a server that is not well and every error without a code: those are of what stands between.
func KindOf(err error) Kind {
	if Resigned(err) {
		return Transient
	}
	if kind, known := KindOfCode(Code(err)); known {
		return kind
	}
	if retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary {
		return Transient
	}
	st := Status(err)
	switch _, cut := errors.AsType[*smithy.DeserializationError](err); {
	case st == http.StatusTooManyRequests || st == http.StatusRequestTimeout || st >= 500 || cut:
		return Transient
	case st != 0 && Code(err) == "": // not the service's: its errors have codes
		return Transient
	case st == http.StatusForbidden || st == http.StatusUnauthorized:
		return Denied
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return Transient
	}
	if st == 0 && strings.Contains(err.Error(), "get identity: ") { // the SDK's resolver of credentials has no type for its failures
		return Denied
	}
	return Refused
}

// Resigned reports whether the SDK signs the next request by the server's time: the signature failed because of
// this machine's clock.
func Resigned(err error) bool {
	skew, ok := errors.AsType[interface {
		error
		RetryableError() bool
	}](err)
	return ok && skew.RetryableError()
}

// Skewed reports whether a call was refused because the clock of this machine is wrong.
func Skewed(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (api.ErrorCode() == "RequestTimeTooSkewed" || api.ErrorCode() == "RequestInTheFuture" || api.ErrorCode() == "RequestExpired" ||
		strings.Contains(api.ErrorMessage(), "Signature expired") || strings.Contains(api.ErrorMessage(), "not yet current"))
}

// Forbidden reports whether a call may not be made, by its code, or by the status of an answer without one.
func Forbidden(err error) bool {
	return KindOf(err) == Denied || Status(err) == http.StatusForbidden
}

// Code is the service's code of err, "" where it has none.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != unknown && !madeUp(err, api) {
		return plain(api.ErrorCode())
	}
	return ""
}

// madeUp reports whether the SDK made a code of S3 of the HTTP status, as it found none in the answer. To
// a HEAD request S3 has no other answer.
func madeUp(err error, api smithy.APIError) bool {
	op, ok := errors.AsType[*smithy.OperationError](err)
	text := http.StatusText(Status(err))
	return ok && op.ServiceID == "S3" && !strings.HasPrefix(op.OperationName, "Head") &&
		api.ErrorMessage() == text && api.ErrorCode() == strings.ReplaceAll(text, " ", "")
}

// unknown is the code that the SDK gives to an error answer in which it finds none.
const unknown = "UnknownError"

// plain is a code without its namespace: aws.sqs#CODE, AWS.SimpleQueueService.CODE.
// That of KMS, whose refusals S3 passes on as KMS.DisabledException, stays: it tells
// whose they are.
func plain(code string) string {
	if of, ok := strings.CutPrefix(code, "KMS."); ok {
		return "KMS" + of
	}
	return code[strings.LastIndexAny(code, ".#")+1:]
}

// Status is the HTTP status that err came with, 0 where there is none.
func Status(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && r.Response != nil {
		return r.HTTPStatusCode()
	}
	return 0
}

// Wait is what the server asked for, 0 where it asked for nothing.
func Wait(err error) time.Duration {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || r.Response == nil {
		return 0
	}
	return RetryAfter(r.Response.Header)
}

// RetryAfter is the wait in seconds that an answer asks for, 0 where it asks for none.
func RetryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(s) * time.Second
}

// Cause is err without the SDK's prefix, which names the service and the operation.
func Cause(err error) error {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok && op.Err != nil {
		return op.Err
	}
	return err
}
