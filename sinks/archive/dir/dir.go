// Package dir stores an archive's objects as files of a folder.
//
// A file appears completely or not at all, is on disk before Put returns, and is never changed. Replace puts another
// file in its place. The path of a file is made from the object's name, segment by segment. Characters that a file
// system does not allow are escaped. So different names have different paths, even x and x/y.
package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/fingerprint"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("archive")

// Options configure a store.
type Options struct {
	Dir      string // required: the folder of the objects
	LookOnly bool   // nothing is written: a missing folder has no objects, and is not created
}

// Store is a folder of files. It is safe for concurrent use, also by several processes.
type Store struct {
	fingerprint.Files
	dir      string
	lookOnly bool

	replacing sync.Mutex // always locked before the lock file, which excludes other processes

	mu      sync.Mutex
	durable map[string]bool // folders whose names are on disk; cleared when it has many
}

var (
	_ archive.Lister     = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
)

// temporary is the folder of unfinished files. No object has this path.
const temporary = inputs.UnfinishedFolder

// abandoned is the age from which on an unfinished file counts as left by a crash.
const abandoned = time.Hour

// New opens the folder. Without Options.LookOnly, New creates a missing folder, and removes the unfinished files that a
// crash left.
func New(o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("archive: Dir is empty: give the folder of the objects")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("archive: Dir: %w", err)
	}
	s := &Store{Files: fingerprint.OpenDir(dir), dir: dir, lookOnly: o.LookOnly, durable: make(map[string]bool)}
	if o.LookOnly {
		return s, nil
	}
	if err := s.makeFolders(); err != nil {
		return nil, fmt.Errorf("archive: Dir: %w", err)
	}
	if err := s.removeAbandoned(); err != nil {
		return nil, fmt.Errorf("archive: Dir: %w", err)
	}
	return s, nil
}

// removeAbandoned removes the unfinished files that are old.
func (s *Store) removeAbandoned() error {
	unfinished, err := os.ReadDir(filepath.Join(s.dir, temporary))
	if err != nil {
		return err
	}
	for _, e := range unfinished {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) <= abandoned {
			continue
		}
		err = os.Remove(filepath.Join(s.dir, temporary, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may remove it too
			return err
		}
	}
	return nil
}

// Put writes one file, without tags. If a file of the name exists, it returns archive.ErrExists. Other errors are
// transient, or fatal if no retry can succeed, as on a full disk.
func (s *Store) Put(ctx context.Context, o archive.Object) error {
	if err := ctx.Err(); err != nil {
		return pipeline.Transient(err)
	}
	path := filepath.Join(s.dir, pathOf(o.Name))
	err := s.withFolders(func() error { return s.put(path, o.Body) })
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", o.Name, archive.ErrExists)
	case err != nil:
		return disk.Classify(fmt.Errorf("archive: write %s: %w", o.Name, err))
	}
	return nil
}

// withFolders calls write. If a folder is missing, because it was deleted, withFolders creates the root, and calls
// write again.
func (s *Store) withFolders(write func() error) error {
	err := write()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.makeFolders(); err != nil {
		return err
	}
	return write()
}

// put writes a file, or returns fs.ErrExist if the file exists and is durable.
func (s *Store) put(path string, body []byte) (err error) {
	folder := filepath.Dir(path)
	if _, err := os.Lstat(path); err == nil {
		// The first writer may have been killed before it synced the folder.
		return cmp.Or(linefile.SyncDir(folder), fs.ErrExist)
	}
	unfinished, err := s.writeTemporary(body)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(unfinished)) }()
	if err := s.makeFolder(folder); err != nil {
		return err
	}
	err = os.Link(unfinished, path) // unlike a rename, a link never replaces a file
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return cmp.Or(linefile.SyncDir(folder), err)
}

// writeTemporary writes an unfinished file, and returns its path after its content is on disk.
func (s *Store) writeTemporary(body []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, temporary), "*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// makeFolders creates the root, and clears durable, because the folders below the root may have been deleted.
func (s *Store) makeFolders() error {
	s.mu.Lock()
	clear(s.durable)
	s.mu.Unlock()
	return private.MkdirAll(filepath.Join(s.dir, temporary))
}

// makeFolder creates a folder below the root, and returns after its name is on disk.
func (s *Store) makeFolder(path string) error {
	if path == s.dir {
		return nil
	}
	if s.isDurable(path) {
		return nil
	}
	parent := filepath.Dir(path)
	if err := s.makeFolder(parent); err != nil {
		return err
	}
	if err := private.Mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := linefile.SyncDir(parent); err != nil {
		return err
	}
	s.noteDurable(path)
	return nil
}

// isDurable reports whether the name of a folder is known to be on disk.
func (s *Store) isDurable(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durable[folder]
}

func (s *Store) noteDurable(folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.durable) > 10_000 {
		clear(s.durable)
	}
	s.durable[folder] = true
}

// Get opens one file.
func (s *Store) Get(_ context.Context, name string) (io.ReadCloser, error) {
	f, err := s.open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// open opens the file of an object.
func (s *Store) open(name string) (*os.File, error) {
	f, err := os.Open(filepath.Join(s.dir, pathOf(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", name, archive.ErrNoObject)
	case err != nil:
		return nil, fmt.Errorf("archive: read %s: %w", name, err)
	}
	return f, nil
}

// List implements [archive.Lister]. It lists all files before it yields the first one.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return seq.Lazy(func() (iter.Seq2[archive.Info, error], error) {
		infos, err := s.list(ctx, prefix)
		if err != nil {
			return nil, fmt.Errorf("archive: list %s: %w", s.dir, err)
		}
		return seq.Of(infos, nil), nil
	})
}

// list returns all objects whose names start with prefix, sorted by name.
func (s *Store) list(ctx context.Context, prefix string) ([]archive.Info, error) {
	var infos []archive.Info
	root := s.dir + string(filepath.Separator) // otherwise a link to a folder is not followed
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		mayBeMissing := path != root || s.lookOnly // a path may be removed after its folder was read
		switch {
		case errors.Is(err, fs.ErrNotExist) && mayBeMissing:
			return nil
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == temporary || e.Name() == fingerprint.Folder):
			return filepath.SkipDir
		case e.IsDir():
			return ctx.Err()
		}
		name, err := s.nameAt(path)
		if err != nil || !strings.HasPrefix(name, prefix) {
			return err
		}
		file, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		infos = append(infos, archive.Info{Name: name, Size: file.Size(), Modified: file.ModTime()})
		return nil
	})
	slices.SortFunc(infos, func(a, b archive.Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, err
}

// nameAt returns the name of the object in the file at path.
func (s *Store) nameAt(path string) (string, error) {
	relative, err := filepath.Rel(s.dir, path)
	if err != nil {
		return "", err
	}
	return nameOf(relative)
}
