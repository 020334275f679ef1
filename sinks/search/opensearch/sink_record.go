package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// stateIndex is the index that holds one record for each sink that writes to the server.
const stateIndex = "tablewake"

// stateSettings and stateMapping define stateIndex. stateIndex has one shard, because it is small, and a replica if
// there is another node. It is hidden, so requests for all indexes do not include it.
const (
	stateSettings = `{"index":{"number_of_shards":1,"auto_expand_replicas":"0-1","hidden":true}}`
	stateMapping  = `{"dynamic":false,"properties":{"pipeline":{"type":"keyword"},"sink":{"type":"keyword"}}}`
)

// sinkRecord is the record of a sink on the server.
type sinkRecord struct {
	Pipeline string `json:"pipeline"`
	Sink     string `json:"sink"`
	// Born is the time when the sink's output began: when the record or the oldest index was created
	Born time.Time `json:"born"`
	// Definition has the configured settings and mappings of the sink's indexes: values by their paths. The stored name
	// is "asked"
	Definition  map[string]string  `json:"asked,omitempty"`
	Fingerprint *state.Fingerprint `json:"fingerprint,omitempty"` // nil: no fingerprint is stored
	// UUIDs maps the indexes that were created to their UUIDs. The stored name is "made"
	UUIDs map[string]string `json:"made,omitempty"`
	// Creating maps the indexes that are being created to the time when that began. The stored name is "pending"
	Creating map[string]time.Time `json:"pending,omitempty"`
}

// MarshalJSON encodes the record as one text, so that the members of the record do not become fields of the index.
func (r sinkRecord) MarshalJSON() ([]byte, error) {
	type plain sinkRecord
	inner, err := json.Marshal(plain(r))
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"pipeline": r.Pipeline, "sink": r.Sink, "record": string(inner)})
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (r *sinkRecord) UnmarshalJSON(b []byte) error {
	var outer struct {
		Record string `json:"record"`
	}
	if err := json.Unmarshal(b, &outer); err != nil {
		return err
	}
	type plain sinkRecord
	return json.Unmarshal([]byte(outer.Record), (*plain)(r))
}

// recordPath returns the path of a sink's record.
func recordPath(sink search.Owner) string {
	return "/" + stateIndex + "/_doc/" + inPath([]string{escaped(sink.Pipeline), escaped(sink.Sink)})
}

func escaped(name string) string { return string(item.AppendEscaped(nil, name)) }

// maxRecordTries is the maximum number of tries of changeRecord. A try fails if another process changes the record
// between the read and the write.
const maxRecordTries = 20

// storedRecord is the record of a sink as it was read.
type storedRecord struct {
	sinkRecord
	found     bool   // false: the sink has no record, and sinkRecord is zero
	condition string // query parameters that make a write conditional on the record being unchanged
}

// readRecord reads the record of a sink.
func (s *Store) readRecord(ctx context.Context, sink search.Owner) (storedRecord, error) {
	body, found, err := s.client.ask(ctx, call{op: "read the record of the sink", index: stateIndex,
		method: http.MethodGet, path: recordPath(sink)})
	if err != nil || !found {
		return storedRecord{condition: "op_type=create"}, err
	}

	var doc struct {
		Found  bool       `json:"found"`
		Seq    int64      `json:"_seq_no"`
		Term   int64      `json:"_primary_term"`
		Source sinkRecord `json:"_source"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return storedRecord{}, fmt.Errorf("opensearch: the record of sink %s in index %s cannot be read: %w", sink.Sink,
			stateIndex, err)
	}
	if !doc.Found { // OpenSearch answers 404 if the record is missing, so this is no answer of OpenSearch
		return storedRecord{}, pipeline.Transient(errs.Errorf(
			"opensearch: the answer holds no record of sink %s: is a proxy in between?", sink.Sink))
	}
	condition := fmt.Sprintf("if_seq_no=%d&if_primary_term=%d", doc.Seq, doc.Term)
	return storedRecord{sinkRecord: doc.Source, found: true, condition: condition}, nil
}

// changeRecord changes the record of a sink with a conditional write, and creates a missing record. It calls change
// again if another process was faster. If change returns false, changeRecord writes nothing.
func (s *Store) changeRecord(
	ctx context.Context, sink search.Owner, change func(r *storedRecord) (changed bool, err error),
) error {
	for range maxRecordTries {
		r, err := s.readRecord(ctx, sink)
		if err != nil {
			return err
		}
		r.Pipeline, r.Sink = sink.Pipeline, sink.Sink
		if !r.found {
			r.Born = s.clock()
		}
		if changed, err := change(&r); err != nil || !changed {
			return err
		}

		body, err := json.Marshal(r.sinkRecord)
		if err != nil {
			return err
		}
		a, err := s.client.do(ctx, http.MethodPut, recordPath(sink)+"?"+r.condition, body)
		if err != nil || a.succeeded() {
			return err
		}
		if a.status != http.StatusConflict {
			return a.asError("write the record of the sink", stateIndex)
		}
	}
	return pipeline.Transient(errs.New("opensearch: the record of the sink is changed by others all the time"))
}

// ensureStateIndex creates stateIndex if it is missing. It returns an error if there is an index of that name with
// another mapping.
func (s *Store) ensureStateIndex(ctx context.Context) error {
	found, err := s.list(ctx, stateIndex)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		existing := found[stateIndex] // zero if stateIndex is an alias; then the check fails
		return existing.checkRecordMapping()
	}

	body := `{"mappings":` + stateMapping + `}`
	if !s.serverless { // Serverless has no settings of shards and replicas
		body = `{"settings":` + stateSettings + `,"mappings":` + stateMapping + `}`
	}
	a, err := s.client.do(ctx, http.MethodPut, "/"+stateIndex, []byte(body))
	if err != nil || a.succeeded() {
		return err
	}
	if f := a.parse(); f.alreadyExists() {
		return nil
	}
	return a.asError("make an index", stateIndex)
}

// checkRecordMapping returns an error unless the index has the mapping of stateIndex.
func (st *indexState) checkRecordMapping() error {
	decoded, err := indexmap.Decode([]byte(stateMapping))
	if err != nil {
		return err
	}

	wanted := make(map[string]string)
	if mapping, ok := decoded.(map[string]any); ok {
		flattenMapping(wanted, "mappings", mapping)
	}
	actual, err := st.settingsByPath()
	if err == nil && definitionDifference(wanted, actual) == "" {
		return nil
	}
	if err == nil {
		err = errs.New("it is not what is made for that")
	}
	return pipeline.Fatal(fmt.Errorf(
		"opensearch: sinks keep their records in index %s, and there is another index or an alias of that name: %w; rename it",
		stateIndex, err))
}

// alreadyExists reports whether an index could not be created because it exists.
func (f *failure) alreadyExists() bool {
	return f.status == http.StatusBadRequest && string(f.kind) == "resource_already_exists_exception"
}

// Fingerprint reads the fingerprint of a sink: the settings that shaped its documents. The bool is false if no
// fingerprint is stored. It retries as Open does, because another process may be creating the index of records at the
// same time.
func (s *Store) Fingerprint(ctx context.Context, pipelineName, sink string) (state.Fingerprint, bool, error) {
	var r storedRecord
	err := retryUntilReady(ctx, func() (err error) {
		r, err = s.readRecord(ctx, search.Owner{Pipeline: pipelineName, Sink: sink})
		return err
	})
	if err != nil || r.Fingerprint == nil {
		return state.Fingerprint{}, false, err
	}
	return *r.Fingerprint, true, nil
}

// SetFingerprint stores the fingerprint in the record of the sink.
func (s *Store) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	owner := search.Owner{Pipeline: f.Pipeline, Sink: f.Sink}
	return s.updateRecord(ctx, owner, func(r *sinkRecord) { r.Fingerprint = &f })
}

// updateRecord changes the record of a sink, and creates stateIndex if it is missing. It retries as Open does.
func (s *Store) updateRecord(ctx context.Context, sink search.Owner, change func(r *sinkRecord)) error {
	return retryUntilReady(ctx, func() error {
		if err := s.ensureStateIndex(ctx); err != nil {
			return err
		}
		return s.changeRecord(ctx, sink, func(r *storedRecord) (bool, error) {
			change(&r.sinkRecord)
			return true, nil
		})
	})
}

// StoreAge returns the time when the sink's output began: when its record or its oldest index was created. Forgets is
// true, because [Store.Purge] deletes old tombstones, and with them the versions of deletes.
func (s *Store) StoreAge(ctx context.Context) (state.StoreAge, error) {
	if s.indexes == nil {
		return state.StoreAge{}, errs.New("opensearch: StoreAge: the store has no Indexes: give them in Options")
	}
	r, err := s.readRecord(ctx, s.indexes.owner())
	return state.StoreAge{Born: r.Born, Forgets: true}, err
}

var (
	_ state.Fingerprints = (*Store)(nil)
	_ state.AgeReporter  = (*Store)(nil)
)
