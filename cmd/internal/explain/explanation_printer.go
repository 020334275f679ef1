package explain

import (
	"errors"
	"io"
	"iter"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
	"github.com/tablewake/tablewake/shardreader/replay"
)

// Printer prints the explanations of records, masked.
type Printer struct {
	Explain  func(*record.Change) pipeline.Explanation // required
	Mask     *mask.Mask                                // Default: nothing is masked
	Entities *entity.Set                               // Default: explanations name no entity

	// Selects reports whether a record is printed. Required. If the record could not be decoded, its change has only
	// the key, the key attributes and the sequence number, and each of these may be missing.
	Selects func(*record.Change) bool

	Limit  int64      // maximum number of explanations. Default: no limit
	Format cli.Format // required
}

// Print prints the explanations of the selected records of pages, and returns their number. It ends at the first error
// of a page. If a record could not be decoded, Print continues, and returns an error with [cli.ExitDeadLetters] after
// the last page.
func (p Printer) Print(pages iter.Seq2[*record.Page, error], w io.Writer) (printed int64, err error) {
	var before, undecodable int64 // records of earlier pages; undecodable records
	for page, err := range pages {
		for x := range p.explanations(page, before) {
			if x.Error != nil {
				undecodable++
			}
			if err := cli.Print(w, p.Format, x, x.write); err != nil {
				return printed, err
			}
			if printed++; printed == p.Limit {
				return printed, nil
			}
		}
		before += int64(page.Len())
		if broken, ok := errors.AsType[*replay.BrokenError](err); ok {
			return printed, cli.WithExitCode(cli.ExitDeadLetters, broken)
		}
		if err != nil {
			return printed, err
		}
	}
	if undecodable > 0 {
		return printed, cli.WithExitCode(cli.ExitDeadLetters, nil)
	}
	return printed, nil
}

// explanations yields the explanations of the selected records of a page, in the order of the records. before is the
// number of records of earlier pages.
func (p Printer) explanations(page *record.Page, before int64) iter.Seq[explanation] {
	return func(yield func(explanation) bool) {
		undecodable := page.Errors // in the order of the records
		for r := range page.Records() {
			if c := r.Change; c != nil {
				if p.Selects(c) && !yield(p.explainChange(before, c)) {
					return
				}
				continue
			}
			e := undecodable[0]
			undecodable = undecodable[1:]
			c := record.Change{Key: e.Key, Keys: e.Keys, Sequence: e.Sequence}
			if p.Selects(&c) && !yield(p.explainUndecodable(before, e)) {
				return
			}
		}
	}
}

// explainChange explains a change.
func (p Printer) explainChange(before int64, c *record.Change) explanation {
	x := newExplanation(before+int64(c.Index)+1, p.Mask.Explanation(p.Explain(c)))
	x.Entity = p.entityOf(c)
	return x
}

// explainUndecodable explains a record that could not be decoded.
func (p Printer) explainUndecodable(before int64, e *record.RecordError) explanation {
	e = p.Mask.RecordError(e)
	return explanation{
		Record: before + int64(e.Index) + 1, Op: "UNDECODABLE", Key: e.Key, Sequence: e.Sequence,
		Error: &decodeErrorJSON{e.Path, records.ErrorText(e)},
	}
}

// entityOf returns the entity of a change's item, the same as {@entity} in a template. It returns nil if the file has
// no entities.
func (p Printer) entityOf(c *record.Change) *entityJSON {
	if p.Entities == nil {
		return nil
	}
	e, err := p.Entities.Of(rules.LatestImage(c))
	x := &entityJSON{Error: cli.ErrorText(err)}
	if e != nil && err == nil {
		x.Name = e.Name
	}
	return x
}
