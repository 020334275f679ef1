package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
)

// input are the flags of the commands that read saved records.
type input struct {
	config    string
	streamARN string
}

func (in *input) add(c *cobra.Command) {
	cli.AddConfig(c, &in.config)
	c.Flags().StringVar(&in.streamARN, "stream-arn", "", "stream of records that do not name theirs")
}

// load reads the configuration, and checks the flags.
func (in *input) load() (*config.Config, error) {
	if in.streamARN != "" {
		if err := pipeline.CheckStreamARN(in.streamARN); err != nil {
			return nil, cli.Usagef("--stream-arn %q: %w", in.streamARN, err)
		}
	}
	return cli.LoadConfig(in.config)
}

// source is how saved records become changes. Those that do not name their stream
// are of --stream-arn, else of the stream that the configuration names. Where there is neither
// none may name its stream: a change without one counts as older than any with one.
func (in *input) source(cfg *config.Config, s cli.Streams, paths []string) replay.Options {
	return replay.Options{Paths: paths, Stdin: s.In, Decoder: in.decoder(cfg), Skipped: func(path string, why error) {
		fmt.Fprintf(s.Err, "left out %s: %v\n", path, why)
	}}
}

func (in *input) decoder(cfg *config.Config) pipeline.DecoderOptions {
	d := sinks.Decoder(cfg)
	d.StreamARN = cmp.Or(in.streamARN, d.StreamARN)
	d.EpochZero = d.StreamARN == ""
	return d
}

// readPage is the next page of a source, decoded, for who runs no pipeline over it. As
// with Read, there may be a page together with an error.
func readPage(ctx context.Context, src pipeline.Source) (*pipeline.Page, error) {
	page, err := src.Read(ctx)
	if page == nil || page.Decode == nil {
		return page, err
	}
	decoded, decodeErr := page.Decode()
	if err == nil {
		err = decodeErr
	}
	return decoded, err
}

// reporting names what could not be decoded as it passes, and remembers how the
// input ended.
type reporting struct {
	records
	w      io.Writer
	tables []config.Table
	mask   *pipeline.Mask

	mu        sync.Mutex // pages are decoded by several goroutines
	ended     bool       // the input was read to its end
	broken    *replay.BrokenError
	epochZero bool   // some records do not name their stream
	named     bool   // some do
	foreign   string // a table of records that the configuration does not name
}

// Read reports what the page, once it is decoded, could not decode. Input that is
// broken has an end like any other: what could be read of it is finished first.
func (r *reporting) Read(ctx context.Context) (*pipeline.Page, error) {
	p, err := r.records.Read(ctx)
	if broken, ok := errors.AsType[*replay.BrokenError](err); ok {
		r.broken, err = broken, io.EOF
	}
	r.ended = r.ended || errors.Is(err, io.EOF)
	switch {
	case p == nil:
	case p.Decode != nil:
		decode, q := p.Decode, *p
		q.Decode = func() (*pipeline.Page, error) {
			page, err := decode()
			if page != nil {
				r.report(page)
			}
			if err == nil && r.mixed() {
				page, err = &pipeline.Page{}, &replay.StreamError{Unnamed: "one of the inputs", Named: "another"}
			}
			return page, err
		}
		p = &q
	default:
		r.report(p)
	}
	return p, err
}

// mixed tells whether only some of the records name their stream, of all inputs.
func (r *reporting) mixed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epochZero && r.named
}

// warn says what is odd about the input as a whole.
func (r *reporting) warn(w io.Writer) {
	if r.epochZero {
		fmt.Fprintln(w, cli.Warning+"the records do not name their stream: they count as older than those of any stream that is named; --stream-arn names it")
	}
	if r.foreign != "" {
		fmt.Fprintf(w, cli.Warning+"some records are of the table %s, which the source of the configuration does not name\n", r.foreign)
	}
}

func (r *reporting) report(p *pipeline.Page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range p.Changes {
		c := &p.Changes[i]
		r.epochZero = r.epochZero || c.Version.Epoch() == 0
		r.named = r.named || c.Version.Epoch() != 0
		if c.Table != "" && !slices.ContainsFunc(r.tables, func(t config.Table) bool { return t.Name == c.Table }) {
			r.foreign = c.Table
		}
	}
	for _, e := range p.Errors {
		fmt.Fprintln(r.w, "undecodable:", placed(r.mask.RecordError(e)))
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
