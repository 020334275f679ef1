// Package dir keeps dead letters in the files of a folder, JSON lines in the
// order in which they came.
//
// A letter is on disk before Put returns, and what a crash cut off is removed
// when the folder is opened. A letter that is among the last 200,000 is not
// appended again. One process at a time writes a folder.
package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	mu     sync.Mutex
	file   *linefile.File // the last one; nil when closed
	number int            // of file
	recent *linefile.Recent
}

var _ pipeline.DeadLetters = (*Store)(nil)

// New opens the folder and repairs the end of its last file.
func New(o Options) (*Store, error) {
	switch {
	case o.Dir == "":
		return nil, errors.New("deadletter: Dir is empty: give the folder of the letters")
	case o.FileBytes < 0:
		return nil, fmt.Errorf("deadletter: FileBytes is %d: give a size in bytes", o.FileBytes)
	}
	s := &Store{dir: o.Dir, fileBytes: cmp.Or(o.FileBytes, 64<<20), recent: linefile.NewRecent(remembered)}
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
	file, err := linefile.Open(s.path(n), func(line []byte) error {
		_, id, err := deadletter.Parse(line)
		s.recent.Add(id)
		return err
	})
	if err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	s.file, s.number = file, n
	return nil
}

// Put appends letters, and blocks until they are on disk. After an error some of
// them may be there; they are not appended again by the next attempt.
func (s *Store) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errors.New("deadletter: the store is closed")
	}
	if err := ctx.Err(); err != nil {
		return pipeline.Transient(err)
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
	if s.file.Size() >= s.fileBytes {
		full := s.file
		if err := s.open(s.number + 1); err != nil {
			return disk.Failed(err)
		}
		if err := full.Close(); err != nil {
			return disk.Failed(fmt.Errorf("deadletter: %w", err))
		}
	}
	if err := s.file.Append(lines); err != nil {
		return disk.Failed(fmt.Errorf("deadletter: %w", err))
	}
	for _, id := range ids {
		s.recent.Add(id)
	}
	return nil
}

// Read yields the letters in the order in which they came. It may run while
// others Put. A pulled error ends the sequence.
func (s *Store) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		numbers, err := s.numbers()
		if err != nil {
			yield(pipeline.DeadLetter{}, err)
			return
		}
		for _, n := range numbers {
			if !readFile(ctx, s.path(n), yield) {
				return
			}
		}
	}
}

func readFile(ctx context.Context, path string, yield func(pipeline.DeadLetter, error) bool) (more bool) {
	f, err := os.Open(path)
	if err != nil {
		yield(pipeline.DeadLetter{}, fmt.Errorf("deadletter: %w", err))
		return false
	}
	defer f.Close()
	for line, err := range linefile.Lines(f) {
		var l pipeline.DeadLetter
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			l, _, err = deadletter.Parse(line)
		}
		if err != nil {
			yield(pipeline.DeadLetter{}, fmt.Errorf("%s: %w", path, err))
			return false
		}
		if !yield(l, nil) {
			return false
		}
	}
	return true
}

// Close closes the open file. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
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
