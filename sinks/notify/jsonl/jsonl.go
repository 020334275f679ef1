// Package jsonl appends events to a file, one JSON object a line.
//
// A line is on disk before Publish returns, and what a crash cut off is removed
// when the file is opened. An event that is among the last 200,000 of the file is
// not appended again. One process at a time writes a file.
package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/fingerprint"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/state"
)

// remembered is how many events of the file are known by their id.
const remembered = 200_000

// Options describe a store.
type Options struct {
	Path string // required: the file; made when absent, its folder too
}

// Store is a file of events. It is safe for concurrent use.
type Store struct {
	fingerprint.Files
	mu     sync.Mutex
	file   *linefile.File // nil when closed
	recent *linefile.Recent
}

var (
	_ notify.Store       = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
)

// New opens the file and repairs its end.
func New(o Options) (*Store, error) {
	if o.Path == "" {
		return nil, errors.New("jsonl: Path is empty: give the file of the events")
	}
	s := &Store{Files: fingerprint.In(filepath.Dir(o.Path)), recent: linefile.NewRecent(remembered)}
	var err error
	s.file, err = linefile.Open(o.Path, func(line []byte) error {
		var event struct{ ID string }
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("not an event: %w; move the file away to begin another", err)
		}
		s.recent.Add(event.ID)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("jsonl: %w", err)
	}
	return s, nil
}

// Publish appends messages, and blocks until they are on disk. An error is
// transient and leaves the file without any of them.
func (s *Store) Publish(ctx context.Context, ms []notify.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errors.New("jsonl: the store is closed")
	}
	if err := ctx.Err(); err != nil {
		return pipeline.Transient(err)
	}
	var lines []byte
	within := make(map[string]bool)
	for _, m := range ms {
		if !s.recent.Has(m.ID) && !within[m.ID] {
			within[m.ID] = true
			lines = append(append(lines, m.Body...), '\n')
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if err := s.file.Append(lines); err != nil {
		return disk.Failed(fmt.Errorf("jsonl: %w", err))
	}
	for _, m := range ms {
		s.recent.Add(m.ID)
	}
	return nil
}

// Read yields the events of a file in the order in which they were appended, each
// a JSON object, valid until the next; a missing file has none. It may run while
// a Store appends. A pulled error ends the sequence.
func Read(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, fmt.Errorf("jsonl: %w", err))
			return
		}
		defer f.Close()
		for line, err := range linefile.Lines(f) {
			if !yield(line, err) {
				return
			}
		}
	}
}

// Close closes the file. A second call does nothing.
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
