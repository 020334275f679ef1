package opensearch

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

var _ search.Repairer = (*Store)(nil)

// RepairDocuments reads the stored documents and compares them with those that the repairs read. It makes the repairs
// of the documents that are unchanged. It creates a missing document. How it replaces a stored document depends on the
// mode:
//
//   - In mode exact the document must still have the sequence number that was read. A sequence number identifies one
//     write. So if several writers are at work, one is first, and the repairs of all others are lost.
//   - In mode fast the document keeps its external version, the second of its change, or gets that of a newer saved
//     record. OpenSearch does not allow a condition on the sequence number together with an external version. The repair
//     does not replace a write of a later second. It does replace a write of the same second that arrives between the
//     read and the write, and a redelivery of a change of that second replaces the repaired document. The mode promises
//     no order within one second.
func (s *Store) RepairDocuments(ctx context.Context, repairs []search.DocumentRepair) ([]search.Result, error) {
	b := &bulk{store: s, mutations: make([]search.Mutation, len(repairs)), results: make([]search.Result, len(repairs))}
	positions := make([]int, len(repairs))
	for i := range repairs {
		b.mutations[i], positions[i] = repairs[i].Next, i
	}

	positions = b.resolve(ctx, positions)
	for len(positions) > 0 {
		n := min(len(positions), readPage)
		if err := b.repairInBatches(ctx, repairs, positions[:n]); err != nil {
			b.fail(positions, err)
			break
		}
		positions = positions[n:]
	}
	return b.results, nil
}

// documentState is a stored document in the server's form.
type documentState struct {
	Found   bool            `json:"found"`
	Source  json.RawMessage `json:"_source"`
	Seq     int64           `json:"_seq_no"`
	Term    int64           `json:"_primary_term"`
	Version int64           `json:"_version"`
	Error   json.RawMessage `json:"error"`
}

// repairInBatches makes the repairs at positions, in as many requests as the limits require. positions are indexes into
// repairs.
func (b *bulk) repairInBatches(ctx context.Context, repairs []search.DocumentRepair, positions []int) error {
	stored, err := b.readStates(ctx, positions)
	if err != nil {
		return err
	}
	common := b.commonIndex(positions)
	var lines []byte
	var batch []int // positions of the mutations in lines
	for n, i := range positions {
		m, current := &b.mutations[i], &stored[n]
		unchanged, err := b.checkUnchanged(&repairs[i], m, current)
		if err != nil || !unchanged {
			b.results[i] = search.Result{Err: err, Overtaken: err == nil}
			continue
		}

		line := b.appendRepair(nil, indexInLine(common, m), m, current)
		isFull := len(lines)+len(line) > b.store.limits.maxBytes()
		if isFull {
			if err := b.sendRepairs(ctx, common, batch, lines); err != nil {
				return err
			}
			lines, batch = lines[:0], nil
		}
		lines = append(lines, line...)
		batch = append(batch, i)
	}
	return b.sendRepairs(ctx, common, batch, lines)
}

// checkUnchanged reports whether a document is still as the repair read it. It returns an error if the document cannot
// be read, or if it has another birth (the random id of the output that wrote it).
func (b *bulk) checkUnchanged(repair *search.DocumentRepair, m *search.Mutation, current *documentState) (bool, error) {
	var stored search.StoredDocument
	if current.Found {
		var own ownMark
		var err error
		if stored, own, err = storedDocument(m.Index, current.Source); err != nil {
			return false, err
		}
		if own.Version != "" && own.Birth != m.Birth {
			return false, state.BirthMismatch(b.store.sinkName(), "a document of index "+m.Index, own.Birth, m.Birth)
		}
	}
	return stored.Matches(&repair.Expected), nil
}

const statesPath = "/_mget?filter_path=docs.found,docs._source,docs._seq_no,docs._primary_term,docs._version,docs.error"

// readStates reads the stored documents of the mutations at positions.
func (b *bulk) readStates(ctx context.Context, positions []int) ([]documentState, error) {
	body, err := b.multiGet(ctx, positions, statesPath, "read a document")
	if err != nil {
		return nil, err
	}
	var found struct {
		Docs []documentState `json:"docs"`
	}
	if json.Unmarshal(body, &found) != nil || len(found.Docs) != len(positions) {
		return nil, errMismatchedAnswer
	}
	for n := range found.Docs {
		if found.Docs[n].Error != nil {
			return nil, errMismatchedAnswer
		}
	}
	return found.Docs, nil
}

// appendRepair appends the lines that write a mutation if the stored document has not changed since current was read.
func (b *bulk) appendRepair(dst []byte, index string, m *search.Mutation, current *documentState) []byte {
	if current.Found {
		dst = appendTarget(append(dst, `{"index":{`...), index, m)
		dst = b.appendCondition(dst, m, current)
	} else {
		dst = appendTarget(append(dst, `{"create":{`...), index, m)
	}
	dst = append(dst, "}}\n"...)
	return append(appendDocument(dst, b.store.documentToSend(m)), '\n')
}

// appendCondition appends the members of a line that require the stored document to be as it was read.
func (b *bulk) appendCondition(dst []byte, m *search.Mutation, current *documentState) []byte {
	if b.store.mode == Fast {
		dst = append(dst, `,"version_type":"external_gte","version":`...)
		return strconv.AppendInt(dst, max(current.Version, externalVersion(m)), 10)
	}
	dst = append(dst, `,"if_seq_no":`...)
	dst = strconv.AppendInt(dst, current.Seq, 10)
	dst = append(dst, `,"if_primary_term":`...)
	return strconv.AppendInt(dst, current.Term, 10)
}

// sendRepairs sends the lines of the mutations at positions, and sets their results. index is the index of all lines,
// or "" if each line names its own.
func (b *bulk) sendRepairs(ctx context.Context, index string, positions []int, lines []byte) error {
	if len(positions) == 0 {
		return nil
	}
	q := call{op: opWrite, index: index, path: pathIn(index, b.store.bulkPath)}
	return b.store.client.sendBulkItems(ctx, q, lines, len(positions), func(n int, it *bulkItem) {
		i := positions[n]
		if it.status == http.StatusConflict {
			b.results[i] = search.Result{Overtaken: true}
			return
		}
		isUnfit := b.setResult(i, it) == unfit
		if _, isRace := it.lostRace(); isUnfit && !isRace {
			b.setUnholdableHint(i, &it.failure)
		}
	})
}
