package sdk

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// Streams implements the Streams API with the AWS SDK. It is safe for concurrent use.
type Streams struct {
	client  *dynamodbstreams.Client
	decoder *record.Decoder
}

var _ shardreader.API = (*Streams)(nil)

// New returns an API that uses the SDK's client. o holds the options of the decoder. New ignores o.StreamARN and
// o.Shard, because each query names its own.
func New(client *dynamodbstreams.Client, o record.DecoderOptions) *Streams {
	return &Streams{client: client, decoder: record.NewDecoder(o)}
}

// ListStreams implements [shardreader.API].
func (s *Streams) ListStreams(ctx context.Context, table, after string) (shardreader.StreamPage, error) {
	subject := "of this account"
	if table != "" {
		subject = "of table " + table
	}
	out, err := s.client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{
		TableName:               nilIfEmpty(table),
		ExclusiveStartStreamArn: nilIfEmpty(after),
	}, keepRequestBody)
	if err == nil && out.Streams == nil {
		err = incompleteAnswer("it has no list of streams")
	}
	if err != nil {
		return shardreader.StreamPage{}, newError(ctx, "ListStreams", subject, err)
	}
	page := shardreader.StreamPage{After: aws.ToString(out.LastEvaluatedStreamArn)}
	for _, r := range out.Streams {
		page.Streams = append(page.Streams, shardreader.StreamRef{
			ARN:   aws.ToString(r.StreamArn),
			Table: aws.ToString(r.TableName),
			Label: aws.ToString(r.StreamLabel),
		})
	}
	return page, nil
}

// DescribeStream implements [shardreader.API].
func (s *Streams) DescribeStream(
	ctx context.Context, q shardreader.DescribeQuery,
) (shardreader.StreamDescription, error) {
	in := &dynamodbstreams.DescribeStreamInput{
		StreamArn:             aws.String(q.StreamARN),
		ExclusiveStartShardId: nilIfEmpty(q.After),
	}
	if q.ChildrenOf != "" {
		in.ShardFilter = &types.ShardFilter{ShardId: aws.String(q.ChildrenOf), Type: types.ShardFilterTypeChildShards}
	}
	out, err := s.client.DescribeStream(ctx, in, keepRequestBody)
	if err == nil && out.StreamDescription == nil {
		err = incompleteAnswer("it has no stream description")
	}
	if err != nil {
		return shardreader.StreamDescription{}, newError(ctx, "DescribeStream", q.StreamARN, err)
	}
	described := out.StreamDescription
	desc := shardreader.StreamDescription{
		StreamRef: shardreader.StreamRef{
			ARN:   aws.ToString(described.StreamArn),
			Table: aws.ToString(described.TableName),
			Label: aws.ToString(described.StreamLabel),
		},
		Status:   shardreader.StreamStatus(described.StreamStatus),
		ViewType: record.ViewTypeOf(string(described.StreamViewType)),
		Created:  aws.ToTime(described.CreationRequestDateTime).UTC(),
		After:    aws.ToString(described.LastEvaluatedShardId),
	}
	for _, listed := range described.Shards {
		shard := shardreader.Shard{ID: aws.ToString(listed.ShardId), Parent: aws.ToString(listed.ParentShardId)}
		if r := listed.SequenceNumberRange; r != nil {
			shard.First, shard.Last = aws.ToString(r.StartingSequenceNumber), aws.ToString(r.EndingSequenceNumber)
		}
		desc.Shards = append(desc.Shards, shard)
	}
	return desc, nil
}

// GetShardIterator implements [shardreader.API].
func (s *Streams) GetShardIterator(ctx context.Context, at shardreader.ShardPosition) (string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         aws.String(at.StreamARN),
		ShardId:           aws.String(at.Shard),
		ShardIteratorType: types.ShardIteratorType(at.Type),
		SequenceNumber:    nilIfEmpty(at.Sequence),
	}
	options := []func(*dynamodbstreams.Options){keepRequestBody}
	if at.Type == shardreader.AtTimestamp {
		in.Timestamp = &at.Time
		options = append(options, sendOnce)
	}
	out, err := s.client.GetShardIterator(ctx, in, options...)
	if err == nil && aws.ToString(out.ShardIterator) == "" {
		err = incompleteAnswer("it has no iterator")
	}
	if err != nil {
		return "", iteratorError(ctx, at, err)
	}
	return *out.ShardIterator, nil
}

// iteratorError returns an error of GetShardIterator.
func iteratorError(ctx context.Context, at shardreader.ShardPosition, err error) *shardreader.Error {
	e := newError(ctx, "GetShardIterator", shardSubject(at.Shard, at.StreamARN), err)
	// DynamoDB Local answers InternalFailure if it does not know the type, and InternalServerError if it fails.
	typeIsUnknown := at.Type == shardreader.AtTimestamp && awserr.Code(err) == "InternalFailure"
	if typeIsUnknown && ctx.Err() == nil {
		// Without newError's mark, the error is not transient. The caller then takes another type instead of a retry.
		e.Err = awserr.WithoutOperation(err)
		e.Hint = "a server that does not know AT_TIMESTAMP is read from TRIM_HORIZON"
	}
	return e
}

// maxBody is the maximum size of the body of a page, in bytes. A page has at most 1 MB of data. Its JSON, with base64
// and type tags, is much smaller than maxBody.
const maxBody = 64 << 20

// GetRecords implements [shardreader.API].
func (s *Streams) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	in := &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String(q.Iterator)}
	if q.Limit > 0 {
		in.Limit = aws.Int32(int32(min(q.Limit, 1000)))
	}
	decoder := s.decoder.ForShard(q.StreamARN, q.Shard)
	answers := &awshttp.AnswerDecoder[record.GetRecordsPage]{
		MaxBytes: maxBody,
		Decode: func(body []byte, _ smithy.Deserializable) (record.GetRecordsPage, error) {
			return decoder.DecodeGetRecords(body)
		},
	}
	_, err := s.client.GetRecords(ctx, in, keepRequestBody,
		func(o *dynamodbstreams.Options) { answers.Replace(&o.Protocol) })
	if err != nil { // Answer has the complete records of a response that broke off
		return answers.Answer, newError(ctx, "GetRecords", shardSubject(q.Shard, q.StreamARN), err)
	}
	return answers.Answer, nil
}

// incompleteAnswer returns the error of a 2xx answer that lacks a part. The error is transient.
func incompleteAnswer(text string) error {
	return &awshttp.Error{Status: http.StatusOK, Err: errs.New(text)}
}

func shardSubject(shard, arn string) string { return fmt.Sprintf("shard %s of %s", shard, arn) }

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// sendOnce turns off the retries of the SDK, for a call with a fallback.
func sendOnce(o *dynamodbstreams.Options) { o.RetryMaxAttempts = 1 }

// keepRequestBody keeps the request body of a call open, because net/http may still send it after the response was
// received.
func keepRequestBody(o *dynamodbstreams.Options) { o.HTTPClient = awshttp.KeepBody(o.HTTPClient) }
