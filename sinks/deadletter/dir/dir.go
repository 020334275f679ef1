// Package dir stores dead letters in the files of a folder, as JSON lines in the order of arrival.
//
// A letter is on disk before Put returns. A letter that is among the last 200,000 is not appended again. Any number of
// processes on one host may put, read and remove letters of one folder. They append one at a time, and each reads what
// the others appended. If the folder or its files are deleted while a store is open, later letters go into new files.
//
// A line that is not a letter is copied to the file FILE.lineN.broken beside its file, logged, and skipped.
//
// Lines are never rewritten. To remove letters, Remove appends a line {"removed": [IDs]}. The line removes only letters
// before it. When a store that removed letters is closed, it deletes the oldest files, up to the first file with a
// letter that is not removed.
package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("dead_letters")

// maxRecentIDs is the number of recent letters whose ids are kept, so that these letters are not appended again.
const maxRecentIDs = 200_000

// Options configure a store.
type Options struct {
	Dir       string       // required: the folder of the files; it is created if it does not exist
	FileBytes int64        // size at which a new file is begun. Default: 64 MiB
	Logger    *slog.Logger // logs lines that are not letters. Default: discards
}

// Store is a folder of dead letters. It is safe for concurrent use, also by several processes.
type Store struct {
	dir string

	mu        sync.Mutex
	log       *linefile.Log // nil when closed
	recent    *linefile.Recent
	removedAt map[string]linefile.Position // position of the last removal of each ID
	removed   bool                         // this store has removed letters
}

var _ deadletter.Store = (*Store)(nil)

// New opens the folder and repairs the end of its last file.
func New(o Options) (*Store, error) {
	switch {
	case o.Dir == "":
		return nil, errors.New("deadletter: Dir is empty: give the folder of the letters")
	case o.FileBytes < 0:
		return nil, fmt.Errorf("deadletter: FileBytes is %d: give a size in bytes", o.FileBytes)
	}
	s := &Store{dir: o.Dir}
	s.reset()
	s.log = linefile.NewLog(linefile.LogOptions{
		Lock: filepath.Join(o.Dir, ".lock"), Files: s.files, Next: s.next, Bytes: cmp.Or(o.FileBytes, 64<<20),
		OnLine: s.noteLine, OnReset: s.reset, Logger: o.Logger,
	})
	end, err := s.log.Acquire(context.Background())
	if err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	end()
	return s, nil
}

func (s *Store) reset() {
	s.recent, s.removedAt = linefile.NewRecent(maxRecentIDs), make(map[string]linefile.Position)
}

// noteLine notes the ID of a letter, or the IDs of a removal. A removal is a line that removes letters.
func (s *Store) noteLine(position linefile.Position, line []byte) error {
	if ids, isRemoval, err := parseRemoval(line); isRemoval {
		s.forget(ids, position)
		return err
	}
	_, id, err := deadletter.Parse(line)
	if err == nil {
		s.recent.Add(id)
	}
	return err
}

// Put appends letters, and blocks until they are on disk. After an error some letters may be on disk; the next Put does
// not append them again.
func (s *Store) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	var lines []byte
	var ids []string
	added := make(map[string]struct{})
	for i := range letters {
		if err := ctx.Err(); err != nil {
			return pipeline.Transient(err)
		}
		id := deadletter.ID(&letters[i])
		if _, wasAdded := added[id]; wasAdded || s.recent.Has(id) {
			continue
		}
		var err error
		if lines, err = deadletter.Append(lines, &letters[i]); err != nil {
			return err
		}
		lines = append(lines, '\n')
		ids = append(ids, id)
		added[id] = struct{}{}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := s.log.Append(lines, len(ids)); err != nil {
		return disk.Classify(fmt.Errorf("deadletter: %w", err))
	}
	for _, id := range ids {
		s.recent.Add(id)
	}
	return nil
}

// begin locks the folder against other users, and reads what they appended. The lock lasts until end is called.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	s.mu.Lock()
	release, err := s.acquire(ctx)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	return func() {
		release()
		s.mu.Unlock()
	}, nil
}

// acquire locks the folder against other processes. The caller has locked the store.
func (s *Store) acquire(ctx context.Context) (release func(), err error) {
	if s.log == nil {
		return nil, errs.New("deadletter: the store is closed")
	}
	if err := ctx.Err(); err != nil {
		return nil, pipeline.Transient(err)
	}
	if release, err = s.log.Acquire(ctx); err != nil {
		return nil, disk.Classify(fmt.Errorf("deadletter: %w", err))
	}
	return release, nil
}

// Read yields the letters in the order in which they were put. It may run while others Put and Remove. The sequence
// ends after the first error.
func (s *Store) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		end, err := s.begin(ctx)
		if err != nil {
			yield(pipeline.DeadLetter{}, err)
			return
		}
		files, size, _ := s.log.Files()
		end()
		for i, path := range files {
			limit := int64(math.MaxInt64)
			if isLast := i == len(files)-1; isLast {
				limit = size // a line after size may be incomplete
			}
			for letter, err := range s.readFile(ctx, path, limit) {
				if !yield(letter, err) || err != nil {
					return
				}
			}
		}
	}
}

// readFile yields the letters in the first limit bytes of a file. An error ends the sequence.
func (s *Store) readFile(ctx context.Context, path string, limit int64) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return // the file was deleted because all its letters were removed
		}
		if err != nil {
			yield(pipeline.DeadLetter{}, fmt.Errorf("deadletter: %w", err))
			return
		}
		defer f.Close()
		position := linefile.Position{File: path}
		for line, err := range linefile.Lines(io.LimitReader(f, limit)) {
			position.Line++
			if err := cmp.Or(err, ctx.Err()); err != nil {
				yield(pipeline.DeadLetter{}, fmt.Errorf("deadletter: %w", err))
				return
			}
			letter, id, ok := parseLetter(line)
			if ok && !s.isRemoved(id, position) && !yield(letter, nil) {
				return
			}
		}
	}
}

// parseLetter returns the letter of a line. ok is false for a removal and for a broken line, which noteLine reports.
func parseLetter(line []byte) (letter pipeline.DeadLetter, id string, ok bool) {
	if _, isRemoval, _ := parseRemoval(line); isRemoval {
		return letter, "", false
	}
	letter, id, err := deadletter.Parse(line)
	return letter, id, err == nil
}

// Close deletes the oldest files whose letters are all removed, and closes the store. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return nil
	}
	var err error
	if s.removed {
		err = s.deleteOldFiles()
	}
	log := s.log
	s.log = nil
	return errors.Join(err, log.Close())
}

// fileName matches the names of files.
var fileName = regexp.MustCompile(`^[0-9]{8}\.jsonl$`)

// next returns the path of the file after last.
func (s *Store) next(last string) string {
	number := 0
	if last != "" {
		number, _ = strconv.Atoi(filepath.Base(last)[:8]) // files returns only names that begin with digits
	}
	return filepath.Join(s.dir, fmt.Sprintf("%08d.jsonl", number+1))
}

// files returns the files of the folder, sorted.
func (s *Store) files() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if fileName.MatchString(e.Name()) {
			paths = append(paths, filepath.Join(s.dir, e.Name()))
		}
	}
	return paths, nil
}
