// Package jsonl appends events to a file, one JSON object a line.
//
// A line is on disk before Publish returns. An event whose id is among the last 200,000 of the file is not appended
// again. Any number of processes on one host may have the file open. They append one at a time, and each reads what the
// others appended. If the file is removed while a store is open, later events go into a new file.
//
// A line that is not an event is copied to the file PATH.lineN.broken, logged, and skipped.
package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/fingerprint"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("notify")

// maxRecentIDs is the number of recent events whose ids are kept, so that these events are not appended again.
const maxRecentIDs = 200_000

// Options configure a store.
type Options struct {
	Path     string       // required: the file; it is created with its folder if it does not exist
	Logger   *slog.Logger // logs lines that are not events. Default: discards
	LookOnly bool         // the file is not opened: only its fingerprints can be read, and Publish fails
}

// Store is a file of events. It is safe for concurrent use, also by several processes.
type Store struct {
	fingerprint.Files
	path string

	mu      sync.Mutex
	lineLog *linefile.Log // nil when closed, and with LookOnly
	recent  *linefile.Recent
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
	folder, name := filepath.Split(o.Path)
	s := &Store{Files: fingerprint.OpenDir(filepath.Dir(o.Path)), path: o.Path, recent: linefile.NewRecent(maxRecentIDs)}
	if o.LookOnly {
		return s, nil
	}
	s.lineLog = linefile.NewLog(linefile.LogOptions{
		Lock: filepath.Join(folder, "."+name+".lock"), Files: s.files, Next: func(string) string { return s.path },
		OnLine: s.rememberID, OnReset: func() { s.recent = linefile.NewRecent(maxRecentIDs) }, Logger: o.Logger,
	})
	end, err := s.lineLog.Acquire(context.Background())
	if err != nil {
		return nil, fmt.Errorf("jsonl: %w", err)
	}
	defer end()
	if files, _, _ := s.lineLog.Files(); len(files) == 0 {
		if err := s.lineLog.Rotate(); err != nil {
			return nil, fmt.Errorf("jsonl: %w", err)
		}
	}
	return s, nil
}

// files returns the path of the file; none if the file does not exist.
func (s *Store) files() ([]string, error) {
	_, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return []string{s.path}, err
}

// rememberID notes the id of an event in a line.
func (s *Store) rememberID(_ linefile.Position, line []byte) error {
	id, err := eventID(line)
	if err == nil {
		s.recent.Add(id)
	}
	return err
}

func eventID(line []byte) (string, error) {
	var event struct{ ID string }
	err := json.Unmarshal(line, &event)
	return event.ID, err
}

// Publish appends messages, and blocks until they are on disk. After an error, the file has none of the messages. The
// error is transient, unless no retry can succeed, for example because the disk is full or the store is closed.
func (s *Store) Publish(ctx context.Context, ms []notify.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lineLog == nil {
		return errs.New("jsonl: the store is closed")
	}
	if err := ctx.Err(); err != nil {
		return pipeline.Transient(err)
	}
	end, err := s.lineLog.Acquire(ctx)
	if err != nil {
		return disk.Classify(fmt.Errorf("jsonl: %w", err))
	}
	defer end()

	var lines []byte
	added := make(map[string]bool)
	for _, m := range ms {
		if !s.recent.Has(m.ID) && !added[m.ID] {
			added[m.ID] = true
			lines = append(append(lines, m.Body...), '\n')
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if _, err := s.lineLog.Append(lines, len(added)); err != nil {
		return disk.Classify(fmt.Errorf("jsonl: %w", err))
	}
	for _, m := range ms {
		s.recent.Add(m.ID)
	}
	return nil
}

// Read yields the events of a file in the order in which they were appended. Each event is a JSON object, and is valid
// until the next event. A missing file has no events. Read may run while Stores append. It skips lines that are not
// events. The sequence ends after the first error.
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
		events := seq.Map(linefile.Lines(f), func(line []byte) ([]byte, bool, error) {
			_, err := eventID(line)
			isEvent := err == nil
			return line, isEvent, nil
		})
		events(yield)
	}
}

// Close closes the file. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lineLog == nil {
		return nil
	}
	log := s.lineLog
	s.lineLog = nil
	return log.Close()
}
