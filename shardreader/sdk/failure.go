package sdk

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/internal/awserr"
)

// failed says what an error of the SDK means to a reader of shards. Codes are
// those of the DynamoDB Streams API reference and its common errors.
func failed(ctx context.Context, op, subject string, err error) error {
	e := &shardreader.Error{Op: op, Subject: subject, Err: awserr.Cause(err)}
	if ctx.Err() != nil {
		e.Err = context.Cause(ctx)
		return e
	}
	switch code := awserr.Code(err); {
	case code == "ExpiredIteratorException":
		e.Kind = shardreader.ErrExpiredIterator
		e.Hint = "take a new iterator behind the last sequence number that was read"
	case code == "TrimmedDataAccessException":
		e.Kind = shardreader.ErrTrimmed
		e.Hint = "records older than 24 hours are gone: go on at TRIM_HORIZON and repair what was missed"
	case code == "ResourceNotFoundException":
		e.Kind = shardreader.ErrNotFound
		e.Hint = "check name, Region and account; shards and disabled streams disappear after 24 hours"
	case awserr.Denied(err):
		e.Kind = shardreader.ErrDenied
		e.Hint = "check the credentials, that they allow dynamodb:" + op + ", and what stands between here and the endpoint"
	case awserr.Transient(err):
		e.Err = pipeline.RetryAfter(e.Err, awserr.Wait(err))
	}
	return e
}
