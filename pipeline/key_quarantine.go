package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Quarantine stores the quarantined keys of each sink, for all processes that run the pipeline. A quarantined key has
// changes in dead letters that its later changes must not overtake.
//
// Before a Write the pipeline looks up the keys of the batch. Changes of quarantined keys become dead letters, with the
// outcome Quarantined. The order is always: the letter is durable, the key is quarantined, the change is acknowledged.
type Quarantine interface {
	// HasMarks reports for each key whether any process quarantined it for the sink before the call. The pipeline calls
	// it before every Write, so it must be cheap if no key is quarantined.
	HasMarks(ctx context.Context, sink string, keys []item.Key) ([]bool, error)

	// MarkKeys quarantines keys and counts one letter for each, and blocks until that is durable. A key can occur
	// several times in keys. A key that was released meanwhile is quarantined again.
	MarkKeys(ctx context.Context, sink string, keys []item.Key) error
}

// errQuarantined is the failure of a change whose key is in quarantine.
var errQuarantined = &failure{classQuarantined,
	errs.New("its key is quarantined: an earlier change of it is in dead letters; redrive delivers both in order")}

// quarantines reports whether a failure of that class quarantines the key of its change. At a sink that compares
// versions, only two failures do: the change failed for longer than MaxHold, or its key is in quarantine already. After
// any other failure, a redrive is safe there even if later changes were written, because the sink ignores older
// versions.
func (r *run) quarantines(rt *route, class string) bool {
	if r.p.options.Quarantine == nil || rt.Suppress != "" {
		return false
	}
	return !rt.guarded || class == classExpired || class == classQuarantined
}

func (r *run) readQuarantine(ctx context.Context, sink string, keys []item.Key) (quarantined []bool, err error) {
	err = guard("quarantine", &r.p.denials.quarantineRead, func() (err error) {
		quarantined, err = r.p.options.Quarantine.HasMarks(ctx, sink, keys)
		return err
	})
	return quarantined, err
}

// quarantineKeys quarantines keys, and retries until that is durable. It returns false if ctx ends first.
func (r *run) quarantineKeys(ctx context.Context, sink string, keys []item.Key, failed func()) bool {
	if len(keys) == 0 {
		return true
	}
	return r.retryUntilDone(ctx, "the quarantine of keys cannot be stored: their changes are blocked", len(keys),
		func() error {
			return guard("quarantine", &r.p.denials.quarantineWrite,
				func() error { return r.p.options.Quarantine.MarkKeys(ctx, sink, keys) })
		}, failed)
}

// quarantineFailed returns the error that all deliveries of a batch get after HasMarks failed with err.
func quarantineFailed(err error) error {
	if IsFatal(err) {
		return fmt.Errorf("quarantine: %w", err)
	}
	after, _ := Retryable(err)
	return RetryAfter(&quarantineError{err}, after)
}

// quarantineError is a failed call of a Quarantine. It is retried even after a panic, because no delivery failed.
type quarantineError struct{ err error }

var _ redact.Redacted = (*quarantineError)(nil)

func (e *quarantineError) Error() string    { return "quarantine: " + e.err.Error() }
func (e *quarantineError) Redacted() string { return "quarantine: " + redact.SafeText(e.err) }

// afterKeyCheck sends the changes whose key is not in quarantine. An error of the quarantine fails the whole batch.
func (s *scheduler) afterKeyCheck(b *batch) {
	if b.err == nil && len(b.quarantined) != len(b.keys) {
		b.err = errs.Errorf("HasMarks returned %d results for %d keys", len(b.quarantined), len(b.keys))
	}
	if b.err != nil {
		b.phase = settled
		b.failAll(quarantineFailed(b.err))
		return
	}
	for i, lane := range b.lanes {
		lane.quarantined = b.quarantined[i]
	}
	b.sendAllowed()
}

// sendAllowed chooses the phase sending for the deliveries that may be written, or settled if there are none. It moves
// the other deliveries to the end, after deliveries[:count]. The key of such a delivery is in quarantine, or its
// partition was revoked meanwhile.
func (b *batch) sendAllowed() {
	var skipped []*queuedDelivery
	written := b.deliveries[:0]
	for _, delivery := range b.deliveries {
		if delivery.lane.quarantined || delivery.page.partition.state.isRevoked() {
			skipped = append(skipped, delivery)
		} else {
			written = append(written, delivery)
		}
	}
	b.count = len(written)
	copy(b.deliveries[b.count:], skipped)
	errsOfSkipped := b.errs[b.count:]
	for i, delivery := range skipped {
		errsOfSkipped[i] = errUntried
		if delivery.lane.quarantined {
			delivery.fail, errsOfSkipped[i] = errQuarantined, errQuarantined.err
		}
	}
	b.phase = sending
	if b.count == 0 {
		b.phase = settled
	}
}

// refuseQuarantined returns an error if a key of a packed batch is in quarantine.
func (r *run) refuseQuarantined(rt *route, b *batch) error {
	if r.p.options.Quarantine == nil {
		return nil
	}
	var keys []item.Key
	for rec, err := range unpackSorted(b.chunks) {
		if err != nil {
			return err
		}
		isRepeated := len(keys) > 0 && keys[len(keys)-1] == rec.change.Key
		if isRepeated {
			continue
		}
		keys = append(keys, rec.change.Key)
		if len(keys) == maxQuarantineKeys {
			if err := r.refuseQuarantinedKeys(b.ctx, rt.Name, keys); err != nil {
				return err
			}
			keys = keys[:0]
		}
	}
	return r.refuseQuarantinedKeys(b.ctx, rt.Name, keys)
}

// maxQuarantineKeys is the largest number of keys of a packed batch in one call of Quarantine.HasMarks.
const maxQuarantineKeys = 500

// refuseQuarantinedKeys returns an error if one of the keys is in quarantine.
func (r *run) refuseQuarantinedKeys(ctx context.Context, sink string, keys []item.Key) error {
	quarantined, err := r.readQuarantine(ctx, sink, keys)
	if err != nil || len(quarantined) != len(keys) {
		return &quarantineError{errors.Join(err, errMustUnpack)}
	}
	if slices.Contains(quarantined, true) {
		return errMustUnpack
	}
	return nil
}

// quarantineRest dead-letters the waiting changes of a lane, because a letter of the lane quarantines its key.
func (s *scheduler) quarantineRest(lane *lane) {
	lane.attempt, lane.retryAt = 0, time.Time{}
	for delivery := range lane.queue.all() {
		delivery.fail = cmp.Or(delivery.fail, errQuarantined)
		s.deadLetter(delivery)
	}
	lane.queue = deliveryList{}
	lane.quarantinesRest = false // the lane is empty: no change follows these letters
}

// deadline returns when the first change of a lane expires, that is, when it has failed for MaxHold. tried is when the
// change was tried and failed. It returns zero if the change never expires.
func (s *scheduler) deadline(lane *lane, tried time.Time) time.Time {
	o := &s.run.p.options
	created := lane.queue.first.Change.Time
	switch {
	case o.MaxHold == 0:
		return time.Time{}
	case o.Live && !created.IsZero():
		return created.Add(o.MaxHold)
	case !lane.expiresAt.IsZero():
		return lane.expiresAt
	}
	return tried.Add(o.MaxHold)
}

// expire sets the failure of the first change of a queued lane if the change has expired.
func (s *scheduler) expire(lane *lane, now time.Time) {
	if !isDue(lane.expiresAt, now) {
		return
	}
	lane.expiresAt = time.Time{}
	lane.queue.first.fail = &failure{classExpired, &expiredError{s.run.p.options.MaxHold, lane.err}}
}

// expiredError is the failure of a change that failed for longer than MaxHold.
type expiredError struct {
	hold time.Duration
	last error
}

func (e *expiredError) Error() string {
	return fmt.Sprintf("it failed for longer than max_hold (%v); the last error was: %v", e.hold, e.last)
}

func (e *expiredError) Unwrap() error { return e.last }
