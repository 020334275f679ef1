package replay

import (
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline"
)

// inputPosition is a position at which reading continues: after a record, or at the start of a file. Its JSON is a
// [pipeline.Position].
type inputPosition struct {
	File   string  `json:"file"`
	Offset int64   `json:"offset"` // offset in the decompressed file
	Line   int64   `json:"line"`   // line number of Offset, from 1
	Record int64   `json:"record"` // number of records before Offset in its array or event
	Within nesting `json:"within"` // arrays and events around Offset
}

// nesting names the arrays and events around a position.
type nesting string

const (
	atFileStart      nesting = ""          // the content is not recognized yet
	betweenDocuments nesting = "documents" // in no document
	inArray          nesting = "array"     // in an array of records
	inEvent          nesting = "event"
	inArrayOfEvent   nesting = "array/event" // in the Records of an event, which is in an array
)

func (p inputPosition) encode() pipeline.Position {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return pipeline.Position(b)
}

func parsePosition(s pipeline.Position) (inputPosition, error) {
	var p inputPosition
	if err := json.Unmarshal([]byte(s), &p); err != nil {
		return inputPosition{}, errs.Errorf("not a position of a replay: %q: %w", s, err)
	}
	switch p.Within {
	case "lines": // old name of betweenDocuments
		p.Within = betweenDocuments
	case atFileStart, betweenDocuments, inArray, inEvent, inArrayOfEvent:
	default:
		return inputPosition{}, errs.Errorf("not a position of a replay: %q: unknown %q", s, p.Within)
	}
	if p.Offset < 0 || p.Line < 1 || p.Record < 0 {
		return inputPosition{}, errs.Errorf("not a position of a replay: %q: numbers below their range", s)
	}
	return p, nil
}
