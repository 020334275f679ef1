package main

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// eventRows measure decoding Lambda events of 100 records, dropping TTL deletes, and looking for one transition.
func eventRows() []row {
	r := row{
		id:   "event",
		work: "decode Lambda events of 100 records, drop TTL deletes (every tenth), look for one transition",
		peer: "events.DynamoDBEvent, encoding/json",
		note: "the transition is Status becoming \"completed\"; an event of large records has as many as 6 MB hold",
		of:   rate, least: 40, allocs: new(1.0), input: true,
		missed: "its budget is met on the machine of the committed results by a few percent; a third of the time is the first of a record's images, of which the record before tells only names and types, and a tenth is collecting what the changes before were",
	}
	return shaped(r, openEvent)
}

// shaped returns a row for the usual record, which has the budget, and a row for each other shape.
func shaped(r row, open func(context.Context, *bench, *shape) (*contest, error)) []row {
	out := []row{r}
	for i, name := range []string{"small", "large", "400 attributes", "shop"} {
		v := r
		v.variant, v.least, v.most, v.allocs, v.input, v.note = name, 0, 0, nil, false, ""
		v.open = func(ctx context.Context, b *bench) (*contest, error) {
			all, err := shapes()
			if err != nil {
				return nil, err
			}
			return open(ctx, b, all[i+1])
		}
		out = append(out, v)
	}
	out[0].open = func(ctx context.Context, b *bench) (*contest, error) { return open(ctx, b, b.usual()) }
	return out
}

// eventContest compares what both sides find in events.
type eventContest struct {
	payloads [][]byte
	records  int

	decoder    *record.Decoder
	filter     pipeline.Filter
	transition pipeline.Detector
	found      []pipeline.Event
}

// eventTally counts what was found.
type eventTally struct{ kept, dropped, completed int }

func openEvent(ctx context.Context, b *bench, s *shape) (*contest, error) {
	if b.input != s {
		s = s.expiring()
	}
	status, err := item.ParsePath("Status")
	if err != nil {
		return nil, err
	}
	c := &eventContest{
		decoder:    record.NewDecoder(record.DecoderOptions{}),
		filter:     rules.Drop("ttl_delete", rules.TTLDeletes()),
		transition: rules.Transition(status, "*", "completed"),
	}
	c.payloads, c.records = s.events(10)
	return agree(ctx, b, c.records, c.ours, c.theirs)
}

func (c *eventContest) ours(context.Context) (t eventTally, err error) {
	for _, payload := range c.payloads {
		page, err := c.decoder.Decode(payload)
		if err != nil {
			return t, err
		}
		if len(page.Errors) > 0 {
			return t, page.Errors[0]
		}
		for i := range page.Changes {
			change := &page.Changes[i]
			verdict, err := c.filter.Check(change)
			if err != nil {
				return t, err
			}
			if verdict.Drop {
				t.dropped++
				continue
			}
			t.kept++
			if c.found, err = c.transition.Detect(c.found[:0], change); err != nil {
				return t, err
			}
			t.completed += len(c.found)
		}
	}
	return t, nil
}

func (c *eventContest) theirs(context.Context) (t eventTally, err error) {
	for _, payload := range c.payloads {
		var e events.DynamoDBEvent
		if err := json.Unmarshal(payload, &e); err != nil {
			return t, err
		}
		for i := range e.Records {
			r := &e.Records[i]
			if ttlDelete(r) {
				t.dropped++
				continue
			}
			t.kept++
			if becameCompleted(r) {
				t.completed++
			}
		}
	}
	return t, nil
}

// ttlDelete recognizes a TTL delete as the documentation of TTL describes.
func ttlDelete(r *events.DynamoDBEventRecord) bool {
	id := r.UserIdentity
	return r.EventName == "REMOVE" && id != nil && id.Type == "Service" && id.PrincipalID == "dynamodb.amazonaws.com"
}

func becameCompleted(r *events.DynamoDBEventRecord) bool {
	now, ok := r.Change.NewImage["Status"]
	if !ok || now.DataType() != events.DataTypeString || now.String() != "completed" {
		return false
	}
	old, ok := r.Change.OldImage["Status"]
	return !ok || old.DataType() != events.DataTypeString || old.String() != now.String()
}
