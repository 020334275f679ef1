package main

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

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

// counts are stores that count what they get, and keep nothing.
type counts struct {
	rows, documents, places atomic.Int64
	held                    chan struct{} // nil: the stores take everything at once
}

var _ sinks.Stores = (*counts)(nil)

func (c *counts) reset() {
	c.rows.Store(0)
	c.documents.Store(0)
	c.places.Store(0)
}

// hold stops the stores from taking anything until letGo is called.
func (c *counts) hold() { c.held = make(chan struct{}) }

func (c *counts) letGo() { close(c.held) }

func (c *counts) wait() {
	if c.held != nil {
		<-c.held
	}
}

// View counts rows.
func (c *counts) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return rowCount{c}, nil
}

// Search counts documents.
func (c *counts) Search(context.Context, *config.Config, config.Sink) (search.Store, error) {
	return documentCount{c}, nil
}

// DeadLetters keeps none. A change that cannot be written ends the round.
func (c *counts) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return nil, nil
}

// State remembers nothing.
func (c *counts) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

var errUncounted = errors.New("nothing counts what such a sink writes")

// Aggregate refuses.
func (c *counts) Aggregate(context.Context, *config.Config, config.Sink) (view.GroupStore, error) {
	return nil, errUncounted
}

// Archive refuses. history is the archive here.
func (c *counts) Archive(context.Context, *config.Config, config.Sink) (archive.Store, error) {
	return nil, errUncounted
}

// Notify refuses.
func (c *counts) Notify(context.Context, *config.Config, config.Sink) (notify.Store, error) {
	return nil, errUncounted
}

type rowCount struct{ *counts }

// Apply counts the rows.
func (c rowCount) Apply(_ context.Context, _ view.Target, ms []view.Mutation) ([]view.Result, error) {
	c.wait()
	c.rows.Add(int64(len(ms)))
	return make([]view.Result, len(ms)), nil
}

type documentCount struct{ *counts }

// Apply counts documents that are JSON objects.
func (c documentCount) Apply(_ context.Context, ms []search.Mutation) ([]search.Result, error) {
	for i := range ms {
		if doc := ms[i].Doc; len(doc) < 2 || doc[0] != '{' || doc[len(doc)-1] != '}' {
			return nil, pipeline.Fatal(errors.New("a document is no object"))
		}
	}
	c.wait()
	c.documents.Add(int64(len(ms)))
	return make([]search.Result, len(ms)), nil
}

// history returns an archive that plans, and counts changes instead of writing them.
func (c *counts) history(context.Context, struct{}) (pipeline.Sink, error) {
	folder, err := template.Parse("dt={@time|date:2006-01-02}/hour={@time|date:15}", template.Options{})
	if err != nil {
		return nil, err
	}
	sink, err := archive.New(archive.Options{Store: noObjects{}, Prefix: "changes/", Partition: folder})
	return placeCount{sink, c}, err
}

type placeCount struct {
	*archive.Sink
	counts *counts
}

// Write counts the changes that have a place in the archive.
func (c placeCount) Write(_ context.Context, ds []pipeline.Delivery) error {
	for i := range ds {
		if p, ok := ds[i].Ops[0].(*archive.Put); !ok || p.Folder == "" {
			return pipeline.Fatal(errors.New("a change has no place in the archive"))
		}
	}
	c.counts.wait()
	c.counts.places.Add(int64(len(ds)))
	return nil
}

// noObjects is a store that is never called.
type noObjects struct{}

// Put refuses.
func (noObjects) Put(context.Context, archive.Object) error { return pipeline.Fatal(errUncounted) }

// Get refuses.
func (noObjects) Get(context.Context, string) (io.ReadCloser, error) { return nil, archive.ErrNoObject }
