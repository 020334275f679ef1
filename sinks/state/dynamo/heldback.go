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

func (s *State) heldBack(item Item) (h state.HeldBack, err error) {
	h.Consumer = Text(item, "consumer")
	if h.At, err = timeAt(item, "at"); err == nil {
		h.Total, err = strconv.Atoi(Digits(item, "total"))
	}
	if err == nil {
		err = h.SetBody(Text(item, "worst"))
	}
	if err != nil {
		err = s.db.Damaged("what holds the consumer "+h.Consumer+" back", err)
	}
	return h, err
}
