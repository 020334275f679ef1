package sqlite

import (
	"context"
	"strings"

	"github.com/tablewake/tablewake/sinks/state"
)

const countBirths = `SELECT i.name, d.birth, count(*), count(*) - count(d.source) FROM "_tws_indexes" i JOIN "_tws_documents" d ON d."index" = i.id
WHERE i.pipeline = ? AND i.sink = ? GROUP BY i.id, d.birth`

// Output is what a sink has in the indexes of its name.
func (s *Store) Output(p state.Place) state.Output { return output{s, p} }

type output struct {
	store *Store
	state.Place
}

// Identity is "": the indexes are in one file with what is remembered of them, whose identity is
// that of the state.
func (output) Identity(context.Context) (string, error) { return "", nil }

// Look counts documents and tombstones of the sink.
func (o output) Look(ctx context.Context, _ bool) (state.Look, error) {
	l := state.Look{Whole: true}
	rows, err := o.store.db.Reader().QueryContext(ctx, countBirths, o.Pipeline, o.Sink)
	if err != nil {
		return l, o.store.db.Failed("read", err)
	}
	defer rows.Close()
	prefix, _, whole := strings.Cut(o.Name, "{")
	for rows.Next() {
		var name, birth string
		var n, tombstones int
		if err := rows.Scan(&name, &birth, &n, &tombstones); err != nil {
			return l, o.store.db.Failed("read", err)
		}
		if name == o.Name || whole && strings.HasPrefix(name, prefix) {
			l.Add(birth, n)
			l.Tombstones += tombstones
		}
	}
	return l, o.store.db.Failed("read", rows.Err())
}

// Emptied is false: documents guard themselves, and the state remembers none.
func (output) Emptied(context.Context, string) (bool, error) { return false, nil }

// Renew does nothing: the file remembers nothing of documents that are gone.
func (output) Renew(context.Context) error { return nil }
