package state

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// DefaultRetention is the lifetime of tombstones, guards without a row and contributions without shares, unless the
// configuration sets guard_retention.
const DefaultRetention = 30 * 24 * time.Hour

// StoreAge describes which changes a store may have forgotten.
type StoreAge struct {
	Born time.Time // creation time of the store. The store remembers all changes since then, unless Forgets is set
	// Forgets means that the state that only refuses late changes is deleted after some time, by a [Purger] or by TTL.
	Forgets bool
}

// AgeReporter is implemented by stores that may forget changes. A store that does not implement it remembers all
// changes.
type AgeReporter interface {
	// StoreAge blocks until the age is read.
	StoreAge(ctx context.Context) (StoreAge, error)
}

// Retention refuses changes that are too old for a store. The store may have forgotten that a newer change removed the
// item. The old change would then bring back a row or an amount. The zero Retention refuses nothing.
type Retention struct {
	StoreAge
	Keep time.Duration // guard_retention. Default: [DefaultRetention]
}

// LoadRetention returns the Retention of a store. It refuses nothing if the store is not an [AgeReporter], or for a
// rebuild, which replays the whole history into an empty sink.
func LoadRetention(ctx context.Context, store any, keep time.Duration, rebuild bool) (Retention, error) {
	r := Retention{Keep: keep}
	s, ok := store.(AgeReporter)
	if !ok || rebuild {
		return r, nil
	}
	var err error
	r.StoreAge, err = s.StoreAge(ctx)
	return r, err
}

// Check returns a [TooOldError] if a change is older than Keep and the store may have forgotten newer changes. made is
// the creation time of the change by the source's clock. It is a parameter because versions have no time. Check returns
// nil if the store forgets nothing, or is younger than Keep and has had no time to forget.
func (r Retention) Check(made, now time.Time) error {
	if !r.Forgets {
		return nil
	}
	keep := cmp.Or(r.Keep, DefaultRetention)
	rememberedSince := now.Add(-keep)
	mayHaveForgotten := r.Born.Before(rememberedSince)
	if mayHaveForgotten && made.Before(rememberedSince) {
		return &TooOldError{Made: made, Keep: keep}
	}
	return nil
}

// Refuse removes the ops of each delivery that is too old, so that writers skip it, and adds the error of Check to
// failed. It does not check snapshots, because they are items as they are stored now. It does not check changes without
// a time either.
func (r Retention) Refuse(ds []pipeline.Delivery, failed *pipeline.BatchError) {
	if !r.Forgets {
		return
	}
	now := time.Now()
	for i := range ds {
		c := ds[i].Change
		hasAge := c.Op != record.Snapshot && !c.Time.IsZero()
		if !hasAge {
			continue
		}
		if err := r.Check(c.Time, now); err != nil {
			failed.Add(i, err)
			ds[i].Ops = nil
		}
	}
}

// backfillMargin is the safety margin of a backfill. A backfill must not undo removals, and the store may forget a
// removal after guard_retention. The backfill must end at least backfillMargin before the store may forget the first of
// these removals. The margin covers parts in flight, clock differences, and the time until an operator notices.
const backfillMargin = 24 * time.Hour

// CheckBackfill returns an error if a backfill must not begin or continue. The source of a backfill may still have
// items that were removed later. If the store forgets these removals, the backfill brings the items back. CheckBackfill
// is called when a backfill begins, and at its checkpoints.
func (r Retention) CheckBackfill(b Backfill, now time.Time) error {
	if !r.Forgets {
		return nil
	}
	keep := cmp.Or(r.Keep, DefaultRetention)
	if now.Sub(b.RemovalsSince()) < keep-backfillMargin {
		return nil
	}

	hint := redact.Safe("begin another backfill from a newer export, or from a scan")
	if keep <= backfillMargin {
		hint = "set state.guard_retention to 24h and as long as a backfill may take"
	}
	return errs.Errorf(
		"the backfill %s reads items as they were at %s, and what was removed since then may be forgotten after guard_retention (%s), less 24h to end in time: it could bring back what is gone; %s",
		redact.Safe(b.Run), redact.Safe(b.RemovalsSince().UTC().Format(time.RFC3339)), redact.Safe(days(keep)), hint)
}

// CheckPurge returns an error if a purge of the state that was written before a time must wait. It must wait if it
// would forget removals that a backfill of the sink must not undo. These removals are needed until the stage of the
// sink is Live.
func CheckPurge(ctx context.Context, s Store, sink string, before time.Time) error {
	for birth, err := range s.Births(ctx) {
		if err != nil {
			return err
		}
		needsRemovals := birth.Sink == sink && (birth.Stage == Filling || birth.Stage == Settling)
		if !needsRemovals {
			continue
		}

		since, err := removalsSince(ctx, s, birth)
		if err != nil {
			return err
		}
		if before.After(since) {
			return errs.Errorf(
				"the backfill %s of the sink %s is %s, and still needs what was removed since %s: a purge of what is older than %s would forget that. End the backfill by `tablewake backfill`, and purge when the sink is live",
				redact.Safe(birth.Run), redact.Safe(sink), redact.Safe(birth.Stage.String()),
				redact.Safe(since.UTC().Format(time.RFC3339)), redact.Safe(before.UTC().Format(time.RFC3339)))
		}
	}
	return nil
}

// removalsSince returns the earliest time of the removals that the backfill of a birth needs.
func removalsSince(ctx context.Context, s Store, birth Birth) (time.Time, error) {
	since := birth.Floor // used if the Backfill is not stored; it reads items as they were after Floor
	for b, err := range s.Backfills(ctx) {
		if err != nil {
			return since, err
		}
		if b.Fills(birth) {
			since = b.RemovalsSince()
		}
	}
	return since, nil
}

// TooOldError reports a change that [Retention] refuses because of its age. It is permanent.
type TooOldError struct {
	Made time.Time
	Keep time.Duration
}

// Error returns a text with the time of the change and what to do.
func (e *TooOldError) Error() string {
	return fmt.Sprintf(
		"the change was made at %s, and what was removed longer ago than guard_retention (%s) may be forgotten: it could bring back what is gone. Replay the whole history into an empty sink with --rebuild",
		e.Made.UTC().Format(time.RFC3339), days(e.Keep))
}

// days returns a duration in the form of the configuration, such as 30d.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}
