package opensearch

import "context"

// writeIndex is the physical index behind the alias name, to which documents are
// written. Its error is that of every mutation of the name.
func (s *Store) writeIndex(ctx context.Context, name string) (string, error) {
	return name, ctx.Err()
}

// indexGone learns that the physical index behind name is not there any more.
func (s *Store) indexGone(name string) {}
