package items

import (
	"bytes"
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/internal/lines"
)

// checkBlock returns an error if a block shows that its file must not be read into a sink. part.Items is the number of
// items before the block.
func (s *Snapshot) checkBlock(part *snapshot.Part, b lines.Block) error {
	if part.Items == 0 {
		if err := s.checkFormat(part.ID, b); err != nil {
			return err
		}
	}
	if s.options.Sample {
		return nil
	}
	if err := checkLastLine(part.ID, b); err != nil || !s.options.RefuseUndecodable {
		return err
	}
	p, err := b.Page(s.decoder, part.ID, "").Decode()
	if err != nil || len(p.Errors) == 0 {
		return err
	}
	return errs.Errorf("%w: a line that cannot be decoded would block the backfill: correct it, and repeat the command",
		p.Errors[0])
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

// checkLastLine returns an error if the block ends within a line that is not complete JSON, of one value or several.
// Only the last line of a file can have no line end. A file that ends within an item was cut, and the items after it
// are missing.
func checkLastLine(file string, b lines.Block) error {
	start := bytes.LastIndexByte(b.Bytes, '\n') + 1
	values := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b.Bytes[start:], []byte("\ufeff"))))
	for {
		var value json.RawMessage
		err := values.Decode(&value)
		switch {
		case pipeline.IsEnd(err):
			return nil
		case err != nil:
			return errs.Errorf(
				"%s:%d: the file ends within an item, so it is cut short: copy the file again, and repeat the command",
				file, b.Line+int64(bytes.Count(b.Bytes[:start], []byte{'\n'})))
		}
	}
}
