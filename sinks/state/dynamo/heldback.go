package dynamo

import (
	"cmp"
	"context"
	"strconv"

	"github.com/tablewake/tablewake/sinks/state"
)

// SetHeldBack replaces the note of the consumer, or deletes it if h is empty. The table's TTL deletes the notes of
// consumers that ended.
func (s *State) SetHeldBack(ctx context.Context, h state.HeldBack) error {
	ref := s.db.noteRef(s.pipeline, "heldback", h.Consumer)
	if h.Empty() {
		return s.db.Write(ctx, Delete(ref, Condition{}))
	}
	worst, err := h.Body()
	if err != nil {
		return err
	}
	item := withFields(ref.Key, heldBackFields(&h))
	item["worst"], item[attrExpires] = S(worst), N(strconv.FormatInt(h.At.Add(state.HeldBackLifetime).Unix(), 10))
	return s.db.Write(ctx, Put(ref.Table, item, Condition{}))
}

// HeldBack returns the notes of all consumers, in the order of their ids, without expired notes.
func (s *State) HeldBack(ctx context.Context) ([]state.HeldBack, error) {
	var all []state.HeldBack
	for h, err := range readNotes(ctx, s, "heldback", s.heldBack) {
		if err != nil {
			return nil, err
		}
		if s.db.now().Before(h.At.Add(state.HeldBackLifetime)) {
			all = append(all, h)
		}
	}
	return all, nil
}

func heldBackFields(h *state.HeldBack) []field {
	return []field{{"consumer", &h.Consumer, always}, {"at", &h.At, always}, {"total", &h.Total, always}}
}

func (s *State) heldBack(item Item) (h state.HeldBack, err error) {
	err = cmp.Or(parseFields(item, heldBackFields(&h)), h.SetBody(Text(item, "worst")))
	return h, s.db.damagedIf(err, "what holds the consumer "+h.Consumer+" back")
}
