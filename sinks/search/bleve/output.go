package bleve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/blevesearch/bleve/v2"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// Output is what a sink has in the indexes of its name.
func (s *Store) Output(p state.Place) state.Output { return output{s, p} }

type output struct {
	store *Store
	state.Place
}

// names are the indexes that were made for the sink, as far as the folder knows. Sinks whose names
// begin alike share them.
func (o output) names() (names []string, err error) {
	all, err := o.store.AllMade()
	prefix, _, whole := strings.Cut(o.Name, "{")
	for _, name := range all {
		if name == o.Name || whole && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, err
}

// Identity is "": what tells the folder is the birth in the record of the sink's settings. The
// error says which index was made and is missing.
func (o output) Identity(context.Context) (string, error) {
	names, err := o.names()
	for _, name := range names {
		if _, err := os.Stat(o.store.path(name)); errors.Is(err, os.ErrNotExist) {
			return "", state.Lost(o.Sink, fmt.Sprintf("the index %s is missing, and it was made before: its folder %s was deleted", name, o.store.path(name)))
		}
	}
	return "", err
}

// Look counts documents and tombstones, by those of them whose birth is read: of each index the
// first ones.
func (o output) Look(context.Context, bool) (l state.Look, err error) {
	l.Whole = true
	names, err := o.names()
	for _, name := range names {
		ix, err := o.store.index(name, false)
		if errors.Is(err, search.ErrNoIndex) {
			continue
		}
		if err == nil {
			err = ix.use(func(b bleve.Index) error { return look(b, &l) })
		}
		if err != nil {
			return l, err
		}
	}
	return l, err
}

// lookedAt is how many documents of an index a look reads.
const lookedAt = 1000

func look(b bleve.Index, l *state.Look) (err error) {
	reader, err := openReader(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	ids, err := reader.FieldDict("_id")
	if err != nil {
		return fmt.Errorf("bleve: %w", err)
	}
	defer func() { err = errors.Join(err, ids.Close()) }()
	for n := 0; ; n++ {
		entry, err := ids.Next()
		if err != nil {
			return fmt.Errorf("bleve: %w", err)
		}
		if entry == nil {
			return nil
		}
		if n == lookedAt {
			l.Whole = false
			return nil
		}
		birth, _, err := storedField(reader, entry.Term, birthField)
		if err != nil {
			return err
		}
		l.Add(string(birth), 1)
	}
}

// Emptied is false: documents guard themselves, and the state remembers none.
func (output) Emptied(context.Context, string) (bool, error) { return false, nil }

// Renew forgets which indexes were made.
func (o output) Renew(context.Context) error {
	names, err := o.names()
	for _, name := range names {
		if err := o.store.SetMade(name, false); err != nil {
			return err
		}
	}
	return err
}
