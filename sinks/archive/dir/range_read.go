package dir

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tablewake/tablewake/sinks/archive"
)

var _ archive.Ranger = (*Store)(nil)

// GetRange implements [archive.Ranger].
func (s *Store) GetRange(ctx context.Context, name string, offset, n int64) (io.ReadCloser, int64, error) {
	f, err := s.open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("archive: read %s: %w", name, err), f.Close())
	}
	if offset < 0 {
		offset = max(0, info.Size()+offset)
	}
	return part{io.NewSectionReader(f, offset, n), f}, info.Size(), nil
}

// part reads a section of a file. Close closes the file.
type part struct {
	*io.SectionReader
	io.Closer
}
