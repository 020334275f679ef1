package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// handlerRows measure Lambda events in two functions that do the same.
func handlerRows() []row {
	r := row{
		id:   "handler",
		work: "a Lambda function: an event of 100 records in, TTL deletes dropped, one transition noticed, two attributes read, the answer out",
		peer: "events.DynamoDBEvent, attributevalue",
		note: "memory is collected as in the function of template.yaml, by handlers.TuneGC, on both sides",
		of:   rate, least: 10, input: true,
	}
	return shaped(r, openHandler)
}

// handlerContest calls both functions with the same events.
type handlerContest struct {
	payloads [][]byte
	records  int // records of all payloads
	pipeline *pipeline.Pipeline
	handler  lambda.Handler // our function

	mu   sync.Mutex // a sink may be called from several goroutines
	seen handlerTally
}

// handlerTally counts what a function saw.
type handlerTally struct {
	changes, completed, orders int
	cents                      int64 // total of the orders
}

func openHandler(ctx context.Context, b *bench, s *shape) (*contest, error) {
	c, err := newHandlerContest(b, s)
	if err != nil {
		return nil, err
	}
	plain := lambda.NewHandler(c.plainly)
	out, err := agree(ctx, b, c.records, c.ours, func(ctx context.Context) (handlerTally, error) { return c.invoke(ctx, plain) })
	if err == nil {
		out.close = collectAsFunction()
	}
	return out, err
}

// collectAsFunction makes the garbage collector run as in the function of template.yaml, until the row is closed.
func collectAsFunction() (undo func() error) {
	back := handlers.TuneGC(func(name string) (string, bool) {
		return "512", name == "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
	})
	return func() error {
		back()
		return nil
	}
}

// newHandlerContest makes our function, and the events for both functions.
func newHandlerContest(b *bench, s *shape) (*handlerContest, error) {
	if b.input != s {
		s = s.expiring()
	}
	status, err := item.ParsePath("Status")
	if err != nil {
		return nil, err
	}
	c := &handlerContest{}
	c.pipeline, err = pipeline.New(pipeline.Options{
		Name:      "bench",
		Filters:   []pipeline.Filter{rules.Drop("ttl_delete", rules.TTLDeletes())},
		Detectors: []pipeline.NamedDetector{{Name: "completed", Detector: rules.Transition(status, "*", "completed")}},
		Routes:    []pipeline.Route{{Name: "reading", Sink: pipeline.SinkFunc(c.read)}},
	})
	if err != nil {
		return nil, err
	}
	c.payloads, c.records = s.events(10)
	c.handler = handlers.DynamoDB(c.pipeline)
	return c, nil
}

// ours lets our function handle all events.
func (c *handlerContest) ours(ctx context.Context) (handlerTally, error) {
	t, err := c.invoke(ctx, c.handler)
	return t, errors.Join(err, c.pipeline.Ledger().Check())
}

// invoke sends all events. Each has a deadline, like those of Lambda.
func (c *handlerContest) invoke(ctx context.Context, h lambda.Handler) (handlerTally, error) {
	c.seen = handlerTally{}
	for _, payload := range c.payloads {
		within, cancel := context.WithTimeout(ctx, time.Minute)
		answer, err := h.Invoke(within, payload)
		cancel()
		if err != nil {
			return c.seen, err
		}
		var got events.DynamoDBEventResponse
		if err := json.Unmarshal(answer, &got); err != nil || len(got.BatchItemFailures) > 0 {
			return c.seen, fmt.Errorf("the answer is %s, %w", answer, err)
		}
	}
	return c.seen, nil
}

func (c *handlerContest) read(_ context.Context, ds []pipeline.Delivery) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range ds {
		d := &ds[i]
		c.seen.changes++
		c.seen.completed += len(d.Events)
		kind, _ := d.Change.New.Get("Type")
		if s, _ := kind.Text(); s == "Order" {
			total, _ := d.Change.New.Get("Total")
			n, _ := total.Float64()
			c.seen.orders++
			c.seen.cents += int64(math.Round(n * 100))
		}
	}
	return nil
}

// plainOrder has the attributes that the plain function reads.
type plainOrder struct {
	Type   string
	Status string
	Total  float64
}

// plainly is the function as one writes it with the events of aws-lambda-go. It follows AWS' own example of a handler,
// and adds the conversion to the SDK's values that the example lacks.
func (c *handlerContest) plainly(_ context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	response := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	for i := range e.Records {
		r := &e.Records[i]
		if ttlDelete(r) {
			continue
		}
		var old, now plainOrder
		if err := errors.Join(unmarshalEvent(r.Change.OldImage, &old), unmarshalEvent(r.Change.NewImage, &now)); err != nil {
			response.BatchItemFailures = append(response.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: r.Change.SequenceNumber})
			return response, nil
		}
		c.seen.changes++
		if now.Status == "completed" && old.Status != now.Status {
			c.seen.completed++
		}
		if now.Type == "Order" {
			c.seen.orders++
			c.seen.cents += int64(math.Round(now.Total * 100))
		}
	}
	return response, nil
}

// unmarshalEvent converts an image to the SDK's values, and decodes these into to.
func unmarshalEvent(image map[string]events.DynamoDBAttributeValue, to any) error {
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
