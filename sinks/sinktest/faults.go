package sinktest

import (
	"errors"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
)

// Kind is how a store call fails.
type Kind uint8

// The kinds of faults.
const (
	Transient Kind = iota // the call fails and may be tried again
	Permanent             // the call fails for good
	Crash                 // the process dies in the call: every later one fails too
)

// Fault makes one store call fail.
type Fault struct {
	Call  int // which, counted from 0
	After int // how many of the call's writes take effect before it fails; all if more than it has
	Kind  Kind
}

// ErrCrash is what store calls return once the process has crashed.
var ErrCrash = pipeline.Fatal(errors.New("sinktest: the process crashed"))

var (
	errTransient = pipeline.Transient(errors.New("sinktest: the store failed for now"))
	errPermanent = pipeline.Permanent(errors.New("sinktest: the store refused"))
)

// Faults decides which calls of a store fail. Its zero value lets all through.
// It is safe for concurrent use.
type Faults struct {
	mu    sync.Mutex
	plan  []Fault
	calls int
	dead  bool
}

// NewFaults plans faults.
func NewFaults(plan ...Fault) *Faults { return &Faults{plan: plan} }

// Call runs a store call of n writes: do(n), or, where a fault is planned, do of
// as many as take effect first (not called for none) and then an error. do
// performs the first so many of the writes. Its own error is returned as it is.
func (f *Faults) Call(n int, do func(n int) error) error {
	fault, hit, dead := f.next()
	if dead {
		return ErrCrash
	}
	if !hit {
		return do(n)
	}
	if k := min(fault.After, n); k > 0 {
		if err := do(k); err != nil {
			return err
		}
	}
	switch fault.Kind {
	case Transient:
		return errTransient
	case Permanent:
		return errPermanent
	default:
		return ErrCrash
	}
}

func (f *Faults) next() (fault Fault, hit, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return Fault{}, false, true
	}
	call := f.calls
	f.calls++
	for _, p := range f.plan {
		if p.Call == call {
			f.dead = p.Kind == Crash
			return p, true, false
		}
	}
	return Fault{}, false, false
}

// crashed reports whether the process died.
func (f *Faults) crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// Calls is how many store calls there were.
func (f *Faults) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}
