package state

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Backfill describes one backfill: the source that it reads, and the sinks that it fills. Its fields never change.
type Backfill struct {
	Run    string    // id
	Sinks  string    // names of the sinks when the backfill began, sorted, joined by ","; "" if the run was abandoned
	Source string    // canonical name of the source; all processes of the backfill give it the same name
	Start  time.Time // when the backfill began. UTC, whole seconds
	From   time.Time // the source shows each item as it was at From or later; zero if unknown. UTC, whole seconds
	Parts  int       // number of parts; 0 for an archive
}

// Fills reports whether the run of b fills or filled the output of a birth.
func (b Backfill) Fills(birth Birth) bool {
	return birth.Run == b.Run && slices.Contains(strings.Split(b.Sinks, ","), birth.Sink)
}

// RemovalsSince returns the earlier of From and Start. If From is zero, it returns Start. The source may still have
// items that the table lost after that time. The backfill must not bring these items back.
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

	// Owner is the process that reads the part; "" if no process does. Each write of the part raises Counter. If
	// Counter does not change for the claim time, another process takes the part over. It measures that time by its own
	// clock.
	Owner   string
	Counter int64

	Position string // where reading continues: all items before it are written; "" is the start
	Items    int64  // number of items before Position
	Done     bool   // all items of the part are written
}

// Backfills keeps the backfills of one pipeline and the progress of their parts.
type Backfills interface {
	// Backfills yields all backfills, in the order of Start and Run. An error ends the sequence.
	Backfills(ctx context.Context) iter.Seq2[Backfill, error]

	// AddBackfill stores b if there is no backfill with the Run of b. It returns the stored backfill once the backfill
	// is durable. Several processes may call it at once.
	AddBackfill(ctx context.Context, b Backfill) (Backfill, error)

	// RemoveBackfill removes a backfill and its parts. No process may read the parts any more. If there is no such
	// backfill, RemoveBackfill returns nil. A call that failed may have removed some of the parts, so call it again.
	RemoveBackfill(ctx context.Context, run string) error

	// Parts yields the stored parts of a backfill, in the order of ID. A part that is written during the read may be
	// missing. An error ends the sequence.
	Parts(ctx context.Context, run string) iter.Seq2[Part, error]

	// SetPart replaces expected by next, and returns when next is durable. Both have the same Run and ID. If expected
	// is zero, the part must not be stored yet. SetPart returns false if the stored part differs from expected in any
	// field. If several processes call it at once, one of them succeeds.
	SetPart(ctx context.Context, expected, next Part) (bool, error)
}

// MaxPartID is the maximum length of the ID of a part, in bytes. It is also the limit for the name of an S3 object.
const MaxPartID = 1024

// CheckSetPart returns an error if expected and next are not valid arguments of [Backfills].SetPart. Stores call it.
func CheckSetPart(expected, next Part) error {
	switch {
	case next.Run == "":
		return errs.New("a part of a backfill has no Run")
	case next.ID == "" || len(next.ID) > MaxPartID || !utf8.ValidString(next.ID):
		return errs.Errorf("a part of a backfill has an ID of %d bytes: it must be 1 to %d bytes of UTF-8", len(next.ID),
			MaxPartID)
	case expected != (Part{}) && (expected.Run != next.Run || expected.ID != next.ID):
		return errs.New("a part of a backfill cannot replace another part")
	case next.Counter <= expected.Counter:
		return errs.New("a write of a part of a backfill must raise its Counter")
	}
	return nil
}
