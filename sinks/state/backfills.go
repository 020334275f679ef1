package state

import (
	"context"
	"iter"
	"time"
	"unicode/utf8"
)

// Backfill describes one backfill: what it reads, into which sinks. Its fields never change.
type Backfill struct {
	Run    string    // id
	Sinks  string    // names of the sinks, sorted, joined by ","
	Source string    // canonical name of what is read; each process of the backfill names the same
	Start  time.Time // when the backfill began. UTC, whole seconds
	From   time.Time // each item is read as it was then or later; zero if unknown. UTC, whole seconds
	Parts  int       // number of parts
}

// RemovalsSince returns when the first removal may have been made that the backfill must not undo: the
// earlier of From and Start.
func (b Backfill) RemovalsSince() time.Time {
	if b.From.IsZero() || b.Start.Before(b.From) {
		return b.Start
	}
	return b.From
}

// Part is the progress of one part of a backfill: a file of an export, or a segment of a scan. A part
// that no process has claimed yet is not stored.
type Part struct {
	Run, ID string

	// Owner is the process that reads the part; "" if none does. Each write of the part raises Counter.
	// An owner is dead if its Counter stands still for the claim time, by the clock of whoever observes it.
	Owner   string
	Counter int64

	Position string // where to read on: everything before it is written; "" is the start
	Items    int64  // number of items before Position
	Done     bool   // all items of the part are written
}

// Backfills keeps the backfills of one pipeline, and how far their parts are read.
type Backfills interface {
	// Backfills yields all backfills, in the order of Start and Run. A pulled error ends the sequence.
	Backfills(ctx context.Context) iter.Seq2[Backfill, error]

	// AddBackfill stores b if there is no backfill of its Run. It returns the stored one once that is
	// durable. Several processes may call it at once.
	AddBackfill(ctx context.Context, b Backfill) (Backfill, error)

	// RemoveBackfill removes a backfill and its parts, once no process reads them. It returns no error
	// if there is none. A call that failed may have removed some of the parts: call it again.
	RemoveBackfill(ctx context.Context, run string) error

	// Parts yields the stored parts of a backfill, in the order of ID. Parts that are written meanwhile
	// may be missing. A pulled error ends the sequence.
	Parts(ctx context.Context, run string) iter.Seq2[Part, error]

	// SetPart replaces was by now, which has the same Run and ID, and returns when that is durable. The
	// zero Part as was means that the part is not stored yet. It returns false if the stored part
	// differs from was in any field. Several processes may call it at once: one of them succeeds.
	SetPart(ctx context.Context, was, now Part) (bool, error)
}

// MaxPartID is the maximum length of the ID of a part in bytes. The name of an S3 object is as long at most.
const MaxPartID = 1024

// CheckSetPart returns an error if was and now are not arguments of [Backfills].SetPart. Stores call it.
func CheckSetPart(was, now Part) error {
	switch {
	case now.Run == "":
		return errs.New("a part of a backfill has no Run")
	case now.ID == "" || len(now.ID) > MaxPartID || !utf8.ValidString(now.ID):
		return errs.Errorf("a part of a backfill has an ID of %d bytes: it must be 1 to %d bytes of UTF-8", len(now.ID), MaxPartID)
	case was != (Part{}) && (was.Run != now.Run || was.ID != now.ID):
		return errs.New("a part of a backfill cannot replace another part")
	case now.Counter <= was.Counter:
		return errs.New("a write of a part of a backfill must raise its Counter")
	}
	return nil
}
