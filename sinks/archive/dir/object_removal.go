package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

var _ archive.Remover = (*Store)(nil)

// Remove removes files. It keeps their folders, even empty ones.
func (s *Store) Remove(ctx context.Context, names []string) error {
	folders := make(map[string]bool)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(s.dir, pathOf(name))
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return disk.Classify(fmt.Errorf("archive: remove %s: %w", name, err))
		}
		folders[filepath.Dir(path)] = true
	}
	for folder := range folders {
		if err := linefile.SyncDir(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return disk.Classify(fmt.Errorf("archive: remove: %w", err))
		}
	}
	return nil
}
