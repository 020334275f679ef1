package bleve

import (
	"context"
	"errors"

	"github.com/blevesearch/bleve/v2"

	"github.com/tablewake/tablewake/sinks/search"
)

// Stands reads what stands at the id. There is no routing: an index is one shard.
func (s *Store) Stands(_ context.Context, index, id, _ string) (search.Standing, error) {
	ix, err := s.index(index, false)
	if errors.Is(err, search.ErrNoIndex) {
		return search.Standing{}, nil
	}
	if err != nil {
		return search.Standing{}, err
	}
	var there search.Standing
	err = ix.use(func(b bleve.Index) (err error) {
		reader, err := openReader(b)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, reader.Close()) }()
		if there.Version, _, _, err = stored(reader, id); err != nil || there.Version.IsZero() {
			return err
		}
		source, live, err := storedField(reader, id, sourceField)
		there.There, there.Tombstone, there.Doc = true, !live, source
		return err
	})
	return there, err
}
