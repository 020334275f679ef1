// Package dir keeps dead letters in the files of a folder, JSON lines in the
// order in which they came.
//
// A letter is on disk before Put returns, and what a crash cut off is removed
// when the folder is opened. A letter that is among the last 200,000 is not
// appended again. One process at a time writes a folder.
//
// No line is ever rewritten: removing letters appends a line, {"removed": [IDs]},
// that takes away those before it. Files whose letters are all removed are deleted, the
// oldest first, when the store is closed.
package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

// remembered is how many letters of the folder are known by their id.
const remembered = 200_000

// Options describe a store.
type Options struct {
	Dir       string // required: the folder of the files; made when absent
	FileBytes int64  // another file is begun when one is this large. Default: 64 MiB
}

// Store is a folder of dead letters. It is safe for concurrent use.
type Store struct {
	dir       string
	fileBytes int64

	mu      sync.Mutex
	file    *linefile.File // the last one; nil when closed
	number  int            // of file
	lines   int            // in file
	recent  *linefile.Recent
	gone    map[string]place // where each letter was removed last
	removed bool             // something was, by this store
}

// place is that of a line in the folder.
type place struct{ file, line int }

func (p place) before(q place) bool {
	return p.file < q.file || p.file == q.file && p.line < q.line
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
	s := &Store{dir: o.Dir, fileBytes: cmp.Or(o.FileBytes, 64<<20), recent: linefile.NewRecent(remembered), gone: make(map[string]place)}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	numbers, err := s.numbers()
	if err != nil {
		return nil, err
	}
	for _, n := range append(numbers, 1)[:max(len(numbers), 1)] {
		if s.file != nil {
			if err := s.file.Close(); err != nil {
				return nil, fmt.Errorf("deadletter: %w", err)
			}
		}
		if err := s.open(n); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// open opens file n for appending and remembers its letters.
func (s *Store) open(n int) error {
	lines := 0
	file, err := linefile.Open(s.path(n), func(line []byte) error {
		lines++
		if ids, is, err := removal(line); is {
			s.forget(ids, place{n, lines})
			return err
		}
		_, id, err := deadletter.Parse(line)
		s.recent.Add(id)
		return err
	})
	if err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	s.file, s.number, s.lines = file, n, lines
	return nil
}

// Put appends letters, and blocks until they are on disk. After an error some of
// them may be there; they are not appended again by the next attempt.
func (s *Store) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	var lines []byte
	var ids []string
	for i := range letters {
		id := deadletter.ID(&letters[i])
		if s.recent.Has(id) || slices.Contains(ids, id) {
			continue
		}
		var err error
		if lines, err = deadletter.Append(lines, &letters[i]); err != nil {
			return err
		}
		lines, ids = append(lines, '\n'), append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	if err := s.append(lines, len(ids)); err != nil {
		return err
	}
	for _, id := range ids {
		s.recent.Add(id)
	}
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.file == nil {
		return errors.New("deadletter: the store is closed")
	}
	return pipeline.Transient(ctx.Err())
}

// append appends n lines, to another file where this one is full.
func (s *Store) append(lines []byte, n int) error {
	if s.file.Size() >= s.fileBytes {
		if err := s.next(); err != nil {
			return disk.Failed(err)
		}
	}
	if err := s.file.Append(lines); err != nil {
		return disk.Failed(fmt.Errorf("deadletter: %w", err))
	}
	s.lines += n
	return nil
}

// next begins another file.
func (s *Store) next() error {
	full := s.file
	if err := s.open(s.number + 1); err != nil {
		return err
	}
	if err := full.Close(); err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	return nil
}

// Read yields the letters that are there, in the order in which they came. It may
// run while others Put and Remove. A pulled error ends the sequence.
func (s *Store) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		numbers, err := s.numbers()
		if err != nil {
			yield(pipeline.DeadLetter{}, err)
			return
		}
		for _, n := range numbers {
			if !s.readFile(ctx, n, yield) {
				return
			}
		}
	}
}

func (s *Store) readFile(ctx context.Context, n int, yield func(pipeline.DeadLetter, error) bool) (more bool) {
	path := s.path(n)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true // its letters are all removed
	}
	if err != nil {
		yield(pipeline.DeadLetter{}, fmt.Errorf("deadletter: %w", err))
		return false
	}
	defer f.Close()
	at := place{file: n}
	for line, err := range linefile.Lines(f) {
		at.line++
		var l pipeline.DeadLetter
		var id string
		if err == nil {
			err = ctx.Err()
		}
		if _, is, _ := removal(line); is && err == nil {
			continue
		}
		if err == nil {
			l, id, err = deadletter.Parse(line)
		}
		if err != nil {
			yield(pipeline.DeadLetter{}, fmt.Errorf("%s: %w", path, err))
			return false
		}
		if s.isGone(id, at) {
			continue
		}
		if !yield(l, nil) {
			return false
		}
	}
	return true
}

// Close closes the open file, after deleting the files whose letters are all
// removed. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.sweep()
	file := s.file
	s.file = nil
	return errors.Join(err, file.Close())
}

func (s *Store) path(n int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%08d.jsonl", n))
}

// numbers lists the files of the folder in their order.
func (s *Store) numbers() ([]int, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if n, err := strconv.Atoi(name); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}
