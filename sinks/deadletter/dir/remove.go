package dir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

// removalLine takes away the letters that stand before it. One line is there whole
// or not at all, so a Remove is too.
type removalLine struct {
	Removed []string `json:"removed"`
}

// A letter begins with its id.
var removalStart = []byte(`{"removed":`)

// removal reads a line that is a removal; is is false for any other.
func removal(line []byte) (ids []string, is bool, err error) {
	if !bytes.HasPrefix(line, removalStart) {
		return nil, false, nil
	}
	var r removalLine
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, true, fmt.Errorf("deadletter: not a removal: %w", err)
	}
	return r.Removed, true, nil
}

// Remove takes letters away by their ids, all or none, and blocks until that is on
// disk. An id that is not there is ignored.
func (s *Store) Remove(ctx context.Context, ids []string) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if len(ids) == 0 {
		return nil
	}
	line, err := json.Marshal(removalLine{ids})
	if err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	at, err := s.log.Append(append(line, '\n'), 1)
	if err != nil {
		return disk.Failed(fmt.Errorf("deadletter: %w", err))
	}
	s.forget(ids, at)
	s.removed = true
	return nil
}

// forget notes that letters were removed by a line: they may come again behind it.
func (s *Store) forget(ids []string, at linefile.Position) {
	for _, id := range ids {
		s.recent.Forget(id)
		s.gone[id] = at
	}
}

// isGone tells whether the letter in a line is removed by a later one.
func (s *Store) isGone(id string, at linefile.Position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removes(id, at)
}

func (s *Store) removes(id string, at linefile.Position) bool {
	by, ok := s.gone[id]
	return ok && at.Compare(by) < 0
}

// sweep deletes files from the oldest on, as long as no letter in them is there any
// more. The order matters: a removal goes after the letter that it removes, never before.
// Other processes see that files are gone before they append.
func (s *Store) sweep() error {
	end, err := s.log.Begin(context.Background())
	if err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	defer end()
	files, _, lines := s.log.Files()
	for i, path := range files {
		empty, err := s.allGone(path)
		if err != nil || !empty {
			return err
		}
		if i == len(files)-1 {
			if lines == 0 {
				return nil
			}
			if err := s.log.Roll(); err != nil {
				return fmt.Errorf("deadletter: %w", err)
			}
		}
		if err := errors.Join(os.Remove(path), linefile.SyncDir(s.dir)); err != nil {
			return fmt.Errorf("deadletter: %w", err)
		}
	}
	return nil
}

// allGone tells whether every letter of a file is removed.
func (s *Store) allGone(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("deadletter: %w", err)
	}
	defer f.Close()
	at := linefile.Position{File: path}
	for line, err := range linefile.Lines(f) {
		at.Line++
		if err != nil {
			return false, fmt.Errorf("deadletter: %w", err)
		}
		if _, id, is := letterOf(line); is && !s.removes(id, at) {
			return false, nil
		}
	}
	return true, nil
}
