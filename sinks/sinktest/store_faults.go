package sinktest

import (
	"errors"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
)

// Kind is the kind of a [Fault].
type Kind uint8

// The kinds of faults.
const (
	Transient Kind = iota // the call fails and may be retried
	Permanent             // the call fails permanently
	Crash                 // the process dies during the call: every later call fails too
)

// Fault makes one store call fail.
type Fault struct {
	Call int // index of the call, from 0
	// After is the number of the call's writes that take effect before it fails. If the call has fewer writes, all take
	// effect
	After int
	Kind  Kind
}

// ErrCrash is the error of store calls after the process has crashed.
var ErrCrash = pipeline.Fatal(errors.New("sinktest: the process crashed"))

var (
	errTransient = pipeline.Transient(errors.New("sinktest: the store failed for now"))
	errPermanent = pipeline.Permanent(errors.New("sinktest: the store refused"))
)

// Faults decides which calls of a store fail. With the zero Faults no call fails. Faults is safe for concurrent use.
type Faults struct {
	mu    sync.Mutex
	plan  []Fault
	calls int
	dead  bool
}

// NewFaults plans faults.
func NewFaults(plan ...Fault) *Faults { return &Faults{plan: plan} }

// Call runs a store call of n writes. do(k) makes the first k of the writes. Without a planned fault, Call returns
// do(n). With a planned fault, Call first calls do with the number of writes that take effect, unless that number is 0.
// Then it returns the error of the fault. An error of do is returned unchanged.
func (f *Faults) Call(n int, do func(k int) error) error {
	fault, isDead := f.nextFault()
	if isDead {
		return ErrCrash
	}
	if fault == nil {
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

// nextFault counts a call, and returns its planned fault; nil if it has none. isDead reports whether the process died
// in an earlier call.
func (f *Faults) nextFault() (fault *Fault, isDead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, true
	}
	call := f.calls
	f.calls++
	for i := range f.plan {
		if f.plan[i].Call == call {
			f.dead = f.plan[i].Kind == Crash
			return &f.plan[i], false
		}
	}
	return nil, false
}

// crashed reports whether the process died.
func (f *Faults) crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// Calls returns the number of store calls so far.
func (f *Faults) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}
