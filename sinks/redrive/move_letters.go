package redrive

import (
	"context"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// checkSinks returns an error if Options.Sink or Options.To does not fit the pipeline. Dead letters of a sink that the
// pipeline does not have any more can only be moved or discarded.
func (r *run) checkSinks() error {
	_, hasSink := r.routes[r.Sink]
	isGone := r.Sink != "" && !hasSink
	if r.To == "" {
		if isGone && !r.Discard {
			return errs.Errorf("the pipeline has no sink %q", r.Sink)
		}
		return nil
	}
	_, hasTo := r.routes[r.To]
	switch {
	case r.Discard:
		return errs.New("To moves letters, and Discard removes them: choose one")
	case !isGone:
		return errs.Errorf("To moves letters of a sink that is gone: Sink is %q", r.Sink)
	case !hasTo:
		return errs.Errorf("the pipeline has no sink %q to move letters to", r.To)
	}
	return nil
}

// move turns the letters of Sink into letters of To, and sets Sink to To. It removes an old letter only after the new
// letter is stored and the mark of its key counts the new letter. So a move that was interrupted can be started again.
// A letter that is not selected stays. If To does not compare versions, the later letters of its key stay too.
func (r *run) move(ctx context.Context) error {
	marks, err := r.readMarks(ctx)
	if err != nil {
		return err
	}
	staying, err := r.moveLetters(ctx)
	if err != nil {
		return err
	}
	for id, mark := range marks { // of the selected keys. No consumer adds letters to these marks: the sink is gone
		if id.sink != r.Sink || staying[id.key] {
			continue
		}
		if _, err := r.Quarantine.Clear(ctx, mark); err != nil {
			return err
		}
	}
	r.Sink = r.To
	return nil
}

// moveLetters moves the selected letters of Sink to To. It returns the keys of the letters in scope that stay.
func (r *run) moveLetters(ctx context.Context) (staying map[item.Key]bool, err error) {
	barriers, err := r.moveBarriers(ctx)
	if err != nil {
		return nil, err
	}
	staying = map[item.Key]bool{}
	var letters []pipeline.DeadLetter
	var bytes int64
	arrival := 0
	for letter, err := range r.Letters.Read(ctx) {
		arrival++
		if err != nil {
			return nil, err
		}
		if letter.Sink != r.Sink || !r.inScope(&letter) {
			continue
		}
		firstStaying, hasBarrier := barriers[letter.Key]
		isAfterBarrier := hasBarrier && firstStaying.before(deliveryOrder{letter.Version, arrival})
		if isAfterBarrier || !r.isSelected(letter.Class) {
			staying[item.Key(strings.Clone(string(letter.Key)))] = true
			continue
		}
		letters = append(letters, letter)
		bytes += int64(len(letter.Raw))
		if len(letters) == batchSize || bytes >= r.Bytes {
			if err := r.moveBatch(ctx, letters); err != nil {
				return nil, err
			}
			letters, bytes = letters[:0], 0
		}
	}
	return staying, r.moveBatch(ctx, letters)
}

// moveBarriers returns, for each key, the position of its first letter that is not selected. No later letter of the key
// may be moved, since it would be delivered before that letter. If To compares versions, there are no barriers.
func (r *run) moveBarriers(ctx context.Context) (map[item.Key]barrier, error) {
	barriers := map[item.Key]barrier{}
	if len(r.Classes) == 0 || r.routes[r.To].Guarded {
		return barriers, nil
	}
	arrival := 0
	for letter, err := range r.Letters.Read(ctx) {
		arrival++
		if err != nil {
			return nil, err
		}
		if letter.Sink != r.Sink || !r.inScope(&letter) || r.isSelected(letter.Class) {
			continue
		}
		position := barrier{deliveryOrder: deliveryOrder{letter.Version, arrival}}
		noteFirst(barriers, item.Key(strings.Clone(string(letter.Key))), position)
	}
	return barriers, nil
}

// moveBatch stores letters as letters of To, counts each in the mark of its key if To has marks, and removes the old
// letters.
func (r *run) moveBatch(ctx context.Context, letters []pipeline.DeadLetter) error {
	if len(letters) == 0 {
		return nil
	}
	ids := make([]string, len(letters))
	for i := range letters {
		ids[i] = deadletter.ID(&letters[i])
		letters[i].Sink = r.To
	}
	if err := r.Letters.Put(ctx, letters); err != nil {
		return err
	}
	if r.hasMarks(r.routes[r.To]) {
		for i := range letters {
			if err := r.Quarantine.MarkKeys(ctx, r.To, []item.Key{letters[i].Key}); err != nil {
				return err
			}
		}
	}
	r.report.Moved += len(letters)
	return r.Letters.Remove(ctx, ids)
}
