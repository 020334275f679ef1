package sqlite

import (
	"context"
	"strings"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// countBirths counts the documents and the tombstones of a sink by birth, the random id of its output. It counts in the
// index named ?3. If ?5 is true, it also counts in all indexes whose names begin with ?4.
const countBirths = `SELECT d.birth, count(*), count(*) - count(d.source) FROM "_tws_indexes" i JOIN "_tws_documents" d ON d."index" = i.id
WHERE i.pipeline = ?1 AND i.sink = ?2 AND (i.name = ?3 OR ?5 AND substr(i.name, 1, length(?4)) = ?4) GROUP BY d.birth`

// Output returns the output of a sink: the documents in the indexes that p.Name names. p.Name may be a template.
func (s *Store) Output(p state.OutputRef) state.Output {
	return output{sqlite.Output{DB: s.db, OutputRef: p}}
}

type output struct{ sqlite.Output }

// Inspect counts documents and tombstones of the sink.
func (o output) Inspect(ctx context.Context, _ bool) (state.Inspection, error) {
	if exists, err := hasLayout(ctx, o.DB); err != nil || !exists {
		return state.Inspection{Complete: true}, err
	}
	prefix, _, varies := strings.Cut(o.Name, "{")
	return o.Count(ctx, countBirths, o.Pipeline, o.Sink, o.Name, prefix, varies)
}

// Emptied returns false: the state remembers no documents.
func (output) Emptied(context.Context, string) (bool, error) { return false, nil }
