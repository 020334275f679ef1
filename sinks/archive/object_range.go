package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Ranger is a store that can read a part of an object. The archive reads Parquet objects of a Ranger one row group at a
// time. It reads the Parquet objects of other stores as a whole.
type Ranger interface {
	Store

	// GetRange opens n bytes of an object from offset on, or fewer at the end of the object. It also returns the
	// object's size. A negative offset counts from the end: -8 means the last eight bytes, or the whole object if it is
	// smaller. The error for a missing object is ErrNoObject. GetRange must be safe for concurrent use.
	GetRange(ctx context.Context, name string, offset, n int64) (body io.ReadCloser, size int64, err error)
}

// getRange reads a part of an object into memory.
func getRange(ctx context.Context, s Ranger, name string, offset, n int64) (b []byte, size int64, err error) {
	body, size, err := s.GetRange(ctx, name, offset, n)
	if err != nil {
		return nil, 0, err
	}
	b, err = readAndClose(name, io.LimitReader(body, n), body)
	return b, size, err
}

// getWhole reads an object into memory.
func getWhole(ctx context.Context, s Store, name string) ([]byte, error) {
	body, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	return readAndClose(name, body, body)
}

// readAndClose reads the bytes of an object to their end, and closes its body.
func readAndClose(name string, content io.Reader, body io.Closer) ([]byte, error) {
	b, err := io.ReadAll(content)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	return b, nil
}
