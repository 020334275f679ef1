package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// phase is the phase of a claimed part. A part passes through the phases in this order, and may skip some.
type phase uint8

const (
	reading phase = iota // the reader has more pages
	ended                // Read has returned its last page
	failed               // the reader failed with part.err. The part is released once its pages are written
	gone                 // the part is done, lost or released: it is not in Source.claimed
)

// claimedPart is a part that this process reads.
type claimedPart struct {
	*part
	name      string          // name of the partition
	ctx       context.Context // ends when the part is gone or the source is closed
	cancel    context.CancelCauseFunc
	pageTaken chan struct{} // receives a value when a page is taken

	storeSlot chan struct{} // holds a value during a write of the part

	// Source.mu guards the fields below.
	phase       phase
	page        *pipeline.Page // page that was read ahead for Read; nil if there is none
	paused      bool
	drained     bool           // Control.Drain was called
	pages       []returnedPage // pages that Read returned and that are not committed
	firstNumber int64          // number of pages[0]

	position   pipeline.Position // all pages up to this position are written
	items      int64             // items that are written
	allWritten bool              // all pages are written
}

// returnedPage is a page that Read has returned. The pipeline knows the page by its number in the part: the number is
// the page's Position.
type returnedPage struct {
	position pipeline.Position // position of the reader after the page
	items    *atomic.Int64     // number of items; known once the page is decoded
	end      bool
}

// startReading starts to read a part that was claimed. The caller holds mu.
func (s *Source) startReading(p *part) {
	c := &claimedPart{
		part: p, name: p.ID, pageTaken: make(chan struct{}, 1), storeSlot: make(chan struct{}, 1), firstNumber: 1,
		position: pipeline.Position(p.stored.Position), items: p.stored.Items,
	}
	if p.losses > 0 { // the part's former partition was revoked, and a run cannot use a revoked name again
		c.name = fmt.Sprintf("%s~%d", p.ID, p.losses)
	}
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	p.claim = c
	s.claimed = append(s.claimed, c)
	from := c.position
	s.work.Go(func() {
		if err := s.readPages(c, from); err != nil {
			s.failPart(c, err)
		}
	})
	s.work.Go(func() { s.renew(c) })
}

// readPages reads a part to its end, and hands the pages to Read.
func (s *Source) readPages(c *claimedPart, from pipeline.Position) (err error) {
	s.options.Throttle(c.ctx)
	r, err := s.options.Snapshot.Open(c.ctx, c.ID, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		page, err := r.Read(c.ctx) // the last page may come with the error
		if page != nil && !s.handToRead(c, page) {
			return nil
		}
		if pipeline.IsEnd(err) {
			s.handToRead(c, &pipeline.Page{End: true})
			return nil
		}
		if err != nil {
			return err
		}
		s.options.Throttle(c.ctx)
	}
}

// handToRead gives a page to Read, and blocks until Read takes it. It returns false if the part is read no further.
func (s *Source) handToRead(c *claimedPart, page *pipeline.Page) bool {
	s.mu.Lock()
	if c.phase != reading {
		s.mu.Unlock()
		return false
	}
	c.page = page
	s.mu.Unlock()
	signal(s.changed)
	select {
	case <-c.pageTaken:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// takePage returns the page that was read ahead from a part. The caller holds mu.
func (s *Source) takePage(c *claimedPart) *pipeline.Page {
	page := c.page
	c.page = nil
	signal(c.pageTaken)
	number := c.firstNumber + int64(len(c.pages))
	returned := returnedPage{position: page.Position, items: new(atomic.Int64), end: page.End}
	c.pages = append(c.pages, returned)
	page.Partition = c.name
	page.Position = pipeline.Position(strconv.FormatInt(number, 10))
	if page.Decode == nil {
		s.countItems(&page.Page, returned)
	} else {
		s.countWhenDecoded(page, returned)
	}
	if page.End {
		c.phase = ended
		signal(s.wakeClaims)
	}
	return page
}

// countWhenDecoded makes page.Decode note the items of the page.
func (s *Source) countWhenDecoded(page *pipeline.Page, returned returnedPage) {
	decode := page.Decode
	page.Decode = func() (*record.Page, error) {
		decoded, err := decode()
		if decoded != nil {
			s.countItems(decoded, returned)
		}
		return decoded, err
	}
}

// countItems notes the items of a decoded page.
func (s *Source) countItems(p *record.Page, returned returnedPage) {
	returned.items.Store(int64(p.Len()))
	s.noteSelected(p)
}

// isSettled reports whether no more work on a part follows: the part is done, or it has failed and all pages that were
// read are written. The caller holds mu.
func (c *claimedPart) isSettled() bool { return c.allWritten || c.phase == failed && len(c.pages) == 0 }

// noteWritten notes that the pages up to a number are written. The caller holds mu.
func (s *Source) noteWritten(c *claimedPart, lastNumber int64) {
	for ; c.firstNumber <= lastNumber && len(c.pages) > 0; c.firstNumber++ {
		page := c.pages[0]
		c.pages = c.pages[1:]
		c.items += page.items.Load()
		s.ownItems += page.items.Load()
		c.allWritten = page.end
		if !page.end { // the page of the end may have no position
			c.position = page.position
		}
	}
}

// failPart notes that a part cannot be read. The part must be released, because another process may be able to read it.
// If each of two processes kept a part that only the other can read, neither would end. failPart releases the part at
// once if all of its pages that were read are written.
func (s *Source) failPart(c *claimedPart, err error) {
	s.mu.Lock()
	if c.phase != reading || c.ctx.Err() != nil {
		s.mu.Unlock()
		return
	}
	c.phase, c.err = failed, fmt.Errorf("part %s: %w", c.ID, err)
	c.drained = true // by the call of Drain below
	isSettled := c.isSettled()
	control := s.control
	s.mu.Unlock()
	s.log.LogAttrs(s.ctx, slog.LevelError, "a part of a snapshot cannot be read: the other parts are read first",
		slog.String("part", c.ID), slog.String("error", redact.LogText(err)))
	if control != nil {
		control.Drain(c.name)
	}
	signal(s.changed)
	signal(s.wakeClaims)
	if isSettled {
		s.renewOnce(c) // releases the part; if that fails, the next renewal releases it
	}
}

// renew renews the claim on a part, and stores its position, until the part is gone.
func (s *Source) renew(c *claimedPart) {
	t := time.NewTicker(s.options.ClaimTime / 6)
	defer t.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		s.renewOnce(c)
	}
}

// renewOnce stores the position of a part, and logs a failure.
func (s *Source) renewOnce(c *claimedPart) {
	ctx, cancel := context.WithTimeout(c.ctx, s.options.ClaimTime/2)
	defer cancel()
	if err := s.storePart(ctx, c, keepUnlessSettled); err != nil && c.ctx.Err() == nil {
		s.log.LogAttrs(s.ctx, slog.LevelWarn,
			"the claim on a part of a snapshot cannot be renewed: another process may take the part over",
			slog.String("part", c.ID), slog.String("error", redact.LogText(err)))
	}
}

// claimEnd defines whether a write of a part ends the claim on the part.
type claimEnd uint8

const (
	keepUnlessSettled claimEnd = iota // the write releases the part only if it is settled
	releaseAlways                     // the write releases the part
)

// storePart writes the position of a part, which also renews the claim or releases the part. If another process has
// taken the part over, the part is lost. That is not an error.
func (s *Source) storePart(ctx context.Context, c *claimedPart, end claimEnd) error {
	select {
	case c.storeSlot <- struct{}{}:
		defer func() { <-c.storeSlot }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	if c.phase == gone {
		s.mu.Unlock()
		return nil
	}
	old := c.stored
	next := state.Part{
		Run: s.options.Run, ID: c.ID, Owner: s.options.Owner, Counter: old.Counter + 1,
		Position: string(c.position), Items: c.items, Done: c.allWritten,
	}
	releases := end == releaseAlways || c.isSettled()
	if releases {
		next.Owner = ""
	}
	s.mu.Unlock()
	err := s.storeSelectionNotes(ctx)
	wasOwner := false
	if err == nil {
		wasOwner, err = s.options.Backfills.SetPart(ctx, old, next)
	}
	if err != nil {
		return fmt.Errorf("storing part %s of backfill %s: %w", c.ID, s.options.Run, err)
	}
	if !wasOwner {
		s.revokePart(c)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.stored = next
	if releases {
		s.remove(c)
	}
	return nil
}

var errLost = errs.New("another process reads the part now")

// revokePart revokes a part whose stored content is not what this process wrote last. Either another process has taken
// the part over. Or a write of this process has succeeded, and its answer was lost: this process then finds itself as
// the owner in the next list, and claims the part again under a new name.
func (s *Source) revokePart(c *claimedPart) {
	s.mu.Lock()
	s.remove(c)
	c.stale = true
	c.losses++
	control := s.control
	s.mu.Unlock()
	s.log.LogAttrs(s.ctx, slog.LevelWarn, "another process has taken over a part of a snapshot: it is not read on here",
		slog.String("part", c.ID))
	if control != nil {
		control.Revoke(errLost, c.name)
	}
	// The name is added after the call of Revoke, which would create the partition again if it were forgotten.
	s.mu.Lock()
	s.namesToForget = append(s.namesToForget, c.name)
	s.mu.Unlock()
	signal(s.changed)
}

// remove ends the work on a part. The caller holds mu.
func (s *Source) remove(c *claimedPart) {
	c.phase, c.page, c.claim = gone, nil, nil
	s.claimed = slices.DeleteFunc(slices.Clone(s.claimed), func(other *claimedPart) bool { return other == c })
	c.cancel(errLost)
	signal(s.changed)
	signal(s.wakeClaims)
}
