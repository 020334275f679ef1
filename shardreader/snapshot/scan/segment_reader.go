package scan

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
)

// endPosition is the position of the last page of a segment, which has no LastEvaluatedKey.
const endPosition pipeline.Position = "end"

// reader reads one segment.
type reader struct {
	scan     *Scan
	id       string
	segment  int32
	startKey map[string]types.AttributeValue // ExclusiveStartKey; nil at the start of the segment
	ended    bool
}

// Read returns the next page of up to 1 MB. It waits for read capacity, and retries a failed request until ctx is done,
// unless the failure is permanent. A page is empty if the narrowing selects none of its items.
func (r *reader) Read(ctx context.Context) (*pipeline.Page, error) {
	if r.ended {
		return nil, io.EOF
	}
	var page record.ScanPage
	err := requestBackoff.Retry(ctx, r.scan.onRetry, func() (err error) {
		page, err = r.request(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.advance(page)
}

// Close does nothing.
func (r *reader) Close() error { return nil }

// request sends one request. The SDK may retry it a few times.
func (r *reader) request(ctx context.Context) (record.ScanPage, error) {
	taken, err := r.scan.limiter.reserve(ctx)
	if err != nil {
		return record.ScanPage{}, err
	}
	in := &dynamodb.ScanInput{
		TableName: aws.String(r.scan.options.Table), ConsistentRead: aws.Bool(true),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		Segment:                aws.Int32(r.segment), TotalSegments: aws.Int32(int32(r.scan.options.Segments)),
		ExclusiveStartKey: r.startKey,
	}
	if r.scan.options.PageItems > 0 {
		in.Limit = aws.Int32(int32(r.scan.options.PageItems))
	}
	if r.scan.filter != "" {
		in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = aws.String(r.scan.filter),
			r.scan.names, r.scan.values
	}
	d := &awshttp.AnswerDecoder[record.ScanPage]{MaxBytes: bounded.Answer, Decode: r.scan.decode}
	_, err = r.scan.options.Client.Scan(ctx, in, func(o *dynamodb.Options) {
		d.Replace(&o.Protocol)
		o.HTTPClient = awshttp.KeepBody(o.HTTPClient)
	})
	r.scan.limiter.adjust(taken, pageCost(d.Answer))
	if err != nil {
		return record.ScanPage{}, awserr.CallError(ctx,
			fmt.Sprintf("Scan of the table %s, segment %s", r.scan.table.Name, r.id), err, map[awserr.Kind]string{
				awserr.Denied:    "allow dynamodb:Scan on the table",
				awserr.Missing:   "the table was deleted",
				awserr.Refused:   "check that the key of the table is still the same, and begin the backfill again",
				awserr.Transient: "a smaller --rcu leaves more capacity to others, if the table is throttled",
			})
	}
	return d.Answer, nil
}

// decode decodes the body of an answer. In out it sets only the consumed capacity, for middleware that counts the cost
// of calls.
func (s *Scan) decode(body []byte, out smithy.Deserializable) (record.ScanPage, error) {
	page, err := s.decoder.DecodeScan(body)
	if scanned, ok := out.(*dynamodb.ScanOutput); ok && err == nil && page.CapacityUnits >= 0 {
		scanned.ConsumedCapacity = &types.ConsumedCapacity{CapacityUnits: aws.Float64(page.CapacityUnits)}
	}
	return page, err
}

// pageCost returns the consumed capacity of a page. If it is unknown, pageCost estimates one unit per 4 KB.
func pageCost(p record.ScanPage) float64 {
	if p.CapacityUnits < 0 {
		return math.Ceil(float64(p.Page.Bytes) / 4096)
	}
	return p.CapacityUnits
}

// onRetry is called before a failed request is repeated.
func (s *Scan) onRetry(err error, wait time.Duration) {
	if awserr.IsThrottled(err) {
		s.limiter.pace.SlowDown()
	}
	s.options.OnRetry(err, wait)
}

// advance moves the reader to the end of an answer, and returns the page of the answer.
func (r *reader) advance(p record.ScanPage) (*pipeline.Page, error) {
	page := &pipeline.Page{
		Position: endPosition,
		Page:     record.Page{Bytes: p.Page.Bytes},
		Decode:   func() (*record.Page, error) { return p.Page, nil },
	}
	if p.LastKey == nil {
		r.ended = true
		return page, nil
	}
	var err error
	if r.startKey, err = r.scan.parseStartKey(p.LastKey); err != nil {
		return nil, errs.Errorf("scan: segment %s: LastEvaluatedKey: %w", r.id, err)
	}
	page.Position = pipeline.Position(p.LastKey)
	return page, nil
}

// parseStartKey parses a LastEvaluatedKey.
func (s *Scan) parseStartKey(doc []byte) (map[string]types.AttributeValue, error) {
	m, err := item.Parse(doc)
	if err != nil {
		return nil, err
	}
	isMissing := func(name string) bool { _, has := m.Get(name); return !has }
	if m.Len() != len(s.table.Keys) || slices.ContainsFunc(s.table.Keys, isMissing) {
		return nil, errs.New("it is not a key of the table: begin this part again")
	}
	return sdkvalue.Item(m), nil
}

// requestBackoff defines the pauses before a request is repeated, after the SDK's own retries.
var requestBackoff = pipeline.Backoff{Base: 100 * time.Millisecond, Max: 20 * time.Second}
