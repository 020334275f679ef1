package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
)

// Input are the flags -c and --stream-arn of the commands that read saved records.
type Input struct {
	Config    string
	streamARN string
}

// Add adds -c and --stream-arn.
func (in *Input) Add(c *cobra.Command) {
	cli.AddConfig(c, &in.Config)
	c.Flags().StringVar(&in.streamARN, "stream-arn", "", "the stream, for records that do not name it")
}

// Load reads the configuration, and checks the flags.
func (in *Input) Load() (*config.Config, error) {
	if in.streamARN != "" {
		if err := record.CheckStreamARN(in.streamARN); err != nil {
			return nil, cli.Usagef("--stream-arn %q: %w", in.streamARN, err)
		}
	}
	return cli.LoadConfig(in.Config)
}

// Source returns the options to read saved records. A record that names no stream gets the ARN of --stream-arn,
// otherwise the ARN in the configuration. Without both, all records must name their stream, or none. A mixture would be
// out of order, because a change without an ARN counts as older than every change with one.
func (in *Input) Source(cfg *config.Config, s cli.Streams, paths []string) replay.Options {
	return replay.Options{Paths: paths, Stdin: s.In, Decoder: in.Decoder(cfg), Skipped: func(path string, why error) {
		fmt.Fprintf(s.Err, "left out %s: %v\n", path, why)
	}}
}

// Decoder returns the options to decode the records, as [Input.Source] describes them.
func (in *Input) Decoder(cfg *config.Config) record.DecoderOptions {
	d := sinks.Decoder(cfg)
	d.StreamARN = cmp.Or(in.streamARN, d.StreamARN)
	d.EpochZero = d.StreamARN == ""
	return d
}

// Pages yields the decoded pages of saved records, for commands that run no pipeline. An error ends the sequence. The
// page that comes with the error may have changes.
func (in *Input) Pages(
	ctx context.Context, cfg *config.Config, s cli.Streams, paths []string,
) iter.Seq2[*record.Page, error] {
	return func(yield func(*record.Page, error) bool) {
		src, err := replay.Open(in.Source(cfg, s, paths))
		if err != nil {
			yield(&record.Page{}, err)
			return
		}
		defer src.Close()
		pipeline.DecodedPages(ctx, src)(yield)
	}
}

// Reporting is a Source that prints undecodable records to W. It also notes how the input ended, for [Reporting.Warn]
// and the caller.
type Reporting struct {
	Source
	W      io.Writer
	Tables []config.Table
	Mask   *mask.Mask

	mu        sync.Mutex // several goroutines decode pages; it guards the fields from epochZero on
	Ended     bool       // the source was read to its end
	Broken    *replay.BrokenError
	epochZero bool   // some records do not name a stream
	named     bool   // some records name their stream
	foreign   string // a table that the records name and the configuration does not
	operation string // an unknown operation of a record
	records   bool   // the input has records
}

// Read returns a page that reports its undecodable records when it is decoded. If the source returns a BrokenError,
// Read stores it in Broken and returns io.EOF instead. So the run finishes the records that were read before the error.
func (r *Reporting) Read(ctx context.Context) (*pipeline.Page, error) {
	p, err := r.Source.Read(ctx)
	if broken, ok := errors.AsType[*replay.BrokenError](err); ok {
		r.Broken, err = broken, io.EOF
	}
	r.Ended = r.Ended || pipeline.IsEnd(err)
	switch {
	case p == nil:
	case p.Decode != nil:
		decode, reporting := p.Decode, *p
		reporting.Decode = func() (*record.Page, error) {
			page, err := decode()
			if page != nil {
				r.report(page)
			}
			if err == nil && r.mixesStreams() {
				page, err = &record.Page{}, &replay.StreamError{Unnamed: "one of the inputs", Named: "another"}
			}
			return page, err
		}
		p = &reporting
	default:
		r.report(&p.Page)
	}
	return p, err
}

// mixesStreams reports whether some records of the input name their stream and others do not.
func (r *Reporting) mixesStreams() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epochZero && r.named
}

// Warn prints warnings about the whole input to w, at its end.
func (r *Reporting) Warn(w io.Writer) {
	if r.epochZero {
		fmt.Fprintln(w, cli.Warning+
			"the records do not name their stream: they count as older than those of any stream that is named; --stream-arn names it")
	}
	if r.Ended && !r.records {
		fmt.Fprintln(w, cli.Warning+"the input has no records")
	}
	if r.operation != "" {
		fmt.Fprintf(w, cli.Warning+
			"some records have the eventName %q; DynamoDB writes INSERT, MODIFY and REMOVE. Their images say what they are\n",
			r.operation)
	}
	if r.foreign != "" {
		fmt.Fprintf(w, cli.Warning+"some records are of the table %s, which the source of the configuration does not name\n",
			r.foreign)
	}
}

// report prints the undecodable records of a page. It also notes what [Reporting.Warn] warns about.
func (r *Reporting) report(p *record.Page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = r.records || len(p.Changes)+len(p.Errors)+p.Duplicates > 0
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Op == record.Unknown {
			r.operation = c.EventName
		}
		r.epochZero = r.epochZero || c.Version.Epoch() == 0
		r.named = r.named || c.Version.Epoch() != 0
		if c.Table != "" && !slices.ContainsFunc(r.Tables, func(t config.Table) bool { return t.Name == c.Table }) {
			r.foreign = c.Table
		}
	}
	for _, e := range p.Errors {
		fmt.Fprintln(r.W, "undecodable:", ErrorText(r.Mask.RecordError(e)))
	}
}

// ErrorText formats the error of a record with the file and line of the record.
func ErrorText(e *record.RecordError) string {
	at, ok := errors.AsType[*replay.LocationError](e.Err)
	if !ok {
		return e.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", at.Location())
	if e.Path != "" {
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	fmt.Fprint(&b, at.Err)
	if e.Key != "" {
		fmt.Fprintf(&b, " (item %s)", e.Key)
	}
	return b.String()
}
