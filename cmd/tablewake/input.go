package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/replay"
)

// input are the flags of the commands that read saved records.
type input struct {
	config    string
	streamARN string
}

func (in *input) add(c *cobra.Command) {
	addConfig(c, &in.config)
	c.Flags().StringVar(&in.streamARN, "stream-arn", "", "stream of records that do not name theirs")
}

// source is how saved records become changes. Records without a stream are taken at
// epoch 0: below those of any stream.
func (in *input) source(cfg *config.Config, s streams, paths []string, skipped func(string, error)) replay.Options {
	d := pipeline.DecoderOptions{
		StreamARN: in.streamARN, EpochZero: in.streamARN == "", DynamoDBLocal: cfg.Source.DynamoDBLocal,
		TableInKey: len(cfg.Source.Tables) > 1,
	}
	if len(cfg.Source.Tables) == 1 {
		d.Table = cfg.Source.Tables[0].Name
	}
	return replay.Options{Paths: paths, Stdin: s.in, Decoder: d, Skipped: skipped}
}

// reporting names every record that could not be decoded, as it passes.
type reporting struct {
	*replay.Source
	w  io.Writer
	mu *sync.Mutex // pages are decoded by several goroutines
}

// Read reports what the page, once it is decoded, could not decode.
func (r reporting) Read(ctx context.Context) (*pipeline.Page, error) {
	p, err := r.Source.Read(ctx)
	if p != nil {
		if decode := p.Decode; decode != nil {
			q := *p
			q.Decode = func() (*pipeline.Page, error) {
				page, err := decode()
				if page != nil {
					r.report(page)
				}
				return page, err
			}
			return &q, err
		}
		r.report(p)
	}
	return p, err
}

func (r reporting) report(p *pipeline.Page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range p.Errors {
		fmt.Fprintln(r.w, "undecodable:", placed(e))
	}
}

// placed is what is wrong with a record, by its place in the input.
func placed(e *pipeline.RecordError) string {
	at, ok := errors.AsType[*replay.PlaceError](e.Err)
	if !ok {
		return e.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", at.Place())
	if e.Path != "" {
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	fmt.Fprint(&b, at.Err)
	if e.Key != "" {
		fmt.Fprintf(&b, " (item %s)", e.Key)
	}
	return b.String()
}
