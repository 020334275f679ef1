// Package awserr says what a failed call of DynamoDB or of its streams means: what its
// code is, whether it is worth another try, whether the credentials are at fault.
// Codes are those of the services' API references and of their common errors.
package awserr

import (
	"errors"
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
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != unknown {
		return api.ErrorCode()
	}
	return ""
}

// unknown is the code that the SDK gives to an error answer in which it finds none.
const unknown = "UnknownError"

// Status is the HTTP status that err came with, 0 where there is none.
func Status(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && r.Response != nil {
		return r.HTTPStatusCode()
	}
	return 0
}

// Transient tells whether the same call may go well later. It is the SDK's own
// judgement, and beside it: an answer that breaks off under the SDK's decoder, an error
// answer without a code, which is a page of some proxy, a connection that failed.
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
	case "":
	default:
		return Status(err) >= 500 || Status(err) == http.StatusTooManyRequests
	}
	if _, unread := errors.AsType[*smithy.DeserializationError](err); unread || Status(err) != 0 {
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
	// The SDK's resolver of credentials has no type for its failures.
	return Status(err) == 0 && strings.Contains(err.Error(), "get identity: ")
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
