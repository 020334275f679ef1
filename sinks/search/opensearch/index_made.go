package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/state"
)

// uuid tells an index from one that had its name before; "" where the server does not say.
func (st *standing) uuid() string {
	id, _ := st.Settings["index.uuid"].(string)
	return id
}

// names tells whether an index may be one of the sink's, as it is named now.
func (x *indexes) names(name string) bool {
	prefix, one := x.one()
	return name == prefix || !one && strings.HasPrefix(name, prefix)
}

// sink is the name of the sink; "" where the store makes no indexes.
func (s *Store) sink() string {
	if s.indexes == nil {
		return ""
	}
	return s.indexes.Sink
}

// lost is the error of a record, or of an index, that was made and is not there, or is another one.
func (s *Store) lost(r *record, found bool, there map[string]*standing) error {
	if !found && s.indexes.Begun {
		return state.Lost(s.sink(), fmt.Sprintf("index %s holds no record of the sink, and the pipeline's state knows what it wrote: the server's indexes were deleted or exchanged", stateIndex))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Made)) {
		if !s.indexes.names(name) {
			continue
		}
		index, ok := there[name]
		if !ok {
			return s.errDeleted(name)
		}
		if err := s.exchanged(name, r.Made[name], index); err != nil {
			return err
		}
	}
	return nil
}

// exchanged is the error of an index that is not the one that was made.
func (s *Store) exchanged(name, made string, index *standing) error {
	if is := index.uuid(); made != "" && is != "" && is != made {
		return state.Lost(s.sink(), fmt.Sprintf("index %s was made with the UUID %s, and there is one with the UUID %s: it was restored or made again", name, made, is))
	}
	return nil
}

func (s *Store) errDeleted(name string) error {
	return state.Lost(s.sink(), fmt.Sprintf("index %s is missing, and it was made before: it was deleted", name))
}

// noteMade notes that an index was made, as the one that it is.
func (s *Store) noteMade(ctx context.Context, name string, index *standing) error {
	return s.amend(ctx, s.indexes.Pipeline, s.indexes.Sink, func(r *record, found bool) (bool, error) {
		if was, known := r.Made[name]; known {
			return false, s.exchanged(name, was, index)
		}
		if !found {
			r.Born = s.clock()
		}
		if r.Made == nil {
			r.Made = make(map[string]string)
		}
		r.Made[name] = index.uuid()
		return true, nil
	})
}

// wasMade tells whether the record says that an index was made.
func (s *Store) wasMade(ctx context.Context, name string) (bool, error) {
	r, _, _, err := s.record(ctx, s.indexes.Pipeline, s.indexes.Sink)
	_, made := r.Made[name]
	return made, err
}

// Output is what the sink of the store's Indexes has on the server.
func (s *Store) Output(state.OutputRef) state.Output { return output{s} }

type output struct{ *Store }

// Identity is "": what tells the server is the birth in the record of the sink, and which index is
// which. The error says which one was made, and is missing or another.
func (o output) Identity(ctx context.Context) (string, error) {
	r, _, found, err := o.record(ctx, o.indexes.Pipeline, o.indexes.Sink) // first: what is made meanwhile is not in it
	if err != nil {
		return "", err
	}
	there, err := o.mine(ctx)
	if err != nil {
		return "", err
	}
	return "", o.lost(&r, found || !o.indexes.Begun, there)
}

// Inspect counts documents and tombstones, all of them.
func (o output) Inspect(ctx context.Context, _ bool) (state.Inspection, error) {
	l := state.Inspection{Whole: true}
	mine, err := o.mine(ctx)
	if err != nil || len(mine) == 0 {
		return l, err
	}
	var names []string
	for name := range mine {
		names = append(names, physical(name))
	}
	path := "/" + inPath(names)
	for _, ask := range []struct{ path, body string }{
		{"/_refresh", ""},
		{"/_search", `{"size":0,"aggs":{"births":{"terms":{"field":"_tw.birth","missing":"","size":100}},"gone":{"filter":{"term":{"_tw.deleted":true}}}}}`},
	} {
		a, err := o.client.do(ctx, http.MethodPost, path+ask.path, []byte(ask.body))
		if err == nil && !a.ok() {
			err = a.failure("count documents", names[0])
		}
		if err != nil {
			return l, err
		}
		if ask.body == "" {
			continue
		}
		var found struct {
			Aggregations struct {
				Births struct {
					Buckets []struct {
						Key string
						N   int `json:"doc_count"`
					}
				}
				Gone struct {
					N int `json:"doc_count"`
				}
			}
		}
		if err := json.Unmarshal(a.body, &found); err != nil {
			return l, fmt.Errorf("opensearch: the count of documents cannot be read: %w", err)
		}
		for _, b := range found.Aggregations.Births.Buckets {
			l.Add(b.Key, b.N)
		}
		l.Tombstones = found.Aggregations.Gone.N
	}
	return l, nil
}

// Emptied is false: documents guard themselves, and the state remembers none.
func (output) Emptied(context.Context, string) (bool, error) { return false, nil }

// Forget drops what is known of the indexes that were made, and of their settings.
func (o output) Forget(ctx context.Context) error {
	if err := o.ensureState(ctx); err != nil {
		return err
	}
	return o.amend(ctx, o.indexes.Pipeline, o.indexes.Sink, func(r *record, found bool) (bool, error) {
		if !found {
			r.Born = o.clock()
		}
		r.Made, r.Fingerprint = nil, nil
		return true, nil
	})
}
