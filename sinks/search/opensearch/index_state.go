package opensearch

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/sinks/search"
)

// indexState is the server's description of an index.
type indexState struct {
	Aliases  map[string]alias           `json:"aliases"`
	Mappings map[string]json.RawMessage `json:"mappings"`
	Settings map[string]any             `json:"settings"` // settings by their full names
}

// creator is a note that is stored in an index. It names the sink that created the index, and the alias of the index.
type creator struct {
	Pipeline string `json:"pipeline"`
	Sink     string `json:"sink"`
	Index    string `json:"index"`
}

// creator returns the sink that created the index, or the zero creator if no sink did.
func (st *indexState) creator() creator {
	var meta struct {
		Tablewake creator `json:"tablewake"`
	}
	if json.Unmarshal(st.Mappings["_meta"], &meta) != nil {
		return creator{}
	}
	return meta.Tablewake
}

// uuid returns the UUID of the index. A recreated index has another UUID. uuid returns "" if the server reports none,
// or if st is nil.
func (st *indexState) uuid() string {
	if st == nil {
		return ""
	}
	id, _ := st.Settings["index.uuid"].(string)
	return id
}

// createdBefore returns the creation time of the index or t, whichever is earlier.
func (st *indexState) createdBefore(t time.Time) time.Time {
	text, _ := st.Settings["index.creation_date"].(string)
	milliseconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return t
	}
	if created := time.UnixMilli(milliseconds); created.Before(t) {
		return created
	}
	return t
}

// settingsByPath returns the settings and mappings of the index, by path.
func (st *indexState) settingsByPath() (map[string]string, error) {
	values := make(map[string]string)
	flattenSettings(values, "", st.Settings)
	mappings := make(map[string]any, len(st.Mappings))
	for part, raw := range st.Mappings {
		v, err := indexmap.Decode(raw)
		if err != nil {
			return nil, err
		}
		mappings[part] = v
	}
	flattenMapping(values, "mappings", mappings)
	return values, nil
}

// findIndex finds the index of the alias name. It returns nil if there is no such index. It returns an error if the
// name belongs to an index or alias that this sink did not create.
func (s *Store) findIndex(ctx context.Context, name string) (*indexState, error) {
	found, err := s.list(ctx, name, physicalName(name))
	if err != nil {
		return nil, err
	}
	if _, taken := found[name]; taken {
		return nil, s.scopeError(
			errs.Errorf(
				"opensearch: there is an index %s that this sink did not make, and what readers ask for must be an alias: give the sink another index name, or reindex it under another name and delete it", name))
	}
	if index, ok := found[physicalName(name)]; ok {
		return &index, nil
	}
	for other := range found { // the name is an alias of another index
		return nil, s.scopeError(
			errs.Errorf(
				"opensearch: there is an alias %s of index %s that this sink did not make: give the sink another index name, or remove the alias", name, other))
	}
	return nil, nil
}

// anyIndex makes a request also find closed and hidden indexes. With it an empty result is not an error.
const anyIndex = "ignore_unavailable=true&allow_no_indices=true&expand_wildcards=open,closed,hidden"

// list reads the descriptions of indexes by a pattern or by names. The result may be empty.
func (s *Store) list(ctx context.Context, patterns ...string) (map[string]indexState, error) {
	return s.readIndexes(ctx, call{op: "look for an index", index: strings.Join(patterns, ","),
		path: "/" + inPath(patterns) + "?flat_settings=true&" + anyIndex})
}

// readIndexes reads descriptions of indexes, by name. It returns nil if the server answers that it has no such index.
func (s *Store) readIndexes(ctx context.Context, q call) (found map[string]indexState, err error) {
	q.method = http.MethodGet
	body, exists, err := s.client.ask(ctx, q)
	if err == nil && exists && json.Unmarshal(body, &found) != nil {
		err = pipeline.Transient(errs.New("opensearch: the server's answer is not a list of indexes: is a proxy in between?"))
	}
	return found, err
}

// findOwnIndexes returns the indexes that the sink created, by name. If all items go to one index, the result has that
// index even if its owner is another sink; verifyIndex then refuses it.
func (s *Store) findOwnIndexes(ctx context.Context) (map[string]*indexState, error) {
	x := s.indexes
	pattern, isSingle := x.singleName()
	if !isSingle {
		found, err := s.list(ctx, pattern+"*")
		return x.selectOwn(found), err
	}
	own := make(map[string]*indexState)
	index, err := s.findIndex(ctx, pattern)
	if index != nil {
		own[pattern] = index
	}
	return own, err
}

// listNames returns the aliases of the indexes that the sink created, sorted.
func (s *Store) listNames(ctx context.Context) ([]string, error) {
	x := s.indexes
	pattern, isSingle := x.singleName()
	if isSingle {
		pattern = physicalName(pattern)
	} else {
		pattern += "*"
	}
	found, err := s.readIndexes(ctx, call{op: "list indexes", index: pattern,
		path: pathIn(pattern, "/_mapping?filter_path=*.mappings._meta&"+anyIndex)})
	return slices.Sorted(maps.Keys(x.selectOwn(found))), err
}

// selectOwn selects the indexes that the sink created from found. The keys of found are names of indexes; the keys of
// the result are the names of their aliases.
func (x *indexes) selectOwn(found map[string]indexState) map[string]*indexState {
	own := make(map[string]*indexState)
	for name, index := range found {
		madeBy := index.creator()
		if (search.Owner{Pipeline: madeBy.Pipeline, Sink: madeBy.Sink}) == x.owner() && physicalName(madeBy.Index) == name {
			own[madeBy.Index] = &index
		}
	}
	return own
}

// inPath joins names for a path. The commas are not escaped, since access policies match the path with them.
func inPath(names []string) string {
	escaped := make([]string, len(names))
	for i, name := range names {
		escaped[i] = url.PathEscape(name)
	}
	return strings.Join(escaped, ",")
}
