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

// removalLine is a line that removes earlier letters. A line is written completely or not at all, so a Remove is
// atomic.
type removalLine struct {
	Removed []string `json:"removed"`
}

// removalStart begins a removal. A letter begins with its id, so it never begins like a removal.
var removalStart = []byte(`{"removed":`)

// parseRemoval parses a removal. isRemoval is false if the line is not a removal.
func parseRemoval(line []byte) (ids []string, isRemoval bool, err error) {
	if !bytes.HasPrefix(line, removalStart) {
		return nil, false, nil
	}
	var r removalLine
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, true, fmt.Errorf("deadletter: not a removal: %w", err)
	}
	return r.Removed, true, nil
}

// Remove removes letters by ID, all or none, and blocks until the removal is on disk. It ignores missing letters.
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
	position, err := s.log.Append(append(line, '\n'), 1)
	if err != nil {
		return disk.Classify(fmt.Errorf("deadletter: %w", err))
	}
	s.forget(ids, position)
	s.removed = true
	return nil
}

// forget notes that the removal at a position removes the letters with these IDs. The letters may be put again after
// the removal.
func (s *Store) forget(ids []string, removal linefile.Position) {
	for _, id := range ids {
		s.recent.Forget(id)
		s.removedAt[id] = removal
	}
}

// isRemoved is hasLaterRemoval, and locks the store.
func (s *Store) isRemoved(id string, letter linefile.Position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasLaterRemoval(id, letter)
}

// hasLaterRemoval reports whether the letter at a position is removed by a later line.
func (s *Store) hasLaterRemoval(id string, letter linefile.Position) bool {
	removal, ok := s.removedAt[id]
	return ok && letter.Compare(removal) < 0
}

// deleteOldFiles deletes the oldest files, up to the first file with a letter that is not removed. It deletes the
// oldest first, because a removal must not be deleted before the letter that it removes. Other processes notice deleted
// files before they append.
func (s *Store) deleteOldFiles() error {
	end, err := s.log.Acquire(context.Background())
	if err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	defer end()
	files, _, linesOfLast := s.log.Files()
	for i, path := range files {
		allRemoved, err := s.allRemoved(path)
		if err != nil || !allRemoved {
			return err
		}
		isLast := i == len(files)-1
		if isLast && linesOfLast == 0 {
			return nil // the next letters go into this empty file
		}
		if isLast {
			err = s.log.Rotate() // the log must not append to a deleted file
		}
		if err == nil {
			err = errors.Join(os.Remove(path), linefile.SyncDir(s.dir))
		}
		if err != nil {
			return fmt.Errorf("deadletter: %w", err)
		}
	}
	return nil
}

// allRemoved reports whether every letter of a file is removed.
func (s *Store) allRemoved(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("deadletter: %w", err)
	}
	defer f.Close()
	position := linefile.Position{File: path}
	for line, err := range linefile.Lines(f) {
		position.Line++
		if err != nil {
			return false, fmt.Errorf("deadletter: %w", err)
		}
		if _, id, ok := parseLetter(line); ok && !s.hasLaterRemoval(id, position) {
			return false, nil
		}
	}
	return true, nil
}
