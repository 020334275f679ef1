package scan

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
)

// answer is a Scan answer whose items are not decoded.
type answer struct {
	body    []byte
	lastKey []byte  // JSON of LastEvaluatedKey; nil at the end of the segment
	units   float64 // consumed capacity; -1 if the answer does not say
}

// parseAnswer reads what the next request depends on. It skips the items without checking them.
func parseAnswer(body []byte) (answer, error) {
	a := answer{body: body, units: -1}
	hasItems := false
	c := jsoncursor.New(body)
	if c.Peek() != '{' {
		return answer{}, errs.New("no Scan answer: an object with Items")
	}
	for name := range c.Members() {
		switch {
		case jsoncursor.Means(name, "Items"):
			hasItems = c.Peek() == '['
		case jsoncursor.Means(name, "LastEvaluatedKey"):
			if c.Peek() == '{' {
				a.lastKey = c.Value()
			}
		case jsoncursor.Means(name, "ConsumedCapacity"):
			for member := range c.Members() {
				if jsoncursor.Means(member, "CapacityUnits") {
					if units, err := strconv.ParseFloat(string(c.Value()), 64); err == nil && units >= 0 {
						a.units = units
					}
				}
			}
		}
	}
	switch {
	case c.Failed() || c.Peek() != 0 || c.Offset() < len(body):
		return answer{}, errs.New("the Scan answer is cut off, or bytes follow it")
	case !hasItems:
		return answer{}, errs.New("no Scan answer: it has no Items")
	}
	return a, nil
}

// cost is the consumed capacity, or an estimate: a consistent read of 4 KB is a unit.
func (a answer) cost() float64 {
	if a.units < 0 {
		return math.Ceil(float64(len(a.body)) / 4096)
	}
	return a.units
}

// answerProtocol replaces the SDK's protocol for one Scan call. It keeps the body of a 2xx response, and leaves all else to
// the SDK's protocol. The SDK calls it once per attempt; answer is the one of the last attempt.
type answerProtocol struct {
	smithyhttp.ClientProtocol
	answer answer
}

// wrap is an option of one call: it puts p before the SDK's protocol.
func (p *answerProtocol) wrap(o *dynamodb.Options) {
	p.ClientProtocol, o.Protocol = o.Protocol, p
	o.HTTPClient = awshttp.KeepBody(o.HTTPClient)
}

// DeserializeResponse reads an answer into p.answer. Of out, which the reader ignores, it sets the consumed capacity, for
// middleware that counts the cost of calls.
func (p *answerProtocol) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	p.answer = answer{}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, resp, out)
	}
	body, err := awshttp.ReadBody(resp.Response, bounded.Answer)
	if err != nil {
		return &awshttp.Error{Status: resp.StatusCode, Err: fmt.Errorf("reading it: %w", err)}
	}
	if p.answer, err = parseAnswer(body); err != nil {
		return &awshttp.Error{Status: resp.StatusCode, Err: err}
	}
	if scanned, ok := out.(*dynamodb.ScanOutput); ok && p.answer.units >= 0 {
		scanned.ConsumedCapacity = &types.ConsumedCapacity{CapacityUnits: aws.Float64(p.answer.units)}
	}
	return nil
}
