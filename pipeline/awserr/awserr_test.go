package awserr_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
)

const secret = "canary@example.com"

func api(code string, status int) error {
	return answered(&smithy.GenericAPIError{Code: code, Message: secret}, status)
}

func answered(err error, status int) error {
	r := &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}}}
	return &smithy.OperationError{ServiceID: "SQS", OperationName: "SendMessageBatch", Err: &smithyhttp.ResponseError{Response: r, Err: err}}
}

var hints = map[awserr.Kind]string{awserr.Denied: "allow it", awserr.Missing: "make it"}

// A failed call is classified by its code, or else by its status, or else by the part of the connection that broke.
func TestCall(t *testing.T) {
	for _, test := range []struct {
		err  error
		kind awserr.Kind
		text string
	}{
		{api("AWS.SimpleQueueService.NonExistentQueue", 400), awserr.Missing, "send: NonExistentQueue (make it)"},
		{api("QueueDoesNotExist", 400), awserr.Missing, "send: QueueDoesNotExist (make it)"},
		{api("AccessDenied", 403), awserr.Denied, "send: AccessDenied (allow it)"},
		{api("RequestTimeTooSkewed", 403), awserr.Transient, "send: RequestTimeTooSkewed (the clock of this machine is not the server's: set it)"},
		{api("KMSDisabled", 400), awserr.Denied, "send: KMSDisabled (allow it)"},
		{api("KMS.DisabledException", 400), awserr.Denied, "send: KMSDisabledException (allow it)"},
		{api("KMS.ThrottlingException", 400), awserr.Transient, "send: KMSThrottlingException"},
		{api("KmsThrottled", 400), awserr.Transient, "send: KmsThrottled"},
		{api("ThrottlingException", 400), awserr.Transient, "send: ThrottlingException"},
		{api("OverLimit", 403), awserr.Transient, "send: OverLimit"},
		{api("InvalidMessageContents", 400), awserr.Refused, "send: InvalidMessageContents"},
		{api("SomethingNew", 503), awserr.Transient, "send: SomethingNew"},
		{answered(errors.New(secret), 502), awserr.Transient, "send: HTTP 502 Bad Gateway"},
		{answered(errors.New(secret), 400), awserr.Transient, "send: HTTP 400 Bad Request"},
		{answered(errors.New(secret), 403), awserr.Transient, "send: HTTP 403 Forbidden"},
		{answered(errors.New(secret), 413), awserr.Transient, "send: HTTP 413 Request Entity Too Large"},
		{api("UnknownError", 404), awserr.Transient, "send: HTTP 404 Not Found"},
		{awserr.CheckTagged(new("")), awserr.Transient, "send: awserr.errUntagged"},
		{answered(&smithy.DeserializationError{Err: errors.New(secret)}, 200), awserr.Transient, "send: HTTP 200 OK"},
		{answered(&smithy.DeserializationError{Err: io.ErrUnexpectedEOF}, 200), awserr.Transient, "send: unexpected EOF"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, awserr.Transient, "send: connection reset by peer"},
		{&net.DNSError{Err: "no such host", Name: "sqs.eu-central-1.amazonaws.com", IsNotFound: true}, awserr.Transient, "send: no address of sqs.eu-central-1.amazonaws.com"},
		{context.DeadlineExceeded, awserr.Transient, "send: context deadline exceeded"},
		{errors.New(secret), awserr.Refused, "send: *errors.errorString"},
	} {
		err := awserr.CallError(t.Context(), "send", test.err, hints)
		if err.Error() != test.text {
			t.Errorf("%v reads %q, want %q", test.err, err, test.text)
		}
		_, retry := pipeline.Retryable(err)
		fatal := test.kind == awserr.Denied || test.kind == awserr.Missing
		if got := awserr.KindOf(test.err); got != test.kind || retry != (test.kind == awserr.Transient) || pipeline.IsFatal(err) != fatal {
			t.Errorf("%v is of kind %d, retried %v, fatal %v; want kind %d", test.err, got, retry, pipeline.IsFatal(err), test.kind)
		}
		if !errors.Is(err, test.err) {
			t.Errorf("%v does not hold its cause", err)
		}
		if r, ok := errors.AsType[redact.Redacted](err); !ok || strings.Contains(r.Redacted(), secret) {
			t.Errorf("%v is not fit for a log", test.err)
		}
	}
	if err := awserr.CallError(t.Context(), "send", nil, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// The SDK makes a code from the status if S3 gave none, and such a code is not trusted. The error of a HEAD request is
// trusted, because S3 has no other answer to such a request.
func TestCode_MadeUp(t *testing.T) {
	for op, want := range map[string]awserr.Kind{"PutObject": awserr.Transient, "HeadBucket": awserr.Missing} {
		err := answered(&smithy.GenericAPIError{Code: "NotFound", Message: "Not Found"}, 404)
		if of, ok := errors.AsType[*smithy.OperationError](err); ok {
			of.ServiceID, of.OperationName = "S3", op
		}
		if got := awserr.KindOf(err); got != want {
			t.Errorf("%s is of kind %d, want %d", op, got, want)
		}
	}
}

// The wait that a server asks for is kept. A call whose context ended is retried.
func TestCall_WaitAndCancel(t *testing.T) {
	busy := api("SlowDown", 503)
	r, _ := errors.AsType[*smithyhttp.ResponseError](busy)
	r.Response.Header.Set("Retry-After", "7")
	if after, retry := pipeline.Retryable(awserr.CallError(t.Context(), "send", busy, nil)); !retry || after != 7*time.Second {
		t.Errorf("the wait is %v (%v), want 7s", after, retry)
	}
	why := errors.New("stopping")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	err := awserr.CallError(ctx, "send", api("AccessDenied", 403), nil)
	if _, retry := pipeline.Retryable(err); !retry || !errors.Is(err, why) {
		t.Errorf("canceled: %v, to be tried again: %v", err, retry)
	}
}

// The failure of an entry is classified by its code, or else by whose fault it is.
func TestEntry(t *testing.T) {
	for _, test := range []struct {
		code  string
		ours  bool
		retry bool
		fatal bool
	}{
		{"InternalError", false, true, false},
		{"AWS.SimpleQueueService.RequestThrottled", true, true, false},
		{"InvalidMessageContents", true, false, false},
		{"SomethingNew", false, true, false},
		{"AccessDenied", true, false, true},
	} {
		err := awserr.EntryError("send", test.code, !test.ours, hints)
		if _, retry := pipeline.Retryable(err); retry != test.retry || pipeline.IsFatal(err) != test.fatal {
			t.Errorf("%s: %v is retried %v, fatal %v", test.code, err, retry, pipeline.IsFatal(err))
		}
	}
}
