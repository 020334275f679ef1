package dir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Describe implements [archive.Describer] by the content of the file.
func (s *Store) Describe(ctx context.Context, name string) (archive.Stored, error) {
	if err := ctx.Err(); err != nil {
		return archive.Stored{}, pipeline.Transient(err)
	}
	path := filepath.Join(s.dir, pathOf(name))
	content, err := os.ReadFile(path)
	if err == nil {
		err = linefile.SyncDir(filepath.Dir(path)) // the writer may have been killed before it synced the folder
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return archive.Stored{}, fmt.Errorf("%s: %w", name, archive.ErrNoObject)
	case err != nil:
		return archive.Stored{}, disk.Classify(fmt.Errorf("archive: read %s: %w", name, err))
	}
	return archive.Stored{Content: append([]byte{}, content...), Tag: tagOf(content)}, nil
}

// tagOf returns the tag of a file: the SHA-256 of its content.
func tagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Replace implements [archive.Replacer]. It renames a new file over the old one, under a lock.
func (s *Store) Replace(ctx context.Context, o archive.Object, stored archive.Stored) error {
	if err := ctx.Err(); err != nil {
		return pipeline.Transient(err)
	}
	err := s.replace(ctx, filepath.Join(s.dir, pathOf(o.Name)), o.Body, stored.Tag)
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

// replace writes the body in place of the file at path, if that file still has the tag.
func (s *Store) replace(ctx context.Context, path string, body []byte, tag string) error {
	unfinished, err := s.writeTemporary(body)
	if errors.Is(err, fs.ErrNotExist) { // the folder was deleted
		if err = s.makeFolders(); err == nil {
			unfinished, err = s.writeTemporary(body)
		}
	}
	if err != nil {
		return err
	}
	if err := s.renameOver(ctx, unfinished, path, tag); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return linefile.SyncDir(filepath.Dir(path))
}

// renameOver renames a file over the file at path, if that file still has the tag. Otherwise it returns fs.ErrExist.
func (s *Store) renameOver(ctx context.Context, unfinished, path, tag string) (err error) {
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
	if tagOf(content) != tag {
		return fs.ErrExist
	}
	return os.Rename(unfinished, path)
}
