package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// allocFile is a pipeline with a filter, a transition, a view and a search index.
const allocFile = `version: 1
name: cost
source: {table: shop}
state: {table: cost-state}
connections: {os: {opensearch: 'https://localhost:9200', auth: sigv4}}
filters: [{drop: ttl_deletes}]
detect: {completed: {attribute: Status, to: completed}}
sinks:
  rows: {view: {table: rows, key: {PK: 'STATUS#{Type}', SK: '{@key}'}, attributes: {status: '{Status}', total: '{Total}', kind: order}}}
  documents: {search: {connection: os, index: documents}}
  history: {custom: {name: history}}
`

const (
	allocRecords = 500
	maxAllocs    = 6 // 1.4 are measured; the race detector needs more, because it empties pools; test/bench allows 2
)

// TestAllocs_WholePipeline limits the allocations for each record after its decoding. They are the allocations for its
// document, and its share of the allocations for a page and a batch.
func TestAllocs_WholePipeline(t *testing.T) {
	cfg, err := config.Parse("cost.yaml", []byte(allocFile), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	folder, err := template.Parse("dt={@time|date:2006-01-02}", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := archive.New(archive.Options{Store: takeAll{}, Partition: folder})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Assemble(t.Context(), cfg, takeAll{}, sinks.With("history", func(context.Context, struct{}) (pipeline.Sink, error) {
		return planned{plan}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	var input bytes.Buffer
	for i := range allocRecords {
		key := fmt.Sprintf(`"PK":{"S":"USER#%d"},"SK":{"S":"ORDER#%d"}`, i%50, i)
		image := func(status string) string {
			return fmt.Sprintf(`{%s,"Type":{"S":"Order"},"Status":{"S":%q},"Total":{"N":"129.95"},"Lines":{"L":[{"M":{"sku":{"S":"A"},"qty":{"N":"2"}}}]}}`, key, status)
		}
		fmt.Fprintf(&input, `{"eventName":"MODIFY","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","dynamodb":{"ApproximateCreationDateTime":1795251600,"Keys":{%s},"OldImage":%s,"NewImage":%s,"SequenceNumber":"%021d","StreamViewType":"NEW_AND_OLD_IMAGES"}}`+"\n",
			key, image("paid"), image("completed"), 1000+i)
	}
	page := p.Decoder().DecodeLines(input.Bytes())
	run := func() {
		read := false
		err := p.Run(t.Context(), pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
			if read {
				return nil, io.EOF
			}
			read = true
			return &pipeline.Page{Page: *page, Partition: "shard"}, nil
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	run()
	before := p.Ledger()
	const rounds = 10
	each := testing.AllocsPerRun(rounds, run) / allocRecords
	l := p.Ledger()
	for _, name := range []string{"rows", "documents", "history"} {
		if n := l.Sinks[name].Written - before.Sinks[name].Written; n != (rounds+1)*allocRecords {
			t.Errorf("sink %s has written %d changes", name, n)
		}
	}
	if n := l.Events["completed"] - before.Events["completed"]; n != (rounds+1)*allocRecords {
		t.Errorf("%d events were raised", n)
	}
	if each > maxAllocs {
		t.Errorf("%.2f allocations a record, want at most %v", each, maxAllocs)
	}
}

// planned is a sink that plans like an archive and writes nothing.
type planned struct{ *archive.Sink }

func (planned) Write(context.Context, []pipeline.Delivery) error { return nil }

// takeAll is a set of stores that accept everything and keep nothing.
type takeAll struct{}

var (
	_       sinks.Stores = takeAll{}
	errNone              = errors.New("there is none")
)

func (takeAll) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return takeRows{}, nil
}

func (takeAll) Search(context.Context, *config.Config, config.Sink) (search.Store, error) {
	return takeDocuments{}, nil
}

func (takeAll) Aggregate(context.Context, *config.Config, config.Sink) (view.GroupStore, error) {
	return nil, errNone
}

func (takeAll) Archive(context.Context, *config.Config, config.Sink) (archive.Store, error) {
	return nil, errNone
}

func (takeAll) Notify(context.Context, *config.Config, config.Sink) (notify.Store, error) {
	return nil, errNone
}

func (takeAll) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return nil, nil
}

func (takeAll) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

func (takeAll) Put(context.Context, archive.Object) error          { return nil }
func (takeAll) Get(context.Context, string) (io.ReadCloser, error) { return nil, archive.ErrNoObject }

type takeRows struct{}

func (takeRows) Apply(_ context.Context, _ view.Target, ms []view.Mutation) ([]view.Result, error) {
	return make([]view.Result, len(ms)), nil
}

type takeDocuments struct{}

func (takeDocuments) Apply(_ context.Context, ms []search.Mutation) ([]search.Result, error) {
	return make([]search.Result, len(ms)), nil
}
