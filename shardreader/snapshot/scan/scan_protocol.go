package scan

import (
	"context"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/pipeline/record"
)

// pageProtocol replaces the SDK's protocol for one Scan call. It decodes the body of a 2xx response, and leaves other
// responses to the SDK's protocol. The SDK calls it once per attempt. page is the page of the last attempt.
type pageProtocol struct {
	smithyhttp.ClientProtocol
	decoder *record.SnapshotDecoder
	page    record.ScanPage
}

// setProtocol is an option of one call. It replaces the SDK's protocol by p.
func (p *pageProtocol) setProtocol(o *dynamodb.Options) {
	p.ClientProtocol, o.Protocol = o.Protocol, p
	o.HTTPClient = awshttp.KeepBody(o.HTTPClient)
}

// DeserializeResponse decodes a page into p.page. In out it sets only the consumed capacity, for middleware that counts
// the cost of calls. The reader ignores out.
func (p *pageProtocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response,
	out smithy.Deserializable,
) error {
	p.page = record.ScanPage{}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, resp, out)
	}
	body, err := awshttp.ReadBody(resp.Response, bounded.Answer)
	if err != nil {
		return &awshttp.Error{Status: resp.StatusCode, Err: fmt.Errorf("reading it: %w", err)}
	}
	if p.page, err = p.decoder.DecodeScan(body); err != nil {
		return &awshttp.Error{Status: resp.StatusCode, Err: err}
	}
	if scanned, ok := out.(*dynamodb.ScanOutput); ok && p.page.CapacityUnits >= 0 {
		scanned.ConsumedCapacity = &types.ConsumedCapacity{CapacityUnits: aws.Float64(p.page.CapacityUnits)}
	}
	return nil
}

// pageCost returns the consumed capacity of a page. If it is unknown, pageCost estimates one unit per 4 KB.
func pageCost(p record.ScanPage) float64 {
	if p.CapacityUnits < 0 {
		return math.Ceil(float64(p.Page.Bytes) / 4096)
	}
	return p.CapacityUnits
}
