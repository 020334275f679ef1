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

// stateIndex holds one record for each sink that writes to the server, beside its indexes.
const stateIndex = "tablewake"

// stateSettings and stateMapping are what stateIndex is made of: small, on every node that
// may be asked, and left out where somebody reads all indexes.
const (
	stateSettings = `{"index":{"number_of_shards":1,"auto_expand_replicas":"0-1","hidden":true}}`
	stateMapping  = `{"dynamic":false,"properties":{"pipeline":{"type":"keyword"},"sink":{"type":"keyword"}}}`
)

// record is what the server remembers of a sink.
type indexRecord struct {
	Pipeline    string               `json:"pipeline"`
	Sink        string               `json:"sink"`
	Born        time.Time            `json:"born"`                  // since when nothing of it was forgotten
	Asked       map[string]string    `json:"asked,omitempty"`       // what its indexes were asked to be, by path
	Fingerprint *state.Fingerprint   `json:"fingerprint,omitempty"` // nil: none
	Made        map[string]string    `json:"made,omitempty"`        // indexes that were made, and the UUID of each
	Pending     map[string]time.Time `json:"pending,omitempty"`     // indexes that are being made, and since when
}

// MarshalJSON puts what is not searched as text: its names are no fields of the index.
func (r indexRecord) MarshalJSON() ([]byte, error) {
	type plain indexRecord
	inner, err := json.Marshal(plain(r))
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"pipeline": r.Pipeline, "sink": r.Sink, "record": string(inner)})
}

// UnmarshalJSON reads what MarshalJSON makes.
func (r *indexRecord) UnmarshalJSON(b []byte) error {
	var outer struct {
		Record string `json:"record"`
	}
	if err := json.Unmarshal(b, &outer); err != nil {
		return err
	}
	type plain indexRecord
	return json.Unmarshal([]byte(outer.Record), (*plain)(r))
}

// recordPath is where a sink's record is.
func recordPath(of search.Owner) string {
	return "/" + stateIndex + "/_doc/" + inPath([]string{escaped(of.Pipeline), escaped(of.Sink)})
}

func escaped(name string) string { return string(item.AppendEscaped(nil, name)) }

// maxAmends is how often a record is read again because another process changed it.
const maxAmends = 20

// record reads the record of a sink; false where there is none. at is the condition that
// it is unchanged, as a query.
func (s *Store) record(ctx context.Context, of search.Owner) (r indexRecord, at string, found bool, err error) {
	body, found, err := s.client.ask(ctx, call{op: "read the record of the sink", index: stateIndex, method: http.MethodGet, path: recordPath(of)})
	if err != nil || !found {
		return r, "op_type=create", false, err
	}
	var doc struct {
		Seq    int64       `json:"_seq_no"`
		Term   int64       `json:"_primary_term"`
		Source indexRecord `json:"_source"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return r, "", false, fmt.Errorf("opensearch: the record of sink %s in index %s cannot be read: %w", of.Sink, stateIndex, err)
	}
	return doc.Source, fmt.Sprintf("if_seq_no=%d&if_primary_term=%d", doc.Seq, doc.Term), true, nil
}

// amend changes the record of a sink in one step, whoever else does; one that is not there is born. change
// is called again when another one was faster; where it says that nothing is to be changed, nothing is.
func (s *Store) amend(ctx context.Context, of search.Owner, change func(r *indexRecord, found bool) (bool, error)) error {
	for range maxAmends {
		r, at, found, err := s.record(ctx, of)
		if err != nil {
			return err
		}
		if r.Pipeline, r.Sink = of.Pipeline, of.Sink; !found {
			r.Born = s.clock()
		}
		if do, err := change(&r, found); err != nil || !do {
			return err
		}
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		a, err := s.client.do(ctx, http.MethodPut, recordPath(of)+"?"+at, body)
		if err != nil || a.ok() {
			return err
		}
		if a.status != http.StatusConflict {
			return a.failure("write the record of the sink", stateIndex)
		}
	}
	return pipeline.Transient(errs.New("opensearch: the record of the sink is changed by others all the time"))
}

// ensureState makes stateIndex where it is missing. An index of that name that is
// somebody else's is left alone.
func (s *Store) ensureState(ctx context.Context) error {
	found, err := s.list(ctx, stateIndex)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		there := found[stateIndex]
		return there.keepsRecords()
	}
	body := `{"mappings":` + stateMapping + `}`
	if !s.serverless { // which has no shards and replicas to speak of
		body = `{"settings":` + stateSettings + `,"mappings":` + stateMapping + `}`
	}
	a, err := s.client.do(ctx, http.MethodPut, "/"+stateIndex, []byte(body))
	if err != nil || a.ok() {
		return err
	}
	if f := a.parse(); f.existed() {
		return nil
	}
	return a.failure("make an index", stateIndex)
}

// keepsRecords is nil where the index is what stateIndex is made of.
func (st *indexState) keepsRecords() error {
	want, err := indexmap.Decode([]byte(stateMapping))
	if err != nil {
		return err
	}
	asked := make(map[string]string)
	if mapping, ok := want.(map[string]any); ok {
		flattenMapping(asked, "mappings", mapping)
	}
	is, err := st.settingsByPath()
	if err == nil && difference(asked, is) != "" {
		err = errs.New("it is not what is made for that")
	}
	if err != nil {
		return pipeline.Fatal(fmt.Errorf("opensearch: sinks keep their records in index %s, and there is another index or an alias of that name: %w; rename it", stateIndex, err))
	}
	return nil
}

// existed tells that an index could not be made because it is there.
func (f *failure) existed() bool {
	return f.status == http.StatusBadRequest && string(f.kind) == "resource_already_exists_exception"
}

// Fingerprint reads the settings that shaped the documents of a sink.
func (s *Store) Fingerprint(ctx context.Context, pipelineName, sink string) (state.Fingerprint, bool, error) {
	r, _, _, err := s.record(ctx, search.Owner{Pipeline: pipelineName, Sink: sink})
	if err != nil || r.Fingerprint == nil {
		return state.Fingerprint{}, false, err
	}
	return *r.Fingerprint, true, nil
}

// SetFingerprint puts them beside the documents, in index tablewake.
func (s *Store) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	return s.rewrite(ctx, search.Owner{Pipeline: f.Pipeline, Sink: f.Sink}, func(r *indexRecord) { r.Fingerprint = &f })
}

// rewrite changes the record of a sink, in an index that is made if it is missing.
func (s *Store) rewrite(ctx context.Context, of search.Owner, change func(r *indexRecord)) error {
	if err := s.ensureState(ctx); err != nil {
		return err
	}
	return s.amend(ctx, of, func(r *indexRecord, _ bool) (bool, error) {
		change(r)
		return true, nil
	})
}

// StoreAge is since when the store remembers every document that went. Tombstones are
// purged, so that it forgets.
func (s *Store) StoreAge(ctx context.Context) (state.StoreAge, error) {
	if s.indexes == nil {
		return state.StoreAge{}, errs.New("opensearch: StoreAge: the store has no Indexes: give them in Options")
	}
	r, _, _, err := s.record(ctx, s.indexes.sink())
	return state.StoreAge{Born: r.Born, Forgets: true}, err
}

var (
	_ state.Fingerprints = (*Store)(nil)
	_ state.AgeReporter  = (*Store)(nil)
)
