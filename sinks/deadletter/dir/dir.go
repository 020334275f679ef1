// Package dir keeps dead letters in the files of a folder, JSON lines in the
// order in which they came.
//
// A letter is on disk before Put returns. A letter that is among the last 200,000 is not
// appended again. Any number of processes of a host may have the folder open, and put,
// read and remove: they append one at a time, and see what the others did. Where the folder or
// files of it are removed meanwhile, what is put then goes into new ones.
//
// A line that is no letter is set aside: it goes to the file FILE.lineN.broken beside its
// own, a log says so, and nothing stops for it.
//
// No other line is ever rewritten: removing letters appends a line, {"removed": [IDs]},
// that takes away those before it. Files whose letters are all removed are deleted, the
// oldest first, when a store that removed some is closed.
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
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

// remembered is how many letters of the folder are known by their id.
const remembered = 200_000

// Options describe a store.
type Options struct {
	Dir       string       // required: the folder of the files; made when absent
	FileBytes int64        // another file is begun when one is this large. Default: 64 MiB
	Logger    *slog.Logger // says which lines are no letters. Default: discards
}

// Store is a folder of dead letters. It is safe for concurrent use, also by several
// processes.
type Store struct {
	dir string

	mu      sync.Mutex
	log     *linefile.Log // nil when closed
	recent  *linefile.Recent
	gone    map[string]linefile.Position // where each letter was removed last
	removed bool                         // something was, by this store
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
	s.forgetAll()
	s.log = linefile.NewLog(linefile.LogOptions{
		Lock: filepath.Join(o.Dir, ".lock"), Files: s.files, Next: s.next, Bytes: cmp.Or(o.FileBytes, 64<<20),
		See: s.see, Reset: s.forgetAll, Logger: o.Logger,
	})
	end, err := s.log.Begin(context.Background())
	if err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	end()
	return s, nil
}

func (s *Store) forgetAll() {
	s.recent, s.gone = linefile.NewRecent(remembered), make(map[string]linefile.Position)
}

// see remembers a letter, or what a removal takes away.
func (s *Store) see(at linefile.Position, line []byte) error {
	if ids, is, err := removal(line); is {
		s.forget(ids, at)
		return err
	}
	_, id, err := deadletter.Parse(line)
	if err == nil {
		s.recent.Add(id)
	}
	return err
}

// Put appends letters, and blocks until they are on disk. After an error some of
// them may be there; they are not appended again by the next attempt. It ends with ctx.
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
		if _, twice := added[id]; twice || s.recent.Has(id) {
			continue
		}
		var err error
		if lines, err = deadletter.Append(lines, &letters[i]); err != nil {
			return err
		}
		lines, ids = append(lines, '\n'), append(ids, id)
		added[id] = struct{}{}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := s.log.Append(lines, len(ids)); err != nil {
		return disk.Failed(fmt.Errorf("deadletter: %w", err))
	}
	for _, id := range ids {
		s.recent.Add(id)
	}
	return nil
}

// begin keeps everybody else from the folder until end, and sees what they did before.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	s.mu.Lock()
	if s.log == nil {
		s.mu.Unlock()
		return nil, errs.New("deadletter: the store is closed")
	}
	if err := ctx.Err(); err != nil {
		s.mu.Unlock()
		return nil, pipeline.Transient(err)
	}
	release, err := s.log.Begin(ctx)
	if err != nil {
		s.mu.Unlock()
		return nil, disk.Failed(fmt.Errorf("deadletter: %w", err))
	}
	return func() {
		release()
		s.mu.Unlock()
	}, nil
}

// Read yields the letters that are there, in the order in which they came. It may
// run while others Put and Remove. A pulled error ends the sequence.
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
			to := int64(math.MaxInt64)
			if i == len(files)-1 {
				to = size // what is behind it may not be whole yet
			}
			if !s.readFile(ctx, path, to, yield) {
				return
			}
		}
	}
}

func (s *Store) readFile(ctx context.Context, path string, to int64, yield func(pipeline.DeadLetter, error) bool) (more bool) {
	fail := func(err error) bool {
		yield(pipeline.DeadLetter{}, fmt.Errorf("deadletter: %w", err))
		return false
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true // its letters are all removed
	}
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	at := linefile.Position{File: path}
	for line, err := range linefile.Lines(io.LimitReader(f, to)) {
		at.Line++
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return fail(err)
		}
		l, id, is := letterOf(line)
		if !is || s.isGone(id, at) {
			continue
		}
		if !yield(l, nil) {
			return false
		}
	}
	return true
}

// letterOf is the letter in a line; is is false for a removal, and for what is broken: that was
// said when it was seen.
func letterOf(line []byte) (l pipeline.DeadLetter, id string, is bool) {
	if _, removes, _ := removal(line); removes {
		return l, "", false
	}
	l, id, err := deadletter.Parse(line)
	return l, id, err == nil
}

// Close closes the open file, after deleting the files whose letters are all
// removed. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return nil
	}
	var err error
	if s.removed {
		err = s.sweep()
	}
	log := s.log
	s.log = nil
	return errors.Join(err, log.Close())
}

// fileName is the form of the names of files.
var fileName = regexp.MustCompile(`^[0-9]{8}\.jsonl$`)

// next is the path of the file behind another.
func (s *Store) next(last string) string {
	n := 0
	if last != "" {
		n, _ = strconv.Atoi(filepath.Base(last)[:8]) // its name has that form
	}
	return filepath.Join(s.dir, fmt.Sprintf("%08d.jsonl", n+1))
}

// files lists the files of the folder in their order.
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
