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

// Birth identifies one output of a sink: its target, and a random ID. Each row, group and document of the output has
// the ID, and each write is conditional on it. So a write is refused if the output was written with another state.
type Birth struct {
	Sink   string
	Target string // table or index of the output: "table shop-views", "index products"

	ID    string    // random
	Made  time.Time // when the output began
	State string    // identity of the state that belongs to the output ([Births])
	Store string    // identity of the target; "" if the target has none

	// Begun is set before the sink first writes to the target. If Begun is set and the output is missing, the output
	// was lost.
	Begun bool

	// Fresh is set until the sink acknowledges the first change that has an image and is not dead-lettered. While Fresh
	// is set, the output misses no changes except those in the dead letters. An output that a backfill cannot fill is
	// never fresh.
	Fresh bool

	Stage Stage
	// Floor is a time in the stream: changes that were made before it are not written. If Floor is zero, all changes
	// are written. UTC, whole seconds
	Floor  time.Time
	Stream string // ARN of the stream whose changes follow the backfill; "" if unknown
	// Run is the id of the [Backfill] that fills or filled the output, or "rebuild" or "none" (see package sinks). It
	// is "" if there was no backfill.
	Run       string
	ReadUntil time.Time // when the backfill ended its last read of the source; zero before that. UTC, whole seconds

	// LeftOut is the last time when a process started without this sink in its configuration. That process acknowledged
	// changes that the output may miss. LeftOut is zero if no process did so since the output began, or since it was
	// last compared with the table. If an archive began after the pipeline, LeftOut is at least Made. An archive that
	// took other settings, after some that left out changes or masked values, has the time of that. UTC.
	LeftOut time.Time
}

// Stage is the progress of filling a sink's output. If the sink was added to a running pipeline, its output begins as
// Waiting, and a backfill moves it to the next stages. Every other output is Live from the start.
type Stage string

// The stages, in order. A store keeps no attribute for Live.
const (
	Waiting  Stage = "waiting"  // nothing is written until a backfill begins
	Filling  Stage = "filling"  // a backfill writes, and the stream writes changes made at Floor or later
	Settling Stage = "settling" // the backfill has read all parts, but some shard may not have been read up to ReadUntil
	Live     Stage = ""         // all changes made at Floor or later are written
)

// ParseStage returns the stage of a stored text. It returns an error if this program does not know the stage, because a
// newer program wrote it.
func ParseStage(text string) (Stage, error) {
	switch s := Stage(text); s {
	case Waiting, Filling, Settling, Live:
		return s, nil
	}
	return Live, errs.New("its stage is unknown to this program: use the newer tablewake that wrote it")
}

// String returns the stage as people read it: "live" for Live.
func (s Stage) String() string { return cmp.Or(string(s), "live") }

// FillHint tells a person how to fill a sink in the stage Waiting or Filling.
func (s Stage) FillHint(sink string) string {
	if s == Waiting {
		return "fill it first, with tablewake backfill --sink " + sink
	}
	return "first repeat the command that fills it"
}

// NewID returns a random ID of 80 bits, in 16 letters and digits.
func NewID() string { return strings.ToLower(rand.Text()[:16]) }

// NewBirth returns a birth with a new ID. [Births.RecordBirth] records it.
func NewBirth(sink, target string, now time.Time) Birth {
	return Birth{Sink: sink, Target: target, ID: NewID(), Made: now.UTC().Truncate(time.Second)}
}

// Births keeps the births of one pipeline.
type Births interface {
	// Births yields all births, in the order of sink and target. An error ends the sequence.
	Births(ctx context.Context) iter.Seq2[Birth, error]

	// RecordBirth records b if the state has no birth of its Sink and Target. It returns the stored birth once the
	// birth is durable. Several processes may call it at once.
	RecordBirth(ctx context.Context, b Birth) (Birth, error)

	// SetBirth replaces expected by next, and returns when next is durable. Both have the same Sink and Target. If next
	// is zero, SetBirth removes expected. SetBirth returns false if the stored birth differs from expected in any
	// field. If several processes call it at once, one of them succeeds.
	SetBirth(ctx context.Context, expected, next Birth) (bool, error)

	// Identity returns a text that identifies the state itself, or "" if the state has no identity. A table that was
	// restored from a backup under the same name has another identity.
	Identity(ctx context.Context) (string, error)
}

// LossDetector is implemented by a state that can detect the loss of all its births.
type LossDetector interface {
	// DetectLoss returns a text with the evidence that births were recorded and lost. It returns "" if there is no
	// evidence.
	DetectLoss(ctx context.Context) (string, error)
}

// FindBirth returns the birth of a sink's output at a target. It returns false if the output has no birth.
func FindBirth(ctx context.Context, bs Births, sink, target string) (Birth, bool, error) {
	for b, err := range bs.Births(ctx) {
		if err != nil {
			return b, false, err
		}
		if b.Sink == sink && b.Target == target {
			return b, true, nil
		}
	}
	return Birth{}, false, nil
}

// OutputRef names a sink's output: Name is its table, or the template of its indexes.
type OutputRef struct{ Pipeline, Sink, Name string }

// Output inspects a sink's output at a target. Its calls block.
type Output interface {
	// Identity returns a text that identifies the target itself, or "" if the target is missing or has no identity. A
	// target that was recreated under the same name has another identity.
	Identity(ctx context.Context) (string, error)

	// Inspect counts the sink's rows, documents or objects by birth. If all is false, it may stop early in a large
	// output.
	Inspect(ctx context.Context, all bool) (Inspection, error)

	// Emptied reports whether the output is empty although the state remembers rows of the birth. It returns false if
	// the state remembers no rows, or if a check would be expensive.
	Emptied(ctx context.Context, birth string) (bool, error)

	// Forget deletes the store's own records of an output that no longer exists, before a new output
	// begins.
	Forget(ctx context.Context) error
}

// Inspection is the result of [Output].Inspect.
type Inspection struct {
	Seen       map[string]int // number of rows, documents or objects by birth; "" counts those without a birth
	Tombstones int            // number of tombstones among them; 0 if the store does not distinguish tombstones
	Complete   bool           // the whole output was inspected
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

// LostError reports that a sink's output and the state do not belong together: one of them was deleted, restored, or
// exchanged. It is fatal, so that no change is dead-lettered because of it.
type LostError struct {
	Sink string // name of the sink; "" for all sinks
	What string // the expected and the found state or output
	Hint string // hint for the user; if it is "", Error names a command that helps

	// Flags are the flags that select the file and the stores in the command that Error names. They are "" if no flags
	// are needed
	Flags string
}

var _ redact.Redacted = (*LostError)(nil)

// Error returns a text that names what is lost and what to do.
func (e *LostError) Error() string {
	way := e.Hint
	if way == "" {
		way = "`" + e.adoptCommand() +
			"` shows what is there, and accepts it where that can be right; where it can't, it says how to fill the sink again"
	}
	return e.What + ": to continue would count on what is not there, or twice; " + way
}

// adoptCommand returns the command that shows and accepts the state of the sink.
func (e *LostError) adoptCommand() string {
	command := "tablewake adopt"
	if e.Flags != "" {
		command += " " + e.Flags
	}
	if e.Sink != "" {
		command += " --sink " + e.Sink
	}
	return command
}

// Redacted returns Error, which holds no data.
func (e *LostError) Redacted() string { return e.Error() }

// Describe returns the class of the error.
func (e *LostError) Describe() (class, field string) { return "lost_store", "" }

// NewLostError returns a fatal [LostError] of a sink. what is LostError.What.
func NewLostError(sink, what string) error { return pipeline.Fatal(&LostError{Sink: sink, What: what}) }

// BirthMismatch returns the fatal [LostError] of a write to an output with the wrong birth. has is the birth of the
// output, or "" if it has no birth. want is the birth in the state. what names the output.
func BirthMismatch(sink, what, has, want string) error {
	found := "has no birth"
	if has != "" {
		found = "has the birth " + has
	}
	return NewLostError(sink, what+" "+found+", and the state knows the sink's output under "+want+
		": the state was lost, or one of the two was restored without the other")
}
