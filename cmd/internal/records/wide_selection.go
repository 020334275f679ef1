package records

import (
	"fmt"
	"io"
	"sync"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// WideSelection selects the items of a selection, and each item for which --filter fails. It counts the failures.
type WideSelection struct {
	*snapshot.ItemSelection
	mask   *mask.Mask
	mu     sync.Mutex
	failed int
	first  error // the error of the first failure
}

// NewWideSelection returns a WideSelection of a selection that is not nil. m masks the keys of items.
func NewWideSelection(selection *snapshot.ItemSelection, m *mask.Mask) *WideSelection {
	return &WideSelection{ItemSelection: selection, mask: m}
}

// Match implements [pipeline.Condition].
func (s *WideSelection) Match(c *record.Change) (bool, error) {
	matches, err := s.ItemSelection.Match(c)
	if err != nil {
		s.noteFailure(c, err)
	}
	return matches || err != nil, nil
}

func (s *WideSelection) noteFailure(c *record.Change, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	if s.first == nil {
		s.first = fmt.Errorf("item %s: %w", s.mask.Key(c), err)
	}
}

// Warn prints to w how often --filter failed, if it did. consequence tells what the command did with those items.
func (s *WideSelection) Warn(w io.Writer, consequence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed > 0 {
		fmt.Fprintf(w, cli.Warning+"--filter failed %s, and %s: %v\n", cli.Count(s.failed, "time"), consequence, s.first)
	}
}
