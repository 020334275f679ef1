package items

import (
	"bytes"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/internal/lines"
)

// checkBlock returns an error if a block shows that its file must not be read into a sink. page is the decoded block,
// and part.Items is the number of items before it.
func (s *Snapshot) checkBlock(part *snapshot.Part, b lines.Block, page *record.Page) error {
	if part.Items == 0 {
		if err := s.checkFormat(part.ID, b); err != nil {
			return err
		}
	}
	if s.options.Sample {
		return nil
	}
	if brokenAt, err := findDamage(b.Bytes); err != nil {
		return fmt.Errorf("%s:%d: %w", part.ID, b.Line+int64(bytes.Count(b.Bytes[:brokenAt], []byte{'\n'})), err)
	}
	if !s.options.RefuseUndecodable || len(page.Errors) == 0 {
		return nil
	}
	return errs.Errorf("%w: a line that cannot be decoded would block the backfill: correct it, and repeat the command",
		page.Errors[0])
}

// findDamage returns an error if the text of a block has a hole or is cut off, and the index at which the hole or the
// last line begins.
func findDamage(text []byte) (brokenAt int, err error) {
	if hole := inputs.HoleIndex(text); hole >= 0 {
		return hole, inputs.ErrZeros
	}
	lastLine := bytes.LastIndexByte(text, '\n') + 1 // only the last line of a file can have no line end
	if bytes.IndexByte(text[lastLine:], 0) >= 0 {
		return lastLine, inputs.ErrZeros
	}
	return lastLine, inputs.CheckEnd(text[lastLine:])
}

// checkFormat returns an error if the first line of a file is not an item. Without this check, each line of a file of
// another kind would become a dead letter.
func (s *Snapshot) checkFormat(file string, b lines.Block) error {
	rest := bytes.TrimLeft(b.Bytes, " \t\r\n")
	first, _, _ := bytes.Cut(rest, []byte{'\n'})
	p := s.decoder.DecodeLines(bytes.Clone(first))
	if len(p.Errors) == 0 {
		return nil
	}
	line := b.Line + int64(bytes.Count(b.Bytes[:len(b.Bytes)-len(rest)], []byte{'\n'}))
	return errs.Errorf("%s:%d: the first line is not an item in DynamoDB JSON: %w: give JSON lines of items, "+
		"as an export has them, or as  aws dynamodb scan --table-name TABLE --output json | jq -c '.Items[]'  prints them",
		file, line, p.Errors[0])
}
