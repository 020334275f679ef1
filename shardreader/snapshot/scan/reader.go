package scan

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
)

// endPosition is the position of the last page of a segment, which has no LastEvaluatedKey.
const endPosition pipeline.Position = "end"

// reader reads one segment.
type reader struct {
	s       *Scan
	id      string
	segment int32
	start   map[string]types.AttributeValue // ExclusiveStartKey; nil: the start
	ended   bool
}

// Read returns the next page of up to 1 MB. It waits for read capacity, and repeats a failed request until ctx is done,
// unless the failure is permanent. A page may be empty: a narrowing can leave out all its items.
func (r *reader) Read(ctx context.Context) (*pipeline.Page, error) {
	if r.ended {
		return nil, io.EOF
	}
	for attempt := 0; ; attempt++ {
		a, err := r.request(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			return r.page(a)
		}
		after, transient := pipeline.Retryable(err)
		if !transient {
			return nil, err
		}
		wait := retries.Delay(attempt, after)
		r.s.o.Retry(err, wait)
		if err := pipeline.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// Close has nothing to free.
func (r *reader) Close() error { return nil }

// request sends one request, which the SDK may repeat a few times.
func (r *reader) request(ctx context.Context) (answer, error) {
	if err := r.s.bucket.take(ctx); err != nil {
		return answer{}, err
	}
	in := &dynamodb.ScanInput{
		TableName: aws.String(r.s.o.Table), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		Segment: aws.Int32(r.segment), TotalSegments: aws.Int32(int32(r.s.o.Segments)), ExclusiveStartKey: r.start,
	}
	if r.s.filter != "" {
		in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = aws.String(r.s.filter), r.s.names, r.s.values
	}
	p := &answerProtocol{}
	_, err := r.s.o.Client.Scan(ctx, in, p.wrap)
	r.s.bucket.settle(p.answer.cost())
	if err != nil {
		return answer{}, awserr.CallError(ctx, fmt.Sprintf("Scan of the table %s, segment %s", r.s.table.Name, r.id), err, map[awserr.Kind]string{
			awserr.Denied:    "allow dynamodb:Scan on the table",
			awserr.Missing:   "the table was deleted",
			awserr.Refused:   "check that the key of the table is still the same, and begin the backfill again",
			awserr.Transient: "a smaller --rcu leaves more capacity to others, if the table is throttled",
		})
	}
	return p.answer, nil
}

// page returns the page of an answer, and moves the start of the next request behind it.
func (r *reader) page(a answer) (*pipeline.Page, error) {
	position := endPosition
	if a.lastKey == nil {
		r.start, r.ended = nil, true
	} else {
		key, err := r.s.startKey(a.lastKey)
		if err != nil {
			return nil, errs.Errorf("scan: segment %s: LastEvaluatedKey: %w", r.id, err)
		}
		r.start, position = key, pipeline.Position(a.lastKey)
	}
	decoder, body := r.s.decoder, a.body
	return &pipeline.Page{
		Position: position,
		Page:     record.Page{Bytes: len(body)},
		Decode: func() (*record.Page, error) {
			p, err := decoder.DecodeScan(body)
			return p.Page, err
		},
	}, nil
}

// startKey reads a LastEvaluatedKey.
func (s *Scan) startKey(doc []byte) (map[string]types.AttributeValue, error) {
	m, err := item.Parse(doc)
	if err != nil {
		return nil, err
	}
	ok := m.Len() == len(s.table.Keys)
	for _, name := range s.table.Keys {
		_, has := m.Get(name)
		ok = ok && has
	}
	if !ok {
		return nil, errs.New("it is not a key of the table: begin this part again")
	}
	return sdkvalue.Item(m), nil
}

// retries is the wait before a request is repeated, after the SDK's own tries.
var retries = pipeline.Backoff{Base: 100 * time.Millisecond, Max: 20 * time.Second}
