package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Birth records that the output of a sink began at a target. Every row, group or document of the
// output has its ID, and each write is conditional on the ID. So a write is refused if the output
// was written under another state.
type Birth struct {
	Sink   string
	Target string // where the output is: "table shop-views", "index products"

	ID    string    // random
	Made  time.Time // when the output began
	State string    // identity of the state that belongs to the output ([Births])
	Store string    // identity of the target; "" if the target has none

	// Begun is set when the sink may have written to the target. A missing output is lost
	// output from then on.
	Begun bool

	// Fresh is set until a change with an image of its item is acknowledged to the sink that is no dead letter. So the
	// dead letters of a fresh output are all that it missed. Outputs that a backfill cannot fill are not fresh.
	Fresh bool

	Stage     Stage
	Floor     time.Time // changes of the stream made before it are not written; zero: all are. UTC, whole seconds
	Stream    string    // ARN of the stream whose changes follow the backfill; "" if unknown
	Run       string    // id of the [Backfill] that fills or filled the output, "rebuild" or "none" (see package sinks); "" if none did
	ReadUntil time.Time // when the backfill ended its last read of the source; zero before that. UTC, whole seconds

	// LeftOut is when a process last started whose file does not have the sink: the output may miss the changes that it
	// acknowledged. Zero: none did since the output began, or since it was last compared with the table. UTC.
	LeftOut time.Time
}

// Stage is how far the output of a sink is filled. The output of a sink that was added to a running
// pipeline begins as Waiting, and a backfill moves it on; every other output is Live from its birth.
type Stage string

// The stages, in order. A store keeps no attribute for Live.
const (
	Waiting  Stage = "waiting"  // nothing is written until a backfill begins
	Filling  Stage = "filling"  // a backfill writes, and the stream writes changes made at Floor or later
	Settling Stage = "settling" // the backfill has read all parts, and a shard may not be read past ReadUntil yet
	Live     Stage = ""         // every change is written that Floor lets through
)

// ParseStage returns the stage of a stored text. A newer program may have stored a text that is not a
// stage of this one: that is an error.
func ParseStage(text string) (Stage, error) {
	switch s := Stage(text); s {
	case Waiting, Filling, Settling, Live:
		return s, nil
	}
	return Live, errs.New("its stage is unknown to this program: use the newer tablewake that wrote it")
}

// String returns the stage as people read it: "live" for Live.
func (s Stage) String() string { return cmp.Or(string(s), "live") }

// NewID returns a random ID of 80 bits, in 16 letters and digits.
func NewID() string { return strings.ToLower(rand.Text()[:16]) }

// NewBirth returns a birth with a new ID. [Births.RecordBirth] records it.
func NewBirth(sink, target string, now time.Time) Birth {
	return Birth{Sink: sink, Target: target, ID: NewID(), Made: now.UTC().Truncate(time.Second)}
}

// Births keeps the births of one pipeline.
type Births interface {
	// Births yields all births, in the order of sink and target. A pulled error ends the sequence.
	Births(ctx context.Context) iter.Seq2[Birth, error]

	// RecordBirth records b if the state has no birth of its Sink and Target. It returns the stored
	// birth once that is durable. Several processes may call it at once.
	RecordBirth(ctx context.Context, b Birth) (Birth, error)

	// SetBirth replaces was by now, which has the same Sink and Target, and returns when that is
	// durable. The zero Birth as now removes was. It returns false if the stored birth differs from was
	// in any field. Several processes may call it at once: one of them succeeds.
	SetBirth(ctx context.Context, was, now Birth) (bool, error)

	// Identity identifies the state itself: a table that was restored from a backup under the same
	// name has another identity. It is "" if the state has none.
	Identity(ctx context.Context) (string, error)
}

// LossDetector is implemented by states that detect the loss of their births without having any
// left.
type LossDetector interface {
	// DetectLoss returns the evidence that births were recorded and lost; "" if there is none.
	DetectLoss(ctx context.Context) (string, error)
}

// FindBirth returns the birth of a sink's output at a target; false if there is none.
func FindBirth(ctx context.Context, bs Births, sink, target string) (Birth, bool, error) {
	for b, err := range bs.Births(ctx) {
		if err != nil || b.Sink == sink && b.Target == target {
			return b, err == nil, err
		}
	}
	return Birth{}, false, nil
}

// OutputRef names a sink's output: Name is its table, or the template of its indexes.
type OutputRef struct{ Pipeline, Sink, Name string }

// Output inspects a sink's output at a target. Its calls block.
type Output interface {
	// Identity identifies the target itself: a target that was recreated under the same name
	// has another identity. It is "" if the target is missing or has none.
	Identity(ctx context.Context) (string, error)

	// Inspect counts the sink's rows, documents or objects by birth. It may stop early in a large
	// output unless all is set.
	Inspect(ctx context.Context, all bool) (Inspection, error)

	// Emptied reports whether the output is empty although the state remembers rows under that birth. It
	// returns false if the state remembers none, or if a check would be expensive.
	Emptied(ctx context.Context, birth string) (bool, error)

	// Forget deletes the store's own records of an output that no longer exists, before a new output
	// begins.
	Forget(ctx context.Context) error
}

// Inspection is the result of [Output].Inspect.
type Inspection struct {
	Seen       map[string]int // number of rows, documents or objects by birth; "" counts those without a birth
	Tombstones int            // how many of them are tombstones, if the store distinguishes tombstones
	Complete   bool           // all of the output was inspected
}

// IsEmpty reports whether the output has no row, document or object except tombstones.
func (in Inspection) IsEmpty() bool { return in.Complete && in.Total() == in.Tombstones }

// Add counts n more rows, documents or objects with a birth.
func (in *Inspection) Add(birth string, n int) {
	if n == 0 {
		return
	}
	if in.Seen == nil {
		in.Seen = make(map[string]int)
	}
	in.Seen[birth] += n
}

// Total returns the number of rows, documents or objects of all births.
func (in Inspection) Total() (total int) {
	for _, n := range in.Seen {
		total += n
	}
	return total
}

// LostError reports that a sink's output and the state do not belong together: one of them was
// deleted, restored, or exchanged. It is fatal, so that no change is dead-lettered for it.
type LostError struct {
	Sink string // "" for all sinks
	What string // what was expected, and what was found
	Way  string // what to do about it; "" names the commands that help with every such error

	Flags string // of these commands, for the file and the stores; "": none are named
}

var _ redact.Redacted = (*LostError)(nil)

// Error returns what is lost and what to do.
func (e *LostError) Error() string {
	way := e.Way
	if way == "" {
		flags := ""
		if e.Flags != "" {
			flags = " " + e.Flags
		}
		if e.Sink != "" {
			flags += " --sink " + e.Sink
		}
		way = "`tablewake adopt" + flags + "` shows what is there, and accepts it where that can be right; where it can't, it says how to fill the sink again"
	}
	return e.What + ": to go on would count on what is not there, or twice; " + way
}

// Redacted returns Error, which holds no data.
func (e *LostError) Redacted() string { return e.Error() }

// Describe returns the class of the error.
func (e *LostError) Describe() (class, field string) { return "lost_store", "" }

// NewLostError returns a fatal [LostError] of a sink. what describes what was expected, and what
// was found.
func NewLostError(sink, what string) error { return pipeline.Fatal(&LostError{Sink: sink, What: what}) }

// BirthMismatch returns the fatal [LostError] of a write to output whose birth is has ("" if it has
// none) and not want. what names the output.
func BirthMismatch(sink, what, has, want string) error {
	is := "bears no birth"
	if has != "" {
		is = "bears the birth " + has
	}
	return NewLostError(sink, what+" "+is+", and the state knows the sink's output under "+want+": the state was lost, or one of the two was restored without the other")
}
