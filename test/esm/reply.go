package esm

import (
	"bytes"
	"encoding/json"
	"slices"
)

// reply is the answer of a function.
type reply struct {
	Failures []struct {
		ID *string `json:"itemIdentifier"`
	} `json:"batchItemFailures"`
	State json.RawMessage `json:"state"` // the state of a tumbling window

	broken bool
}

// readReply reads an answer. An empty answer and null are also valid answers.
func readReply(b []byte) reply {
	var r reply
	if b = bytes.TrimSpace(b); len(b) > 0 && json.Unmarshal(b, &r) != nil {
		return reply{broken: true}
	}
	return r
}

// done returns the number of finished records of the batch: those before the lowest one that the answer reports as
// failed. If an identifier is empty, null, missing or from another batch, the whole batch fails. An invalid answer
// also fails the whole batch. If failures are not requested, the answer is ignored.
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
