package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// searchContest writes documents into an index.
type searchContest struct {
	in       *sinkInput
	url      string
	mode     string
	index    string
	wire     *bulks
	store    *opensearch.Store
	pipeline *pipeline.Pipeline
}

func openSearch(mode string) func(context.Context, *servers, *sinkInput) (sinkContest, error) {
	return func(ctx context.Context, s *servers, in *sinkInput) (sinkContest, error) {
		transport := &http.Transport{MaxIdleConnsPerHost: 64}
		c := &searchContest{in: in, url: s.opensearch, mode: mode, index: "bench-" + mode, wire: &bulks{base: transport}}
		if err := c.fresh(ctx); err != nil {
			return nil, err
		}
		c.wire.keep = true
		if err := c.ours(ctx); err != nil {
			return nil, err
		}
		c.wire.keep = false
		return c, nil
	}
}

func (c *searchContest) fresh(ctx context.Context) error {
	if c.store != nil {
		if err := c.store.Close(); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url+"/"+c.index+"*", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if err := resp.Body.Close(); err != nil {
		return err
	}
	name, err := template.Parse(c.index, template.Options{})
	if err != nil {
		return err
	}
	c.store, err = opensearch.New(opensearch.Options{
		URL: c.url, Mode: opensearch.Mode(c.mode), Transport: c.wire,
		Indexes: &opensearch.Indexes{Pipeline: "bench", Sink: "search", Name: name},
	})
	if err != nil {
		return err
	}
	if err := c.store.Open(ctx); err != nil {
		return err
	}
	sink := fmt.Sprintf("connections: {os: {opensearch: %q, auth: none}}\nsinks: {search: {search: {connection: os, index: %s, mode: %s}}}\n", c.url, c.index, c.mode)
	c.pipeline, err = assemble(ctx, oneIndex{sinks.PlanOnly(), c.store}, sink)
	return err
}

func (c *searchContest) ours(ctx context.Context) error { return drive(ctx, c.pipeline, c.in) }

func (c *searchContest) bare(ctx context.Context) error { return c.wire.send(ctx) }

func (c *searchContest) close() error { return c.store.Close() }

// oneIndex is a set of stores. Only the search store is real.
type oneIndex struct {
	sinks.Stores
	store *opensearch.Store
}

// Search returns the server.
func (o oneIndex) Search(context.Context, *config.Config, config.Sink) (search.Store, error) {
	return o.store, nil
}
