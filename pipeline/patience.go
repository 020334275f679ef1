package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// DeniedFor is how long a call that worked before may be refused for its rights or
	// credentials, until the process gives up.
	DeniedFor = 5 * time.Minute

	// deniedApart is how long two refusals are apart that have nothing to do with each other: a
	// call that is refused is tried again sooner.
	deniedApart = 90 * time.Second
)

// Patience is the one rule for calls that are refused ([Denied]), for calls of one kind: where
// none ever worked the configuration is wrong, and the refusal is fatal at once. Else it is
// transient, and fatal once it was refused for [DeniedFor]. The zero Patience has seen no call.
// It is safe for concurrent use.
type Patience struct {
	mu     sync.Mutex
	worked bool
	// refused are the refusals of each right, by what a log has of the error; under "" those of any, with no success between them.
	refused map[string]*refusals
}

// refusals are the first and the last of those with no pause between them.
type refusals struct{ since, last time.Time }

// Take sees what a call of one operation returned, and returns it as it is to be taken: a refusal that is waited
// out is transient, everything else is as it was.
func (p *Patience) Take(err error) error {
	switch {
	case err == nil:
		p.success(func() { clear(p.refused) })
		return nil
	case !IsDenied(err):
		return err // it says nothing of rights
	}
	return p.refuse(err)
}

// takeAll is Take of a call that has an error for each delivery, which it replaces; a refusal of
// one is the call's. Deliveries may need different rights: that some succeed says nothing of the right that
// others lack. It counts as refused until it is refused no more, as what is refused is soon tried again.
func (p *Patience) takeAll(whole error, errs []error) error {
	switch {
	case whole != nil && IsDenied(whole):
		return p.refuse(whole)
	case whole != nil:
		return whole
	case slices.Contains(errs, nil):
		p.took()
	}
	for i, err := range errs {
		if err != nil && IsDenied(err) {
			errs[i] = p.refuse(err)
		}
	}
	return nil
}

// took sees that something of a call worked, which may need other rights than what is refused.
func (p *Patience) took() { p.success(func() { delete(p.refused, "") }) }

func (p *Patience) success(forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worked = true
	forget()
}

// refuse sees a refusal, and returns it as it is to be taken.
func (p *Patience) refuse(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.worked {
		return err
	}
	now := time.Now()
	maps.DeleteFunc(p.refused, func(_ string, r *refusals) bool { return now.Sub(r.last) > deniedApart })
	if p.refused == nil {
		p.refused = map[string]*refusals{}
	}
	var longest time.Duration
	for _, right := range []string{"", rightOf(err)} {
		r := p.refused[right]
		if r == nil {
			r = &refusals{since: now}
			p.refused[right] = r
		}
		r.last = now
		longest = max(longest, now.Sub(r.since))
	}
	if longest >= DeniedFor {
		return Fatal(&deniedError{longest, err})
	}
	return Transient(err)
}

// rightOf is what a log has of the error that is marked with [Denied], without what it is wrapped in: of two
// refusals of one right it is the same.
func rightOf(err error) string {
	if m, ok := errors.AsType[*marked](err); ok {
		err = m.error
	}
	return LogText(err)
}

// deniedError is a refusal that was waited out in vain.
type deniedError struct {
	refused time.Duration
	err     error
}

func (e *deniedError) prefix() string {
	return fmt.Sprintf("refused for %v, though calls of its kind worked before: ", e.refused.Round(time.Second))
}

func (e *deniedError) Error() string    { return e.prefix() + e.err.Error() }
func (e *deniedError) Redacted() string { return e.prefix() + SafeText(e.err) }
func (e *deniedError) Unwrap() error    { return e.err }
