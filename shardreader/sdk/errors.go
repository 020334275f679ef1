package sdk

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader"
)

// errs makes the errors of this package. Each error has a redacted text for logs.
const errs = redact.Class("stream")

// newError returns an error of the SDK as a [shardreader.Error]. The error codes are from the DynamoDB Streams API
// reference, with its common errors.
func newError(ctx context.Context, op, subject string, err error) *shardreader.Error {
	e := &shardreader.Error{Op: op, Subject: subject, Err: awserr.WithoutOperation(err)}
	if ctx.Err() != nil {
		e.Err = context.Cause(ctx)
		return e
	}
	switch code, kind := awserr.Code(err), awserr.KindOf(err); {
	case code == "ExpiredIteratorException":
		e.Kind = shardreader.ErrExpiredIterator
		e.Hint = "take a new iterator behind the last sequence number that was read"
	case code == "TrimmedDataAccessException":
		e.Kind = shardreader.ErrTrimmed
		e.Hint = "records older than 24 hours are gone: continue at TRIM_HORIZON and repair what was missed"
	case kind == awserr.Missing:
		e.Kind = shardreader.ErrNotFound
		e.Hint = "check name, Region and account; shards and disabled streams disappear after 24 hours"
	case kind == awserr.Denied:
		e.Kind = shardreader.ErrDenied
		e.Hint = "check the credentials, that they allow dynamodb:" + op + ", and what stands between here and the endpoint"
	case kind == awserr.Transient:
		e.Err = pipeline.RetryAfter(e.Err, awserr.RequestedWait(err))
	}
	return e
}
