package state

import (
	"context"
	"crypto/rand"
	"iter"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Birth records that the output of a sink began at a target. All that the sink writes there
// bears its ID, and each write is conditional on it, so that rows which were written under
// another state are refused.
type Birth struct {
	Sink   string
	Target string // where the output is: "table shop-views", "index products"

	ID    string    // random
	Made  time.Time // when the output began
	State string    // identity of the state that was accepted with it, as [Births] has it
	Store string    // identity of the target that was accepted with it; "" where the target has none

	// Begun says that the sink may have written to the target: if its output is missing from
	// then on, it was lost.
	Begun bool
}

// idLetters is the length of an ID: 80 random bits.
const idLetters = 16

// NewBirth is a birth with a new ID. [Births.RecordBirth] records it.
func NewBirth(sink, target string, now time.Time) Birth {
	return Birth{Sink: sink, Target: target, ID: strings.ToLower(rand.Text()[:idLetters]), Made: now.UTC().Truncate(time.Second)}
}

// Births keeps the births of one pipeline.
type Births interface {
	// Births yields all births, in the order of sink and target. A pulled error ends the sequence.
	Births(ctx context.Context) iter.Seq2[Birth, error]

	// RecordBirth records b, unless the state has a birth of that Sink and Target, and returns the one
	// that it has then. It blocks until that is durable. Several processes may do so at once.
	RecordBirth(ctx context.Context, b Birth) (Birth, error)

	// SetBirth replaces was by now, which is of the same Sink and Target and durable when SetBirth
	// returns; the zero Birth: by nothing. False where the state does not have was any more.
	SetBirth(ctx context.Context, was, now Birth) (bool, error)

	// Identity names the state itself: a table that was restored from a backup under the same
	// name has another identity. "": the state has none.
	Identity(ctx context.Context) (string, error)
}

// LossDetector is implemented by states that can detect that they were lost, although they are
// empty.
type LossDetector interface {
	// DetectLoss says how it is known that births were recorded, if the state has none; else "".
	DetectLoss(ctx context.Context) (string, error)
}

// FindBirth is the birth of a sink's output at a target; false where there is none.
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
	// Identity names the target itself: one that was deleted and made again under its name
	// has another identity. "": the target is missing, or has none.
	Identity(ctx context.Context) (string, error)

	// Inspect counts the sink's rows, documents or objects by birth. Unless whole is set it may stop early, as in a
	// large table.
	Inspect(ctx context.Context, whole bool) (Inspection, error)

	// Emptied reports whether the output is empty although the state remembers rows under that birth. It
	// returns false if the state remembers none, or if a check would be expensive.
	Emptied(ctx context.Context, birth string) (bool, error)

	// Forget drops what the store itself remembers of a former output that is gone, before a new one
	// begins.
	Forget(ctx context.Context) error
}

// Inspection is the result of [Output].Inspect.
type Inspection struct {
	Seen       map[string]int // how many rows, documents or objects, by the birth that they bear; "": those that bear none
	Tombstones int            // how many of them are tombstones, as far as the store distinguishes them
	Complete   bool           // all of the output was inspected
}

// IsEmpty reports whether the output has no row, document or object: tombstones at most.
func (l Inspection) IsEmpty() bool { return l.Complete && l.Total() == l.Tombstones }

// Add counts n more rows, documents or objects that bear a birth.
func (l *Inspection) Add(birth string, n int) {
	if n == 0 {
		return
	}
	if l.Seen == nil {
		l.Seen = make(map[string]int)
	}
	l.Seen[birth] += n
}

// Total is how many were seen.
func (l Inspection) Total() (n int) {
	for _, m := range l.Seen {
		n += m
	}
	return n
}

// LostError says that a sink's output and what the state remembers of it do not belong
// together: one of them was deleted, restored, or exchanged. It is fatal: no change is
// dead-lettered for it.
type LostError struct {
	Sink string // "": all sinks
	What string // what was expected, and what is there
	Way  string // what to do about it; "": the commands that every such error names
}

var _ redact.Redacted = (*LostError)(nil)

// Error says what is lost and what to do.
func (e *LostError) Error() string {
	way := e.Way
	if way == "" {
		sink := ""
		if e.Sink != "" {
			sink = " --sink " + e.Sink
		}
		way = "`tablewake adopt" + sink + "` shows what is there, and accepts it where that can be right; where it can't, it says how to fill the sink again"
	}
	return e.What + ": to go on would count on what is not there, or twice; " + way
}

// Redacted is Error: it holds no data.
func (e *LostError) Redacted() string { return e.Error() }

// Describe is its class.
func (e *LostError) Describe() (class, field string) { return "lost_store", "" }

// Lost is a fatal [LostError] of a sink; what says what was expected, and what is there.
func NewLostError(sink, what string) error { return pipeline.Fatal(&LostError{Sink: sink, What: what}) }

// BirthMismatch is the fatal [LostError] of a write that met output of the birth has, "" for none, and wants
// its own. what names the output.
func BirthMismatch(sink, what, has, want string) error {
	is := "bears no birth"
	if has != "" {
		is = "bears the birth " + has
	}
	return NewLostError(sink, what+" "+is+", and the state knows the sink's output under "+want+": the state was lost, or one of the two was restored without the other")
}
