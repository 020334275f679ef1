package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

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

// NamesStream reports whether --stream-arn is given.
func (in *Input) NamesStream() bool { return in.streamARN != "" }

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
// out of order, because a change without an ARN counts as older than every change with an ARN.
func (in *Input) Source(cfg *config.Config, s cli.Streams, paths []string) replay.Options {
	return replay.Options{Paths: paths, Stdin: s.In, Decoder: in.Decoder(cfg), Skipped: SkippedPrinter(s.Err)}
}

// SkippedPrinter returns a function that prints to w which file of a folder is left out, and why.
func SkippedPrinter(w io.Writer) func(path string, why error) {
	return func(path string, why error) { fmt.Fprintf(w, "left out %s: %v\n", path, why) }
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
		src, err := Open(ctx, in.Source(cfg, s, paths), Period{}, s.Err)
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
	// RefuseForeign makes a record of another table than Tables end the reading with an error. Otherwise Warn tells it.
	RefuseForeign bool
	Mask          *mask.Mask
	// NoteKeys gets the names of the key attributes of one change of each page. Its error ends the reading. Default: not
	// called
	NoteKeys func(names []string) error

	mu        sync.Mutex // several goroutines decode pages; it guards the fields from epochZero on
	Ended     bool       // the source was read to its end
	Broken    *replay.BrokenError
	epochZero bool // some records do not name a stream
	named     bool // some records name their stream

	foreignTable     string    // a table that the records name and the configuration does not
	unknownOperation string    // an unknown operation of a record
	hasRecords       bool      // the input has records
	newest           time.Time // see Newest
}

// Newest returns the latest creation time of the changes that were read; zero if none has a time.
func (r *Reporting) Newest() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// Read returns a page that reports its undecodable records when it is decoded. If the source returns a BrokenError,
// Read stores it in Broken and returns io.EOF instead. So the run finishes the records that were read before the error.
func (r *Reporting) Read(ctx context.Context) (*pipeline.Page, error) {
	page, err := r.Source.Read(ctx)
	if broken, ok := errors.AsType[*replay.BrokenError](err); ok {
		r.Broken, err = broken, io.EOF
	}
	r.Ended = r.Ended || pipeline.IsEnd(err)
	if page == nil {
		return nil, err
	}
	if page.Decode == nil { // the page is decoded
		if refusal := r.report(&page.Page); refusal != nil {
			return nil, refusal
		}
		return page, err
	}
	reporting := *page
	reporting.Decode = func() (*record.Page, error) { return r.decode(page) }
	return &reporting, err
}

// decode decodes a page and reports its undecodable records.
func (r *Reporting) decode(page *pipeline.Page) (*record.Page, error) {
	decoded, err := page.Decode()
	if decoded == nil {
		return nil, err
	}
	refusal := r.report(decoded)
	switch {
	case err != nil: // it comes before a refusal
		return decoded, err
	case refusal != nil:
		return &record.Page{}, refusal
	case r.mixesStreams():
		return &record.Page{}, &replay.StreamError{Unnamed: "one of the inputs", Named: "another"}
	}
	return decoded, nil
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
	if r.Ended && !r.hasRecords && r.Broken == nil {
		fmt.Fprintln(w, cli.Warning+"the input has no records")
	}
	if r.unknownOperation != "" {
		fmt.Fprintf(w, cli.Warning+
			"some records have the eventName %q; DynamoDB writes INSERT, MODIFY and REMOVE. Their images say what they are\n",
			r.unknownOperation)
	}
	if r.foreignTable != "" {
		fmt.Fprintf(w, cli.Warning+"some records are of the table %s, which the source of the configuration does not name\n",
			r.foreignTable)
	}
}

// report prints the undecodable records of a page. It also notes what [Reporting.Warn] warns about. It returns an error
// if RefuseForeign is set and the page has a record of another table, or the error of NoteKeys.
func (r *Reporting) report(p *record.Page) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Len()+p.Duplicates > 0 {
		r.hasRecords = true
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Op == record.Unknown {
			r.unknownOperation = c.EventName
		}
		if c.Version.Epoch() == 0 {
			r.epochZero = true
		} else {
			r.named = true
		}
		if c.Time.After(r.newest) {
			r.newest = c.Time
		}
	}
	for _, e := range p.Errors {
		fmt.Fprintln(r.W, "undecodable:", ErrorText(r.Mask.RecordError(e)))
	}
	foreign := foreignTable(p, r.Tables)
	if r.RefuseForeign && foreign != "" {
		return foreignError(foreign, r.Tables)
	}
	r.foreignTable = cmp.Or(foreign, r.foreignTable)
	names := KeyNames(p)
	if r.NoteKeys == nil || foreign != "" || names == nil {
		return nil
	}
	return r.NoteKeys(names)
}

// KeyNames returns the names of the key attributes of a page's first change; nil if the page has no change.
func KeyNames(p *record.Page) (names []string) {
	if len(p.Changes) > 0 {
		for name := range p.Changes[0].Keys.All() {
			names = append(names, name)
		}
	}
	return names
}

// ErrorText formats the error of a record with the file and line of the record.
func ErrorText(e *record.RecordError) string {
	located, ok := errors.AsType[*replay.LocationError](e.Err)
	if !ok {
		return e.Error()
	}
	text := located.Location() + ": "
	if e.Path != "" {
		text += fmt.Sprintf("%s: ", e.Path)
	}
	text += fmt.Sprint(located.Err)
	if e.Key != "" {
		text += fmt.Sprintf(" (item %s)", e.Key)
	}
	return text
}
