package esm

import (
	"bytes"
	"encoding/json"
	"slices"
)

// reply is what a function answered.
type reply struct {
	Failures []struct {
		ID *string `json:"itemIdentifier"`
	} `json:"batchItemFailures"`
	State json.RawMessage `json:"state"` // of a tumbling window

	broken bool
}

// readReply reads an answer; nothing at all, and null, are answers too.
func readReply(b []byte) reply {
	var r reply
	if b = bytes.TrimSpace(b); len(b) > 0 && json.Unmarshal(b, &r) != nil {
		return reply{broken: true}
	}
	return r
}

// done is the number of finished records of the batch: those before the lowest that the function names. An identifier
// that is empty, null, missing or from another batch fails the batch whole, and so does an invalid answer. If failures
// are not requested, the answer is ignored.
func (r reply) done(batch []*record, asked bool) (n int, failed bool) {
	n = len(batch)
	if !asked {
		return n, false
	}
	if r.broken {
		return 0, true
	}
	for _, f := range r.Failures {
		at := -1
		if f.ID != nil && *f.ID != "" {
			at = slices.IndexFunc(batch, func(r *record) bool { return r.sequence == *f.ID })
		}
		if at < 0 {
			return 0, true
		}
		n = min(n, at)
	}
	return n, false
}
