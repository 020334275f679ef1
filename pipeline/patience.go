package pipeline

import (
	"fmt"
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
// transient, and fatal once calls were refused for [DeniedFor]. The zero Patience has seen no call.
// It is safe for concurrent use.
type Patience struct {
	mu          sync.Mutex
	worked      bool
	since, last time.Time // of refusals with no success, and no pause, between them
}

// Take sees what a call returned, and returns it as it is to be taken: a refusal that is waited
// out is transient, everything else is as it was.
func (p *Patience) Take(err error) error { return p.take(err, false) }

// take is Take; some tells that beside what failed with err something of the call worked.
func (p *Patience) take(err error, some bool) error {
	if err != nil && !IsDenied(err) {
		return err // it says nothing of rights
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worked = p.worked || some || err == nil
	switch now := time.Now(); {
	case err == nil:
		p.since = time.Time{}
		return nil
	case !p.worked:
		return err
	case p.since.IsZero() || now.Sub(p.last) > deniedApart:
		p.since, p.last = now, now
	default:
		p.last = now
	}
	if refused := p.last.Sub(p.since); refused >= DeniedFor {
		return Fatal(&deniedError{refused, err})
	}
	return Transient(err)
}

// takeAll is Take of a call that has an error for each delivery, which it replaces; a refusal of
// one is the call's.
func (p *Patience) takeAll(whole error, errs []error) error {
	if whole != nil {
		return p.Take(whole)
	}
	some := slices.Contains(errs, nil)
	if !slices.ContainsFunc(errs, IsDenied) {
		if some {
			_ = p.Take(nil)
		}
		return nil
	}
	for i, err := range errs {
		if err != nil {
			errs[i] = p.take(err, some)
		}
	}
	return nil
}

// deniedError is a refusal that was waited out in vain.
type deniedError struct {
	refused time.Duration
	err     error
}

func (e *deniedError) prefix() string {
	return fmt.Sprintf("it worked before, and was refused for %v: ", e.refused.Round(time.Second))
}

func (e *deniedError) Error() string    { return e.prefix() + e.err.Error() }
func (e *deniedError) Redacted() string { return e.prefix() + SafeText(e.err) }
func (e *deniedError) Unwrap() error    { return e.err }
