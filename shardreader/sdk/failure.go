package sdk

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// failed says what an error of the SDK means to a reader of shards. Codes are
// those of the DynamoDB Streams API reference and its common errors.
func failed(ctx context.Context, op, subject string, err error) error {
	e := &shardreader.Error{Op: op, Subject: subject, Err: withoutOperation(err)}
	if ctx.Err() != nil {
		e.Err = context.Cause(ctx)
		return e
	}
	code := ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	switch code {
	case "ExpiredIteratorException":
		e.Kind = shardreader.ErrExpiredIterator
		e.Hint = "take a new iterator behind the last sequence number that was read"
	case "TrimmedDataAccessException":
		e.Kind = shardreader.ErrTrimmed
		e.Hint = "records older than 24 hours are gone: go on at TRIM_HORIZON and repair what was missed"
	case "ResourceNotFoundException":
		e.Kind = shardreader.ErrNotFound
		e.Hint = "check name, Region and account; shards and disabled streams disappear after 24 hours"
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException",
		"MissingAuthenticationTokenException", "MissingAuthenticationToken", "IncompleteSignature", "InvalidClientTokenId",
		"ExpiredTokenException", "NotAuthorized", "OptInRequired", "SignatureDoesNotMatch":
		e.Kind = shardreader.ErrDenied
		e.Hint = "check the credentials, and that they allow dynamodb:" + op
	default:
		if transient(err) {
			e.Err = pipeline.Transient(e.Err)
		} else if status(err) == http.StatusForbidden || status(err) == http.StatusUnauthorized {
			e.Kind = shardreader.ErrDenied
			e.Hint = "check the credentials, and what stands between here and the endpoint"
		}
	}
	return e
}

// transient is the SDK's own judgement, and beside it: an answer that breaks off
// under the SDK's decoder, and a page of some proxy with a status to try again on.
func transient(err error) bool {
	if retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary {
		return true
	}
	if st := status(err); st == http.StatusTooManyRequests || st == http.StatusRequestTimeout || st >= 500 {
		return true
	}
	_, cut := errors.AsType[*smithy.DeserializationError](err)
	return cut && status(err) < 300
}

// status is the HTTP status that err came with, 0 where there is none.
func status(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return r.HTTPStatusCode()
	}
	return 0
}

// withoutOperation drops the SDK's prefix, which says what Error says already.
func withoutOperation(err error) error {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok && op.Err != nil {
		return op.Err
	}
	return err
}
