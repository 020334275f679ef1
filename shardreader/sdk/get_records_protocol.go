package sdk

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/record"
)

// maxBody is the maximum size of the body of a response, in bytes. A page has at most 1 MB of data. Its JSON, with
// base64 and type tags, is much smaller than maxBody.
const maxBody = 64 << 20

// pageProtocol replaces the SDK's protocol for one GetRecords call. It decodes the body of a 2xx response, and leaves
// other responses to the SDK's protocol. The SDK calls it once per attempt. page is the page of the last attempt.
type pageProtocol struct {
	smithyhttp.ClientProtocol
	decoder *record.Decoder
	page    record.GetRecordsPage
}

// setProtocol is an option of one call. It replaces the SDK's protocol by p.
func (p *pageProtocol) setProtocol(o *dynamodbstreams.Options) {
	p.ClientProtocol, o.Protocol = o.Protocol, p
}

// DeserializeResponse decodes a page into p.page. It leaves the parameter out unchanged, because GetRecords ignores it.
func (p *pageProtocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry, resp *smithyhttp.Response,
	out smithy.Deserializable,
) error {
	p.page = record.GetRecordsPage{}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
	}
	body, err := awshttp.ReadBody(resp.Response, maxBody)
	if err != nil {
		return &brokenResponse{fmt.Errorf("reading the answer: %w", err)}
	}
	p.page, err = p.decoder.DecodeGetRecords(body)
	if err != nil {
		p.page.NextIterator, p.page.Ended = "", false
		return &brokenResponse{err}
	}
	return nil
}

// brokenResponse is the error of a 2xx response that is incomplete or invalid. The SDK retries the request with the
// same iterator.
type brokenResponse struct{ err error }

func (e *brokenResponse) Error() string        { return "broken answer: " + e.err.Error() }
func (e *brokenResponse) Unwrap() error        { return e.err }
func (e *brokenResponse) RetryableError() bool { return true }
