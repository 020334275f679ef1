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

// Input are the flags of the commands that read saved records.
type Input struct {
	Config    string
	streamARN string
}

// Add adds -c and --stream-arn.
func (in *Input) Add(c *cobra.Command) {
	cli.AddConfig(c, &in.Config)
	c.Flags().StringVar(&in.streamARN, "stream-arn", "", "stream of records that do not name theirs")
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

// Source is how saved records become changes. Those that do not name their stream
// are of --stream-arn, else of the stream that the configuration names. Where there is neither
// none may name its stream: a change without one counts as older than any with one.
func (in *Input) Source(cfg *config.Config, s cli.Streams, paths []string) replay.Options {
	return replay.Options{Paths: paths, Stdin: s.In, Decoder: in.Decoder(cfg), Skipped: func(path string, why error) {
		fmt.Fprintf(s.Err, "left out %s: %v\n", path, why)
	}}
}

// Decoder says how records are decoded.
func (in *Input) Decoder(cfg *config.Config) record.DecoderOptions {
	d := sinks.Decoder(cfg)
	d.StreamARN = cmp.Or(in.streamARN, d.StreamARN)
	d.EpochZero = d.StreamARN == ""
	return d
}

// Pages yields the decoded pages of saved records, for who runs no pipeline over them. A pulled error ends the
// sequence; there may be changes beside it.
func (in *Input) Pages(ctx context.Context, cfg *config.Config, s cli.Streams, paths []string) iter.Seq2[*record.Page, error] {
	return func(yield func(*record.Page, error) bool) {
		src, err := replay.Open(in.Source(cfg, s, paths))
		if err != nil {
			yield(&record.Page{}, err)
			return
		}
		defer src.Close()
		for err == nil {
			var read *pipeline.Page
			page := &record.Page{}
			if read, err = src.Read(ctx); read != nil && read.Decode != nil {
				decoded, failed := read.Decode()
				if decoded != nil {
					page = decoded
				}
				if err == nil {
					err = failed
				}
			} else if read != nil {
				page = &read.Page
			}
			if errors.Is(err, io.EOF) {
				yield(page, nil)
				return
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

// Reporting names what could not be decoded as it passes, and remembers how the
// input ended.
type Reporting struct {
	Source
	W      io.Writer
	Tables []config.Table
	Mask   *mask.Mask

	mu        sync.Mutex // pages are decoded by several goroutines
	Ended     bool       // the input was read to its end
	Broken    *replay.BrokenError
	epochZero bool   // some records do not name their stream
	named     bool   // some do
	foreign   string // a table of records that the configuration does not name
}

// Read reports what the page, once it is decoded, could not decode. Input that is
// broken has an end like any other: what could be read of it is finished first.
func (r *Reporting) Read(ctx context.Context) (*pipeline.Page, error) {
	p, err := r.Source.Read(ctx)
	if broken, ok := errors.AsType[*replay.BrokenError](err); ok {
		r.Broken, err = broken, io.EOF
	}
	r.Ended = r.Ended || errors.Is(err, io.EOF)
	switch {
	case p == nil:
	case p.Decode != nil:
		decode, q := p.Decode, *p
		q.Decode = func() (*record.Page, error) {
			page, err := decode()
			if page != nil {
				r.report(page)
			}
			if err == nil && r.mixed() {
				page, err = &record.Page{}, &replay.StreamError{Unnamed: "one of the inputs", Named: "another"}
			}
			return page, err
		}
		p = &q
	default:
		r.report(&p.Page)
	}
	return p, err
}

// mixed tells whether only some of the records name their stream, of all inputs.
func (r *Reporting) mixed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epochZero && r.named
}

// Warn says what is odd about the input as a whole.
func (r *Reporting) Warn(w io.Writer) {
	if r.epochZero {
		fmt.Fprintln(w, cli.Warning+"the records do not name their stream: they count as older than those of any stream that is named; --stream-arn names it")
	}
	if r.foreign != "" {
		fmt.Fprintf(w, cli.Warning+"some records are of the table %s, which the source of the configuration does not name\n", r.foreign)
	}
}

func (r *Reporting) report(p *record.Page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range p.Changes {
		c := &p.Changes[i]
		r.epochZero = r.epochZero || c.Version.Epoch() == 0
		r.named = r.named || c.Version.Epoch() != 0
		if c.Table != "" && !slices.ContainsFunc(r.Tables, func(t config.Table) bool { return t.Name == c.Table }) {
			r.foreign = c.Table
		}
	}
	for _, e := range p.Errors {
		fmt.Fprintln(r.W, "undecodable:", Placed(r.Mask.RecordError(e)))
	}
}

// Placed is what is wrong with a record, by its place in the input.
func Placed(e *record.RecordError) string {
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
