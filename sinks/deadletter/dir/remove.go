package dir

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/tablewake/tablewake/sinks/deadletter"
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil || len(ids) == 0 {
		return err
	}
	line, err := json.Marshal(removalLine{ids})
	if err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	if err := s.append(append(line, '\n'), 1); err != nil {
		return err
	}
	s.forget(ids, place{s.number, s.lines})
	s.removed = true
	return nil
}

// forget notes that letters were removed by a line: they may come again behind it.
func (s *Store) forget(ids []string, at place) {
	for _, id := range ids {
		s.recent.Forget(id)
		s.gone[id] = at
	}
}

// isGone tells whether the letter in a line is removed by a later one.
func (s *Store) isGone(id string, at place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removes(id, at)
}

func (s *Store) removes(id string, at place) bool {
	by, ok := s.gone[id]
	return ok && at.before(by)
}

// sweep deletes files from the oldest on, as long as no letter in them is there any
// more. The order matters: a removal goes after the letter that it removes, never before.
func (s *Store) sweep() error {
	if !s.removed {
		return nil
	}
	numbers, err := s.numbers()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		empty, err := s.allGone(n)
		if err != nil || !empty {
			return err
		}
		if n == s.number {
			if s.lines == 0 {
				return nil
			}
			if err := s.next(); err != nil {
				return err
			}
		}
		if err := os.Remove(s.path(n)); err != nil {
			return fmt.Errorf("deadletter: %w", err)
		}
		if err := linefile.SyncDir(s.dir); err != nil {
			return fmt.Errorf("deadletter: %w", err)
		}
	}
	return nil
}

// allGone tells whether every letter of file n is removed.
func (s *Store) allGone(n int) (bool, error) {
	f, err := os.Open(s.path(n))
	if err != nil {
		return false, fmt.Errorf("deadletter: %w", err)
	}
	defer f.Close()
	at := place{file: n}
	for line, err := range linefile.Lines(f) {
		at.line++
		if err != nil {
			return false, fmt.Errorf("deadletter: %w", err)
		}
		if _, is, _ := removal(line); is {
			continue
		}
		_, id, err := deadletter.Parse(line)
		if err != nil {
			return false, err
		}
		if !s.removes(id, at) {
			return false, nil
		}
	}
	return true, nil
}
