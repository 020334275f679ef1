// Package awserr says what a failed call of DynamoDB or of its streams means: what its
// code is, whether it is worth another try, whether the credentials are at fault.
// Codes are those of the services' API references and of their common errors.
package awserr

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Code is the service's code of err, "" where it gave none.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// Status is the HTTP status that err came with, 0 where there is none.
func Status(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && r.Response != nil {
		return r.HTTPStatusCode()
	}
	return 0
}

// Transient tells whether the same call may go well later. It is the SDK's own
// judgement, and beside it: an answer that breaks off under the SDK's decoder, a
// page of some proxy with a status to try again on, a connection that failed.
// Where an answer broke off the call may have been executed.
func Transient(err error) bool {
	if retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary {
		return true
	}
	if skewed(err) {
		return true
	}
	switch Code(err) {
	case "ReplicatedWriteConflictException", "TransactionConflictException", "ResourceInUseException", "InternalServerError", "ServiceUnavailable":
		return true
	case "UnknownError": // an error answer that says nothing
		return Status(err) == http.StatusBadRequest || Status(err) >= 500 || Status(err) == http.StatusTooManyRequests
	case "":
	default:
		return Status(err) >= 500 || Status(err) == http.StatusTooManyRequests
	}
	st := Status(err)
	if st == http.StatusTooManyRequests || st == http.StatusRequestTimeout || st >= 500 {
		return true
	}
	// Of an error answer that breaks off nobody can say which error it was; one that
	// comes whole and is not the service's is a proxy's, and stays what it is.
	if _, unread := errors.AsType[*smithy.DeserializationError](err); unread && (st < 300 || errors.Is(err, io.ErrUnexpectedEOF)) {
		return true
	}
	_, broken := errors.AsType[net.Error](err)
	return broken
}

// Denied tells whether the credentials are missing, wrong, expired, or not allowed to do this.
func Denied(err error) bool {
	switch Code(err) {
	case "AccessDeniedException", "AccessDenied", "UnrecognizedClientException", "InvalidSignatureException", "SignatureDoesNotMatch",
		"MissingAuthenticationTokenException", "MissingAuthenticationToken", "IncompleteSignature", "IncompleteSignatureException",
		"InvalidClientTokenId", "ExpiredTokenException", "NotAuthorized", "OptInRequired":
		return !skewed(err)
	}
	if Transient(err) {
		return false
	}
	st := Status(err)
	// The SDK's resolver of credentials has no type for its failures.
	return st == http.StatusForbidden || st == http.StatusUnauthorized || st == 0 && strings.Contains(err.Error(), "get identity: ")
}

// skewed tells whether a signature failed because of this machine's clock. The client
// has taken the server's time by then, and signs the next request by it.
func skewed(err error) bool {
	skew, ok := errors.AsType[interface {
		error
		RetryableError() bool
	}](err)
	return ok && skew.RetryableError()
}

// Wait is what the server asked for, 0 where it asked for nothing.
func Wait(err error) time.Duration {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || r.Response == nil {
		return 0
	}
	s, err := strconv.Atoi(r.Response.Header.Get("Retry-After"))
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
