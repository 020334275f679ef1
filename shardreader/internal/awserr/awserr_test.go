package awserr_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/shardreader/internal/awserr"
)

func answered(status int, header http.Header, err error) error {
	r := &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: header}}
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "UpdateItem", Err: &smithyhttp.ResponseError{Response: r, Err: err}}
}

func api(code string, status int) error {
	return answered(status, nil, &smithy.GenericAPIError{Code: code, Message: "because"})
}

type retryable struct{ error }

func (retryable) RetryableError() bool { return true }
func (r retryable) Unwrap() error      { return r.error }

func TestWhatItMeans(t *testing.T) {
	for _, test := range []struct {
		name              string
		err               error
		transient, denied bool
	}{
		{"throttled", api("ProvisionedThroughputExceededException", 400), true, false},
		{"the account is throttled", api("RequestLimitExceeded", 400), true, false},
		{"too many", api("ThrottlingException", 400), true, false},
		{"too many table operations", api("LimitExceededException", 400), true, false},
		{"another Region writes", api("ReplicatedWriteConflictException", 400), true, false},
		{"the table is being changed", api("ResourceInUseException", 400), true, false},
		{"internal", api("InternalServerError", 500), true, false},
		{"unavailable", api("ServiceUnavailable", 503), true, false},
		{"new, of the server", api("SomethingNew", 503), true, false},
		{"new, of ours", api("SomethingNew", 400), false, false},
		{"not valid", api("ValidationException", 400), false, false},
		{"the condition", api("ConditionalCheckFailedException", 400), false, false},
		{"no table", api("ResourceNotFoundException", 400), false, false},
		{"denied", api("AccessDeniedException", 400), false, true},
		{"expired", api("ExpiredTokenException", 400), false, true},
		{"unknown key", api("UnrecognizedClientException", 400), false, true},
		{"the clock", retryable{api("InvalidSignatureException", 403)}, true, false},
		{"a proxy", answered(502, nil, errors.New("<html>")), true, false},
		{"a proxy that forbids", answered(403, nil, errors.New("<html>")), true, false},
		{"a proxy that is busy", answered(429, nil, errors.New("<html>")), true, false},
		{"a proxy that knows nothing", answered(404, nil, errors.New("<html>")), true, false},
		{"cut", answered(200, nil, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF}), true, false},
		{"an error, cut", answered(400, nil, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF}), true, false},
		{"an error that says nothing", api("UnknownError", 400), true, false},
		{"a proxy that says nothing", api("UnknownError", 404), true, false},
		{"a page of a proxy", answered(400, nil, &smithy.DeserializationError{Err: errors.New("invalid character '<'")}), true, false},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, false},
		{"timeout", context.DeadlineExceeded, true, false},
		{"no credentials", errors.New("get identity: get credentials: none"), false, true},
		{"a bug", errors.New("nil map"), false, false},
	} {
		if transient, denied := awserr.Transient(test.err), awserr.Denied(test.err); transient != test.transient || denied != test.denied {
			t.Errorf("%s: transient %v, denied %v; want %v, %v", test.name, transient, denied, test.transient, test.denied)
		}
	}
}

func TestParts(t *testing.T) {
	cause := &smithy.GenericAPIError{Code: "ThrottlingException"}
	err := answered(400, http.Header{"Retry-After": {"7"}}, cause)
	if awserr.Code(err) != "ThrottlingException" || awserr.Status(err) != 400 || awserr.Wait(err) != 7*time.Second {
		t.Errorf("%s %d %v", awserr.Code(err), awserr.Status(err), awserr.Wait(err))
	}
	if op, ok := errors.AsType[*smithy.OperationError](awserr.Cause(err)); ok || !errors.Is(awserr.Cause(err), cause) {
		t.Errorf("the cause is %v", op)
	}
	plain := errors.New("plain")
	if awserr.Code(plain) != "" || awserr.Status(plain) != 0 || awserr.Wait(plain) != 0 || !errors.Is(awserr.Cause(plain), plain) {
		t.Errorf("of an error without an answer: %q %d %v", awserr.Code(plain), awserr.Status(plain), awserr.Wait(plain))
	}
}
