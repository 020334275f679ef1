package sinks_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/state"
)

// Notify returns a store that accepts each event and forgets it.
func (discard) Notify(context.Context, *config.Config, config.Sink) (notify.Store, error) {
	return forget{}, nil
}

// DeadLetters returns a store that accepts each dead letter and forgets it.
func (discard) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return forget{}, nil
}

// State returns no store.
func (discard) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

type forget struct{}

func (forget) Publish(context.Context, []notify.Message) error  { return nil }
func (forget) Put(context.Context, []pipeline.DeadLetter) error { return nil }

var sequence = 100_000_000_000_000_000

// recordJSON returns a record of the item pk with a new sequence number.
func recordJSON(op, pk, images string) string {
	sequence++
	return fmt.Sprintf(`{"eventID":"%[1]d","eventName":%[2]q,"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000","dynamodb":{"ApproximateCreationDateTime":1767225600,"Keys":{"PK":{"S":%[3]q}},"SequenceNumber":"%[1]d000","SizeBytes":10,"StreamViewType":"NEW_AND_OLD_IMAGES"%[4]s}}`, sequence, op, pk, images)
}

func decode(t testing.TB, rec string) *record.Page {
	t.Helper()
	page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(rec))
	if err != nil {
		t.Fatalf("%v: %s", err, rec)
	}
	return page
}

func insert(t testing.TB, pk, attributes string) *record.Change {
	t.Helper()
	p := decode(t, recordJSON("INSERT", pk, fmt.Sprintf(`,"NewImage":{"PK":{"S":%q},%s}`, pk, attributes)))
	if len(p.Changes) != 1 {
		t.Fatalf("not a change: %v", p.Errors)
	}
	return &p.Changes[0]
}

func remove(t testing.TB, pk, attributes string) *record.Change {
	t.Helper()
	p := decode(t, recordJSON("REMOVE", pk, fmt.Sprintf(`,"OldImage":{"PK":{"S":%q},%s}`, pk, attributes)))
	if len(p.Changes) != 1 {
		t.Fatalf("not a change: %v", p.Errors)
	}
	return &p.Changes[0]
}

// broken returns the error of a record whose image is invalid.
func broken(t testing.TB) *record.RecordError {
	t.Helper()
	p := decode(t, recordJSON("INSERT", "B", `,"NewImage":{"PK":{"S":"B"},"N":{"N":"ten"}}`))
	if len(p.Errors) != 1 {
		t.Fatalf("%d errors, want one", len(p.Errors))
	}
	return p.Errors[0]
}

// source returns a source with one page of changes and record errors in the given order.
func source(records ...any) pipeline.Source {
	page := &pipeline.Page{Partition: "0", Position: "1", End: true}
	for i, r := range records {
		switch r := r.(type) {
		case *record.Change:
			c := *r
			c.Index = int32(i)
			page.Changes = append(page.Changes, c)
			page.Bytes += len(c.Raw)
		case *record.RecordError:
			e := *r
			e.Index = i
			page.Errors = append(page.Errors, &e)
			page.Bytes += len(e.Raw)
		}
	}
	return &once{page}
}

type once struct{ page *pipeline.Page }

func (o *once) Read(context.Context) (*pipeline.Page, error) {
	if o.page == nil {
		return nil, io.EOF
	}
	p := o.page
	o.page = nil
	return p, nil
}

// records returns a source with one page of stream records. Each line is a record.
func records(lines ...string) pipeline.Source {
	d := record.NewDecoder(record.DecoderOptions{Table: "shop", EpochZero: true})
	page := d.DecodeLines([]byte(strings.Join(lines, "\n")))
	return &once{&pipeline.Page{Page: *page, Partition: "0", Position: "1", End: true}}
}
