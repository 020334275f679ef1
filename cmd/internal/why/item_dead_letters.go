package why

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/state"
)

// marks returns, by sink, the notes that the item's key is quarantined.
func (q Request) marks(ctx context.Context) (map[string]state.Mark, error) {
	s, err := q.Stores.State(ctx, q.Config)
	if err != nil || s == nil {
		return nil, err
	}
	marks := make(map[string]state.Mark)
	for m, err := range s.Marks(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("quarantine: %w", err)
		}
		if m.Key == q.Item.Change.Key {
			marks[m.Sink] = m
		}
	}
	return marks, nil
}

// letters returns the dead letters of the item. It returns none if the configuration has no store of dead letters that
// can be read.
func (q Request) letters(ctx context.Context) ([]pipeline.DeadLetter, error) {
	d, err := q.Stores.DeadLetters(ctx, q.Config)
	if err != nil {
		return nil, err
	}
	store, ok := d.(deadletter.Store)
	if !ok {
		return nil, nil
	}
	var found []pipeline.DeadLetter
	for l, err := range letters.Read(ctx, q.Config, store) {
		if err != nil {
			return nil, fmt.Errorf("dead letters: %w", err)
		}
		if l.Key == q.Item.Change.Key {
			found = append(found, l)
		}
	}
	return found, nil
}
