package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Ranger is a store that opens a part of an object. Parquet objects are read
// through it, a row group at a time; those of another store are read whole.
type Ranger interface {
	Store

	// GetRange opens n bytes of an object from offset on, or fewer where it ends
	// before, and tells its size. A negative offset counts from the end: -8 is that of
	// the last eight bytes, or of the whole object where it has fewer. It answers ErrNoObject
	// as Get does, and is called concurrently.
	GetRange(ctx context.Context, name string, offset, n int64) (body io.ReadCloser, size int64, err error)
}

// getRange reads a part of an object.
func getRange(ctx context.Context, s Ranger, name string, offset, n int64) (b []byte, size int64, err error) {
	body, size, err := s.GetRange(ctx, name, offset, n)
	if err != nil {
		return nil, 0, err
	}
	b, err = io.ReadAll(io.LimitReader(body, n))
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, 0, fmt.Errorf("archive: %s: %w", name, err)
	}
	return b, size, nil
}
