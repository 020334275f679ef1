package sdk

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline/record"
)

// maxAnswer bounds the body of an answer. The service stops at 1 MB of data a
// page; its JSON, with base64 and type tags, stays well below this.
const maxBody = 64 << 20

// recordsProtocol stands in for the SDK's protocol during one GetRecords call and
// reads the body of a 2xx answer itself; everything else passes through. The SDK
// calls it once an attempt, so answer is that of the last one.
type pageProtocol struct {
	smithyhttp.ClientProtocol
	decoder *record.Decoder
	page    record.GetRecordsPage
}

// wrap is an option of a single call.
func (p *pageProtocol) wrap(o *dynamodbstreams.Options) {
	p.ClientProtocol, o.Protocol = o.Protocol, p
}

// DeserializeResponse decodes a page. It leaves out as it is: nobody reads it.
func (p *pageProtocol) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	p.page = record.GetRecordsPage{}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
	}
	body, err := readBody(resp)
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

// readBody reads the body whole into a buffer of its own, and holds it against
// the checksum that the service sends along.
func readBody(resp *smithyhttp.Response) ([]byte, error) {
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= maxBody {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case n > maxBody:
		return nil, errs.Errorf("more than %d MiB", maxBody>>20)
	}
	// The checksum is of the bytes as sent: it says nothing once they are unzipped.
	if sum := resp.Header.Get("X-Amz-Crc32"); sum != "" && !resp.Uncompressed {
		want, err := strconv.ParseUint(sum, 10, 32)
		if err == nil && uint32(want) != crc32.ChecksumIEEE(b.Bytes()) {
			return nil, errs.New("its checksum differs from the one in X-Amz-Crc32")
		}
	}
	return b.Bytes(), nil
}

// brokenAnswer is a 2xx answer that cannot be believed. The SDK's retryer asks
// again: with the same iterator, as the request is the same.
type brokenResponse struct{ err error }

func (e *brokenResponse) Error() string        { return "broken answer: " + e.err.Error() }
func (e *brokenResponse) Unwrap() error        { return e.err }
func (e *brokenResponse) RetryableError() bool { return true }
