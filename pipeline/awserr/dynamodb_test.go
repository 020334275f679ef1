package awserr_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline/awserr"
)

type retryable struct{ error }

func (retryable) RetryableError() bool { return true }
func (r retryable) Unwrap() error      { return r.error }

// KindOf classifies the errors of calls of DynamoDB and of its streams.
func TestKindOf_DynamoDB(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		kind awserr.Kind
	}{
		{"throttled", api("ProvisionedThroughputExceededException", 400), awserr.Transient},
		{"the account is throttled", api("RequestLimitExceeded", 400), awserr.Transient},
		{"too many", api("ThrottlingException", 400), awserr.Transient},
		{"too many table operations", api("LimitExceededException", 400), awserr.Transient},
		{"another Region writes", api("ReplicatedWriteConflictException", 400), awserr.Transient},
		{"the table is being changed", api("ResourceInUseException", 400), awserr.Transient},
		{"internal", api("InternalServerError", 500), awserr.Transient},
		{"unavailable", api("ServiceUnavailable", 503), awserr.Transient},
		{"new, of the server", api("SomethingNew", 503), awserr.Transient},
		{"new, of ours", api("SomethingNew", 400), awserr.Refused},
		{"not valid", api("ValidationException", 400), awserr.Refused},
		{"the condition", api("ConditionalCheckFailedException", 400), awserr.Refused},
		{"no table", api("ResourceNotFoundException", 400), awserr.Missing},
		{"denied", api("AccessDeniedException", 400), awserr.Denied},
		{"expired", api("ExpiredTokenException", 400), awserr.Denied},
		{"unknown key", api("UnrecognizedClientException", 400), awserr.Denied},
		{"the clock", retryable{api("InvalidSignatureException", 403)}, awserr.Transient},
		{"a proxy", answered(errors.New("<html>"), 502), awserr.Transient},
		{"a proxy that forbids", answered(errors.New("<html>"), 403), awserr.Transient},
		{"a proxy that is busy", answered(errors.New("<html>"), 429), awserr.Transient},
		{"a proxy that knows nothing", answered(errors.New("<html>"), 404), awserr.Transient},
		{"cut", answered(&smithy.DeserializationError{Err: io.ErrUnexpectedEOF}, 200), awserr.Transient},
		{"an error, cut", answered(&smithy.DeserializationError{Err: io.ErrUnexpectedEOF}, 400), awserr.Transient},
		{"an error that says nothing", api("UnknownError", 400), awserr.Transient},
		{"a proxy that says nothing", api("UnknownError", 404), awserr.Transient},
		{"a page of a proxy", answered(&smithy.DeserializationError{Err: errors.New("invalid character '<'")}, 400), awserr.Transient},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, awserr.Transient},
		{"timeout", context.DeadlineExceeded, awserr.Transient},
		{"no credentials", errors.New("get identity: get credentials: none"), awserr.Denied},
		{"a bug", errors.New("nil map"), awserr.Refused},
	} {
		if got := awserr.KindOf(test.err); got != test.kind {
			t.Errorf("%s: kind %d; want %d", test.name, got, test.kind)
		}
	}
}

func TestParts(t *testing.T) {
	cause := &smithy.GenericAPIError{Code: "ThrottlingException"}
	err := answered(cause, 400)
	r, _ := errors.AsType[*smithyhttp.ResponseError](err)
	r.Response.Header.Set("Retry-After", "7")
	if awserr.Code(err) != "ThrottlingException" || awserr.Status(err) != 400 || awserr.RequestedWait(err) != 7*time.Second {
		t.Errorf("%s %d %v", awserr.Code(err), awserr.Status(err), awserr.RequestedWait(err))
	}
	if op, ok := errors.AsType[*smithy.OperationError](awserr.WithoutOperation(err)); ok || !errors.Is(awserr.WithoutOperation(err), cause) {
		t.Errorf("the cause is %v", op)
	}
	plain := errors.New("plain")
	if awserr.Code(plain) != "" || awserr.Status(plain) != 0 || awserr.RequestedWait(plain) != 0 || !errors.Is(awserr.WithoutOperation(plain), plain) {
		t.Errorf("of an error without an answer: %q %d %v", awserr.Code(plain), awserr.Status(plain), awserr.RequestedWait(plain))
	}
}
