package awshttp

import (
	"context"
	"fmt"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// AnswerDecoder replaces the SDK's protocol for one call. It decodes the body of a 2xx answer, and leaves other answers
// to the SDK's protocol. If the body cannot be read or decoded, the error is an [Error], so the SDK retries the call.
type AnswerDecoder[T any] struct {
	smithyhttp.ClientProtocol
	MaxBytes int64 // maximum size of the body
	// Decode decodes a body. out is the SDK's own result, which the caller of the SDK may ignore.
	Decode func(body []byte, out smithy.Deserializable) (T, error)
	Answer T // answer of the last attempt
}

// Replace puts the decoder in the place of the SDK's protocol. Call it in an option of the SDK call, with the address
// of Options.Protocol.
func (d *AnswerDecoder[T]) Replace(protocol *smithyhttp.ClientProtocol) {
	d.ClientProtocol, *protocol = *protocol, d
}

// DeserializeResponse decodes one answer. The SDK calls it once per attempt.
func (d *AnswerDecoder[T]) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response,
	out smithy.Deserializable,
) error {
	d.Answer = *new(T)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return d.ClientProtocol.DeserializeResponse(ctx, schema, registry, resp, out)
	}
	body, err := ReadBody(resp.Response, d.MaxBytes)
	if err != nil {
		return &Error{Status: resp.StatusCode, Err: fmt.Errorf("reading it: %w", err)}
	}
	if d.Answer, err = d.Decode(body, out); err != nil {
		return &Error{Status: resp.StatusCode, Err: err}
	}
	return nil
}
