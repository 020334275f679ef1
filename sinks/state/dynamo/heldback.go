package dynamo

import (
	"context"
	"strconv"

	"github.com/tablewake/tablewake/sinks/state"
)

// SetHeldBack replaces the note of the consumer, or deletes it if h is empty. The table's TTL deletes
// the notes of dead consumers.
func (s *State) SetHeldBack(ctx context.Context, h state.HeldBack) error {
	ref := s.db.noteRef(s.pipeline, "heldback", h.Consumer)
	if h.Empty() {
		return s.db.Write(ctx, Delete(ref, Condition{}))
	}
	worst, err := h.Body()
	if err != nil {
		return err
	}
	return s.db.put(ctx, ref, Item{
		"consumer": S(h.Consumer), "at": nanoseconds(h.At), "total": N(strconv.Itoa(h.Total)), "worst": S(worst),
		attrExpires: N(strconv.FormatInt(h.At.Add(state.HeldBackLifetime).Unix(), 10)),
	})
}

// HeldBack returns the notes of all consumers, in the order of their ids, without expired notes.
func (s *State) HeldBack(ctx context.Context) ([]state.HeldBack, error) {
	var all []state.HeldBack
	for h, err := range notes(ctx, s, "heldback", s.heldBack) {
		if err != nil {
			return nil, err
		}
		if s.db.now().Before(h.At.Add(state.HeldBackLifetime)) {
			all = append(all, h)
		}
	}
	return all, nil
}

func (s *State) heldBack(item Item) (state.HeldBack, error) {
	a := attributes{item: item}
	h := state.HeldBack{Consumer: a.text("consumer"), At: a.time("at"), Total: int(a.number("total"))}
	a.note(h.SetBody(a.text("worst")))
	return h, a.damaged(s.db, "what holds the consumer "+h.Consumer+" back")
}
