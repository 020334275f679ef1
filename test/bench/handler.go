package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
)

const eventRecords = 100

// handlerContest hands events of 100 records to two Lambda functions that do the same, on one
// core: they pass over TTL deletes, see whether Status became shipped, and read two attributes.
type handlerContest struct {
	cores    int // before
	payloads [][]byte
	records  int

	pipeline *pipeline.Pipeline
	handler  lambda.Handler
	plain    lambda.Handler
	seen     tally
	last     tally // of the side before
}

// tally is what a function saw.
type tally struct {
	events, orders int
	total          float64
}

func openHandler(_ context.Context, _ *servers, in *input) (contest, error) {
	c := &handlerContest{}
	for ; c.records < in.n; c.records += eventRecords {
		var b strings.Builder
		for i := range eventRecords {
			b.WriteString(map[bool]string{true: `{"Records":[`, false: ","}[i == 0])
			writeOrder(&b, c.records+i)
		}
		c.payloads = append(c.payloads, []byte(b.String()+"]}"))
	}
	status, err := pipeline.ParsePath("Status")
	if err != nil {
		return nil, err
	}
	c.pipeline, err = pipeline.New(pipeline.Options{
		Name:      "bench",
		Filters:   []pipeline.Filter{pipeline.Drop("ttl_delete", pipeline.TTLDeletes())},
		Detectors: []pipeline.NamedDetector{{Name: "shipped", Detector: pipeline.Transition(status, "*", "shipped")}},
		Routes:    []pipeline.Route{{Name: "reading", Sink: pipeline.SinkFunc(c.read)}},
	})
	if err != nil {
		return nil, err
	}
	c.handler = handlers.DynamoDB(c.pipeline)
	c.plain = lambda.NewHandler(c.plainly)
	c.cores = runtime.GOMAXPROCS(1)
	return c, nil
}

// writeOrder writes the record of the reading comparison as Lambda sends it; every tenth is a
// TTL delete.
func writeOrder(b *strings.Builder, i int) {
	o := order(i)
	name, images, identity := "MODIFY", fmt.Sprintf(`"OldImage":%s,"NewImage":%s`, o.Old, o.New), ""
	if i%10 == 9 {
		name, images, identity = "REMOVE", `"OldImage":`+o.Old, `"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},`
	}
	fmt.Fprintf(b, `{"eventID":"%032x","eventName":%q,"eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-central-1",%s"dynamodb":{"ApproximateCreationDateTime":1795251600,"Keys":%s,%s,"SequenceNumber":"%021d","SizeBytes":1000,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":%q}`,
		i, name, identity, o.Keys, images, 100000000000000000+i, streamARN)
}

func (c *handlerContest) read(_ context.Context, ds []pipeline.Delivery) error {
	for i := range ds {
		d := &ds[i]
		kind, _ := d.Change.New.Get("Type")
		total, _ := d.Change.New.Get("Total")
		if s, _ := kind.Text(); s == "Order" {
			n, _ := total.Float64()
			c.seen.orders++
			c.seen.total += n
		}
		c.seen.events += len(d.Events)
	}
	return nil
}

// plainOrder is what the plain function reads of an item.
type plainOrder struct {
	Type   string
	Status string
	Total  float64
}

// plainly is the function as one writes it with the events of aws-lambda-go.
func (c *handlerContest) plainly(_ context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	response := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	for _, r := range e.Records {
		if id := r.UserIdentity; id != nil && r.EventName == "REMOVE" && id.Type == "Service" && id.PrincipalID == "dynamodb.amazonaws.com" {
			continue
		}
		var old, now plainOrder
		if err := errors.Join(unmarshal(r.Change.OldImage, &old), unmarshal(r.Change.NewImage, &now)); err != nil {
			response.BatchItemFailures = append(response.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: r.Change.SequenceNumber})
			return response, nil
		}
		if now.Status == "shipped" && old.Status != now.Status {
			c.seen.events++
		}
		if now.Type == "Order" {
			c.seen.orders++
			c.seen.total += now.Total
		}
	}
	return response, nil
}

// unmarshal brings an image to the SDK's values, and those into to.
func unmarshal(image map[string]events.DynamoDBAttributeValue, to any) error {
	return attributevalue.UnmarshalMap(convertMap(image), to)
}

func convertMap(m map[string]events.DynamoDBAttributeValue) map[string]types.AttributeValue {
	out := make(map[string]types.AttributeValue, len(m))
	for name, v := range m {
		out[name] = convert(v)
	}
	return out
}

func convert(v events.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case events.DataTypeMap:
		return &types.AttributeValueMemberM{Value: convertMap(v.Map())}
	case events.DataTypeList:
		out := make([]types.AttributeValue, len(v.List()))
		for i, e := range v.List() {
			out[i] = convert(e)
		}
		return &types.AttributeValueMemberL{Value: out}
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

func (c *handlerContest) fresh(context.Context) error {
	runtime.GC()
	return nil
}

func (c *handlerContest) ours(ctx context.Context) error {
	err := c.invoke(ctx, c.handler)
	return errors.Join(err, c.pipeline.Ledger().Check())
}

func (c *handlerContest) bare(ctx context.Context) error { return c.invoke(ctx, c.plain) }

// invoke sends all events, each with a deadline as Lambda sets it. Both sides must have seen the same.
func (c *handlerContest) invoke(ctx context.Context, h lambda.Handler) error {
	c.seen = tally{}
	for _, payload := range c.payloads {
		within, cancel := context.WithTimeout(ctx, time.Minute)
		answer, err := h.Invoke(within, payload)
		cancel()
		if err != nil {
			return err
		}
		var got events.DynamoDBEventResponse
		if err := json.Unmarshal(answer, &got); err != nil || len(got.BatchItemFailures) > 0 {
			return fmt.Errorf("the answer is %s, %w", answer, err)
		}
	}
	if c.seen.events != c.records/10*9 || c.last.events > 0 && c.seen != c.last {
		return fmt.Errorf("the function saw %+v, and the one before %+v", c.seen, c.last)
	}
	c.last = c.seen
	return nil
}

func (c *handlerContest) close() error {
	runtime.GOMAXPROCS(c.cores)
	return nil
}
