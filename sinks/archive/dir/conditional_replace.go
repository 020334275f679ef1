package dir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/fingerprint"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

var _ archive.Replacer = (*Store)(nil)

// replaceLock is the lock file of processes that replace files. It is beside the fingerprints.
const replaceLock = ".replace.lock"

// replacePatience is the longest wait for the lock. A process holds the lock while it renames one file.
const replacePatience = 10 * time.Second

// Describe implements [archive.Describer] by the content of the file. It does not sync the folder, since Put did.
func (s *Store) Describe(ctx context.Context, name string) (archive.Stored, error) {
	if err := ctx.Err(); err != nil {
		return archive.Stored{}, pipeline.Transient(err)
	}
	content, err := os.ReadFile(filepath.Join(s.dir, pathOf(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return archive.Stored{}, fmt.Errorf("%s: %w", name, archive.ErrNoObject)
	case err != nil:
		return archive.Stored{}, disk.Classify(fmt.Errorf("archive: read %s: %w", name, err))
	}
	return archive.Stored{Content: content}, nil
}

// Replace implements [archive.Replacer]. It renames a new file over the old one, under a lock.
func (s *Store) Replace(ctx context.Context, o archive.Object, stored archive.Stored) error {
	if err := ctx.Err(); err != nil {
		return pipeline.Transient(err)
	}
	err := s.replace(ctx, filepath.Join(s.dir, pathOf(o.Name)), o.Body, stored.Content)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", o.Name, archive.ErrNoObject)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", o.Name, archive.ErrExists)
	case err != nil:
		return disk.Classify(fmt.Errorf("archive: write %s: %w", o.Name, err))
	}
	return nil
}

// replace writes the body in place of the file at path, if that file still has the stored content.
func (s *Store) replace(ctx context.Context, path string, body, stored []byte) error {
	var unfinished string // path of the new file
	err := s.withFolders(func() (err error) {
		unfinished, err = s.writeTemporary(body)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.renameOver(ctx, unfinished, path, stored); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return linefile.SyncDir(filepath.Dir(path))
}

// renameOver renames a file over the file at path, if that file still has the stored content. Otherwise it returns
// fs.ErrExist.
func (s *Store) renameOver(ctx context.Context, unfinished, path string, stored []byte) (err error) {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	lock, err := filelock.Take(ctx, filepath.Join(s.dir, fingerprint.Folder, replaceLock), filelock.Exclusive,
		replacePatience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(content, stored) {
		return fs.ErrExist
	}
	return os.Rename(unfinished, path)
}
