// Package awserr classifies failed calls of AWS services: transient, permanent, or fatal for the whole sink. Its errors
// show the service's code. They never show the server's message, because it may quote the request.
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

// Kind is the class of a failure.
type Kind uint8

// The kinds of failures.
const (
	Refused   Kind = iota // the service refuses this request permanently
	Transient             // throttled, unavailable or cut off: the caller retries
	Denied                // the credentials are wrong, or lack a right
	Missing               // the queue, topic, bus or bucket does not exist
)

// Error is a failed call, or a failed entry of a call that succeeded.
type Error struct {
	Op   string // the call: "SendMessageBatch to the queue orders"
	Code string // the service's code; "" if it gave none
	Hint string // advice what to do; "" if there is none
	Err  error  // the cause; its text is not shown
}

var _ redact.Redacted = (*Error)(nil)

// Error returns a text such as "SendMessageBatch to the queue orders: AccessDenied (allow ...)".
func (e *Error) Error() string {
	text := e.Op + ": " + e.cause()
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Redacted returns Error: the text holds no data of an item.
func (e *Error) Redacted() string { return e.Error() }

// Describe returns the class for logs. The class is "clock" if the clock of this machine is wrong. Otherwise it is the
// class of the service's code, or else the class of the cause. field is always "".
func (e *Error) Describe() (class, field string) {
	if e.Err != nil && IsClockSkewed(e.Err) {
		return "clock", ""
	}
	kind, isKnown := KindOfCode(e.Code)
	if isKnown || e.Err == nil { // the code decides, or there is no cause
		return kindClasses[kind], ""
	}
	if class := redact.ErrorClass(e.Err); e.Code == "" && class != "unknown" && class != "service" {
		return class, "" // it says more than the kind
	}
	return kindClasses[KindOf(e.Err)], ""
}

// kindClasses has the class for logs that belongs to each kind.
var kindClasses = [...]string{
	Refused: "refused_request", Transient: "unavailable", Denied: "denied", Missing: "missing",
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// cause returns the code, else the text of a known error, else the Go type of the innermost error.
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

// CallError returns the error of a call, marked for the pipeline. A transient failure is marked with the wait that the
// server requested. A failure is fatal if the credentials are wrong or the target is missing. Any other failure is
// permanent. If ctx has ended, the failure is transient, and the cause of the end replaces err. hints has the advice
// for each kind. CallError returns nil for a nil err.
func CallError(ctx context.Context, op string, err error, hints map[Kind]string) error {
	if err == nil {
		return nil
	}
	kind := KindOf(err)
	e := &Error{Op: op, Code: Code(err), Hint: hints[kind], Err: err}
	if IsClockSkewed(err) {
		e.Hint = "the clock of this machine is not the server's: set it"
	}
	if ctx.Err() != nil { // the call may have failed because of that
		e.Code, e.Err, kind = "", context.Cause(ctx), Transient
	}
	return mark(e, kind, RequestedWait(err))
}

// EntryError returns the error of one entry of a batch, marked by the service's code. If the code is unknown, transient
// decides. transient is the service's own flag: it is true if the sender did not cause the failure.
func EntryError(op, code string, transient bool, hints map[Kind]string) error {
	kind, known := KindOfCode(code)
	if !known && transient {
		kind = Transient
	}
	return mark(&Error{Op: op, Code: withoutNamespace(code), Hint: hints[kind]}, kind, 0)
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

// KindOf classifies the error of a call. The first rule that applies decides:
//
//  1. The SDK has corrected its clock and will sign the next request with the server's time: transient.
//  2. A known code of a service: the kind of the code.
//  3. The SDK retries the error: transient.
//  4. A status of throttling or of a failing server, or an answer that broke off: transient.
//  5. A status without a code, which comes from a proxy and not from the service: transient.
//  6. Status 401 or 403: denied.
//  7. A network error: transient.
//  8. Credentials could not be found: denied.
func KindOf(err error) Kind {
	if ClockCorrected(err) {
		return Transient
	}
	code, status := Code(err), Status(err)
	if kind, known := KindOfCode(code); known {
		return kind
	}
	if retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary {
		return Transient
	}
	_, isTruncated := errors.AsType[*smithy.DeserializationError](err)
	switch {
	case isTruncated, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return Transient
	case status != 0 && code == "":
		return Transient
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return Denied
	}
	_, isNetwork := errors.AsType[net.Error](err)
	if isNetwork || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return Transient
	}
	// The SDK's resolver of credentials has no type for its failures.
	if status == 0 && strings.Contains(err.Error(), "get identity: ") {
		return Denied
	}
	return Refused
}

// ClockCorrected reports whether a signature failed because of this machine's clock, and the SDK has corrected its
// clock. The SDK then signs the next request with the server's time.
func ClockCorrected(err error) bool {
	skew, ok := errors.AsType[interface {
		error
		RetryableError() bool
	}](err)
	return ok && skew.RetryableError()
}

// IsClockSkewed reports whether a call was refused because the clock of this machine is wrong.
func IsClockSkewed(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode() {
	case "RequestTimeTooSkewed", "RequestInTheFuture", "RequestExpired":
		return true
	}
	message := api.ErrorMessage()
	return strings.Contains(message, "Signature expired") || strings.Contains(message, "not yet current")
}

// IsForbidden reports whether a call was denied: its kind is Denied, or its status is 403.
func IsForbidden(err error) bool {
	return KindOf(err) == Denied || Status(err) == http.StatusForbidden
}

// Code returns the service's code of err, or "".
func Code(err error) string {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorCode() == unknown || isMadeFromStatus(err, api) {
		return ""
	}
	return withoutNamespace(api.ErrorCode())
}

// isMadeFromStatus reports whether S3 gave no code, and the SDK made one from the HTTP status, such as NotFound from
// 404. For a HEAD it returns false, although the SDK makes these codes, too. The answer to a HEAD has no body, so there
// is no other code.
func isMadeFromStatus(err error, api smithy.APIError) bool {
	op, ok := errors.AsType[*smithy.OperationError](err)
	hasBody := ok && op.ServiceID == "S3" && !strings.HasPrefix(op.OperationName, "Head")
	text := http.StatusText(Status(err))
	return hasBody && api.ErrorMessage() == text && api.ErrorCode() == strings.ReplaceAll(text, " ", "")
}

// unknown is the code that the SDK uses if it finds no code in the answer.
const unknown = "UnknownError"

// withoutNamespace returns a code without its namespace: aws.sqs#CODE and AWS.SimpleQueueService.CODE become CODE.
// KMS.DisabledException, with which S3 reports a refusal of KMS, becomes KMSDisabledException, to show that KMS
// refused.
func withoutNamespace(code string) string {
	if rest, ok := strings.CutPrefix(code, "KMS."); ok {
		return "KMS" + rest
	}
	return code[strings.LastIndexAny(code, ".#")+1:]
}

// Status returns the HTTP status of the answer, or 0 if there is no answer.
func Status(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && r.Response != nil {
		return r.HTTPStatusCode()
	}
	return 0
}

// RequestedWait returns the wait that the server requested, or 0 if the server requested no wait.
func RequestedWait(err error) time.Duration {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || r.Response == nil {
		return 0
	}
	return ParseRetryAfter(r.Response.Header)
}

// ParseRetryAfter returns the wait in the header Retry-After, or 0 if there is none.
func ParseRetryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(s) * time.Second
}

// WithoutOperation returns err without the SDK's prefix, which names the service and the operation.
func WithoutOperation(err error) error {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok && op.Err != nil {
		return op.Err
	}
	return err
}

// IsThrottled reports whether the service refused a request because there were too many requests, or because they read
// or wrote too much.
func IsThrottled(err error) bool {
	switch code := Code(err); code {
	case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "LimitExceededException",
		"TooManyRequestsException":
		return true
	default:
		return strings.Contains(code, "Throttl")
	}
}

// CheckTagged returns nil if an answer of S3 has the tag of the written object or part, or the id of the upload.
// Answers to writes have no other content, so the SDK accepts any page with a status of success. If the tag is missing,
// it is unknown whether S3 wrote anything, so the error makes the SDK retry.
func CheckTagged(tag *string) error {
	if tag != nil && *tag != "" {
		return nil
	}
	return errUntagged{}
}

// errUntagged is the error of an answer that does not come from S3.
type errUntagged struct{}

func (errUntagged) Error() string { return "the answer does not name what was written: it is not S3's" }

// RetryableError makes the SDK retry the call.
func (errUntagged) RetryableError() bool { return true }
