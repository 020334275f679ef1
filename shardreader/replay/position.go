package replay

import (
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline"
)

// place is a position in the inputs, always behind a record or at the start of a file.
type place struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"` // bytes from the start of the file, decompressed
	Line   int64  `json:"line"`   // in which Offset stands, 1-based
	Record int64  `json:"record"` // records before it in the array or event that is open there
	Within nest   `json:"within"` // what is open at Offset
}

// nest says in what the records stand.
type nest string

const (
	inNothing      nest = ""            // at the start of the file: what it is has yet to be seen
	inDocuments    nest = "documents"   // between documents
	inArray        nest = "array"       // an array of records
	inEvent        nest = "event"       // the Records of an event
	inArrayOfEvent nest = "array/event" // the Records of an event in an array
)

func (p place) position() pipeline.Position {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return pipeline.Position(b)
}

func parsePosition(s pipeline.Position) (place, error) {
	var p place
	if err := json.Unmarshal([]byte(s), &p); err != nil {
		return place{}, errs.Errorf("not a position of a replay: %q: %w", s, err)
	}
	switch p.Within {
	case "lines": // as it was called between the lines of a file
		p.Within = inDocuments
	case inNothing, inDocuments, inArray, inEvent, inArrayOfEvent:
	default:
		return place{}, errs.Errorf("not a position of a replay: %q: unknown %q", s, p.Within)
	}
	if p.Offset < 0 || p.Line < 1 || p.Record < 0 {
		return place{}, errs.Errorf("not a position of a replay: %q: numbers below their range", s)
	}
	return p, nil
}
