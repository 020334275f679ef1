package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
	viewdynamo "github.com/tablewake/tablewake/sinks/view/dynamo"
)

const viewSink = `sinks:
  view:
    view: {table: bench-view, key: {PK: '{@key}', SK: ROW}, attributes: {type: '{Type}', price: '{Price}', stock: '{Stock}', active: '{Active}', tags: '{Tags}', size: '{Size}', text: '{Text}'}}
`

// viewContest writes rows into a table.
type viewContest struct {
	in       *sinkInput
	client   *writes
	pipeline *pipeline.Pipeline
}

func openView(ctx context.Context, s *servers, in *sinkInput) (sinkContest, error) {
	c := &viewContest{in: in, client: &writes{Client: dynamodb.NewFromConfig(s.sdk(s.dynamodb))}}
	if err := c.fresh(ctx); err != nil {
		return nil, err
	}
	c.client.keep = true
	if err := c.ours(ctx); err != nil {
		return nil, err
	}
	c.client.keep = false
	return c, nil
}

func (c *viewContest) fresh(ctx context.Context) error {
	for _, table := range []string{"bench-view", "bench-state"} {
		_, _ = c.client.Client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}) // the table may not exist
	}
	db, err := statedynamo.New(statedynamo.Options{Client: c.client, Table: "bench-state", Pipeline: "bench"})
	if err != nil {
		return err
	}
	if err := db.CreateState(ctx); err != nil {
		return err
	}
	store, err := viewdynamo.New(db)
	if err != nil {
		return err
	}
	if err := store.Create(ctx, view.Table{Name: "bench-view", PK: "PK", SK: "SK"}, viewdynamo.KeyTypes{}); err != nil {
		return err
	}
	c.pipeline, err = assemble(ctx, oneView{sinks.PlanOnly(), store}, viewSink)
	return err
}

func (c *viewContest) ours(ctx context.Context) error { return drive(ctx, c.pipeline, c.in) }

func (c *viewContest) bare(ctx context.Context) error { return c.client.send(ctx) }

func (c *viewContest) close() error { return nil }

// oneView is a set of stores. Only the views are real stores.
type oneView struct {
	sinks.Stores
	store *viewdynamo.Store
}

// View returns the table.
func (o oneView) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return o.store, nil
}

// writes keeps the single writes that go through it.
type writes struct {
	*dynamodb.Client
	gauge
	keep    bool
	mu      sync.Mutex
	updates []*dynamodb.UpdateItemInput
	puts    []*dynamodb.PutItemInput
}

// UpdateItem passes a write on.
func (w *writes) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if w.keep && aws.ToString(in.TableName) == "bench-view" {
		w.enter()
		defer w.leave()
		w.mu.Lock()
		w.updates = append(w.updates, in)
		w.mu.Unlock()
	}
	return w.Client.UpdateItem(ctx, in, o...)
}

// PutItem passes a write on.
func (w *writes) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if w.keep && aws.ToString(in.TableName) == "bench-view" {
		w.enter()
		defer w.leave()
		w.mu.Lock()
		w.puts = append(w.puts, in)
		w.mu.Unlock()
	}
	return w.Client.PutItem(ctx, in, o...)
}

// send sends the kept writes, with as many in flight as there were.
func (w *writes) send(ctx context.Context) error {
	if len(w.updates)+len(w.puts) == 0 {
		return fmt.Errorf("the view made no single writes")
	}
	return loop(len(w.updates)+len(w.puts), w.most, func(i int) (err error) {
		if i < len(w.updates) {
			_, err = w.Client.UpdateItem(ctx, w.updates[i])
		} else {
			_, err = w.Client.PutItem(ctx, w.puts[i-len(w.updates)])
		}
		return err
	})
}
