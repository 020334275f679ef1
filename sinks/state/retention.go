package state

import (
	"context"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// DefaultRetention is how long an empty guard lives, unless the configuration says otherwise.
const DefaultRetention = 30 * 24 * time.Hour

// StoreAge is how far back a store remembers.
type StoreAge struct {
	Born    time.Time // when the store was made: it has forgotten nothing for as long
	Forgets bool      // whether empty guards and contributions ever go, by [Purger] or by a TTL
}

// AgeReporter tells how far back it remembers. A store that does not implement it
// forgets nothing.
type AgeReporter interface {
	// StoreAge blocks until it is read.
	StoreAge(ctx context.Context) (StoreAge, error)
}

// Retention refuses changes that are older than what a store remembers: it may have
// forgotten that a newer one removed the item, and an old row or an old amount would
// come back. The zero Retention refuses nothing.
type Retention struct {
	StoreAge
	Keep    time.Duration // how long empty guards live (guard_retention). Default: [DefaultRetention]
	Rebuild bool          // all of the history is replayed into a sink that was empty: nothing is refused
}

// LoadRetention is the Retention of a store, whatever it is: of one that is no [AgeReporter]
// it refuses nothing.
func LoadRetention(ctx context.Context, store any, keep time.Duration, rebuild bool) (Retention, error) {
	r := Retention{Keep: keep, Rebuild: rebuild}
	s, ok := store.(AgeReporter)
	if !ok || rebuild {
		return r, nil
	}
	var err error
	r.StoreAge, err = s.StoreAge(ctx)
	return r, err
}

// Check is the error, a permanent one, of a change that was made at a time before all
// that the store is sure to remember now; nil where the store is younger than the
// retention, or forgets nothing. Compare the creation time, which is of the source's clock,
// and not the version: an item's versions say nothing of age.
func (r Retention) Check(made, now time.Time) error {
	keep := r.Keep
	if keep == 0 {
		keep = DefaultRetention
	}
	since := now.Add(-keep)
	if !r.Forgets || r.Rebuild || !r.Born.Before(since) || !made.Before(since) {
		return nil
	}
	return &TooOldError{Made: made, Keep: keep}
}

// Refuse fails the deliveries that are too old, as Check says, and takes their ops
// away. What a backfill brings has no age: it is the item as it stands.
func (r Retention) Refuse(ds []pipeline.Delivery, failed *pipeline.BatchError) {
	if !r.Forgets {
		return
	}
	now := time.Now()
	for i := range ds {
		c := ds[i].Change
		if c.Op == record.Snapshot || c.Time.IsZero() {
			continue
		}
		if err := r.Check(c.Time, now); err != nil {
			failed.Add(i, err)
			ds[i].Ops = nil
		}
	}
}

// TooOldError is a change that is older than what the store is sure to remember. It
// is permanent.
type TooOldError struct {
	Made time.Time
	Keep time.Duration
}

// Error says what to do.
func (e *TooOldError) Error() string {
	return fmt.Sprintf("the change was made at %s, and what was removed longer ago than guard_retention (%s) may be forgotten: it could bring back what is gone. Replay the whole history into an empty sink with --rebuild",
		e.Made.UTC().Format(time.RFC3339), days(e.Keep))
}

// days is a duration as the configuration writes it.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}
