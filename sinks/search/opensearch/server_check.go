package opensearch

import (
	"context"
	"maps"
	"slices"
)

// Check compares three things on the server with the configuration, as [Store.Open] does: the stored script, the record
// of the sink, and its indexes. It writes nothing, and sends each request once. It returns the names of the indexes
// that exist. A missing script or index is not an error: Open or the first document creates it.
func (s *Store) Check(ctx context.Context) (names []string, err error) {
	if s.indexes == nil {
		return nil, errs.New("opensearch: Check: the store has no Indexes: give them in Options")
	}
	if s.mode == Exact {
		if _, err := s.readScript(ctx); err != nil {
			return nil, err
		}
	}
	records, err := s.list(ctx, stateIndex)
	if err != nil {
		return nil, err
	}
	if len(records) > 0 {
		recordIndex := records[stateIndex]
		if err := recordIndex.checkRecordMapping(); err != nil {
			return nil, err
		}
	}

	r, err := s.readRecord(ctx, s.indexes.owner())
	if err != nil {
		return nil, err
	}
	existing, err := s.findOwnIndexes(ctx)
	if err != nil {
		return nil, err
	}
	_, err = s.recordIndexes(ctx, &r, existing) // r is not stored
	return slices.Sorted(maps.Keys(existing)), err
}
