package snapshot

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// part is the state of a part of the snapshot, as this process knows it. Source.mu guards the fields below Part.
type part struct {
	Part
	stored       state.Part   // content of the store as last read or written; the zero Part if the part is not stored
	counterSince time.Time    // when this process first saw stored.Counter
	stale        bool         // stored is out of date: another process has written the part
	claim        *claimedPart // claim of this process; nil if there is none
	losses       int          // number of claims of this process that were taken over
	err          error        // why this process cannot read the part
}

// spreadClaims rotates the parts, so that processes begin with different parts.
func (s *Source) spreadClaims() {
	if len(s.parts) == 0 {
		return
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.options.Owner))
	first := int(h.Sum32() % uint32(len(s.parts)))
	s.parts = slices.Concat(s.parts[first:], s.parts[:first])
}

// claimParts claims parts until the source is closed.
func (s *Source) claimParts() {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakeClaims:
		case <-t.C:
		}
		wait, err := s.claimMore()
		if err != nil && s.ctx.Err() == nil {
			if _, retryable := pipeline.Retryable(err); !retryable {
				s.fail(err)
				return
			}
			s.log.LogAttrs(s.ctx, slog.LevelWarn, "parts of a snapshot cannot be claimed: the next try follows",
				slog.String("error", redact.LogText(err)))
		}
		t.Reset(wait)
		signal(s.changed)
	}
}

// claimMore claims parts until this process reads Concurrency parts. It returns the wait before the next try.
func (s *Source) claimMore() (wait time.Duration, err error) {
	tryEvery := s.options.ClaimTime / 3
	if s.lastListed().IsZero() {
		if err := s.list(); err != nil {
			return tryEvery, err
		}
	}
	for s.wantsMore() {
		p, err := s.findClaimable()
		if err != nil {
			return tryEvery, err
		}
		if p == nil {
			s.logWaiting()
			return time.Until(s.nextList()), nil
		}
		if err := s.claim(p); err != nil {
			return tryEvery, err
		}
	}
	listEvery := tryEvery // time between two readings of the progress of other processes
	if len(s.parts) > fewParts {
		listEvery = 2 * s.options.ClaimTime
	}
	if time.Since(s.lastListed()) >= listEvery {
		return tryEvery, s.list()
	}
	return tryEvery, nil
}

// findClaimable returns a part that this process may claim; nil if there is none. It lists the parts again if the list
// is old and has no such part.
func (s *Source) findClaimable() (*part, error) {
	p := s.claimablePart()
	if p != nil || time.Until(s.nextList()) > 0 {
		return p, nil
	}
	if err := s.list(); err != nil {
		return nil, err
	}
	return s.claimablePart(), nil
}

// logWaiting logs once that this process reads nothing until it can take over the part of a process that is silent.
func (s *Source) logWaiting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waitLogged || s.removed || len(s.claimed) > 0 {
		return
	}
	i := slices.IndexFunc(s.parts, func(p *part) bool {
		return p.isWanted() && !s.isFree(p) && time.Since(p.counterSince) > s.options.ClaimTime/2
	})
	if i < 0 {
		return
	}
	s.waitLogged = true
	s.log.LogAttrs(s.ctx, slog.LevelWarn, "the owner of a part is silent: this process waits until it can take the part over",
		slog.String("part", s.parts[i].ID), slog.String("owner", s.parts[i].stored.Owner),
		slog.Duration("silent_for", time.Since(s.parts[i].counterSince)), slog.Duration("claim_time", s.options.ClaimTime))
}

// fewParts is the number of parts up to which all parts are listed often. One DynamoDB request returns that many.
const fewParts = 1000

func (s *Source) lastListed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listedAt
}

// maxEnded is the maximum number of claimed parts that wait for their last writes. The number is limited, because the
// claim on each of these parts must be renewed.
const maxEnded = 64

// wantsMore reports whether this process claims one more part. It does not if it is leaving, if it reads as many parts
// as Concurrency allows, or if maxEnded more parts wait for their last writes.
func (s *Source) wantsMore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving || s.removed || s.ctx.Err() != nil {
		return false
	}
	readingCount := 0
	for _, c := range s.claimed {
		if c.phase == reading {
			readingCount++
		}
	}
	return readingCount < s.options.Concurrency && len(s.claimed) < s.options.Concurrency+maxEnded
}

// nextList returns when to list the parts again, to find a part to claim.
func (s *Source) nextList() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.parts, func(p *part) bool { return p.stale }) {
		return s.listedAt.Add(s.options.ClaimTime / 30)
	}
	return s.listedAt.Add(s.options.ClaimTime / 3)
}

// claimablePart returns a part that this process may claim; nil if there is none.
func (s *Source) claimablePart() *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.isWanted() && s.isFree(p) })
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

// isWanted reports whether this process claims the part once it is free.
func (p *part) isWanted() bool { return p.claim == nil && !p.stale && p.err == nil && !p.stored.Done }

// isFree reports whether no other process reads the part.
func (s *Source) isFree(p *part) bool {
	isOwn := p.stored.Owner == s.options.Owner // it has no claim if the answer of the write that claimed it was lost
	ownerHasEnded := s.options.Alone || time.Since(p.counterSince) >= s.options.ClaimTime
	return p.stored.Owner == "" || isOwn || ownerHasEnded
}

// list reads the stored parts, and updates the parts of this process from them.
func (s *Source) list() error {
	stored, err := s.readStored()
	if err != nil {
		return err
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	isFirst := s.listedAt.IsZero()
	s.listedAt = now
	// The process that ends a backfill removes the parts. All parts are done by then.
	wereStored := slices.ContainsFunc(s.parts, func(p *part) bool { return p.stored != (state.Part{}) })
	s.removed = wereStored && len(stored) == 0 && len(s.claimed) == 0
	for _, p := range s.parts {
		p.stale = false // the list is new; a part that is not in it is not stored
	}
	for _, row := range stored {
		s.byID[row.ID].update(row, now)
	}
	if isFirst {
		s.addParts(&s.startProgress)
	}
	return nil
}

// update notes the stored content of a part, as it was listed at the time now.
func (p *part) update(stored state.Part, now time.Time) {
	if p.claim != nil {
		return // the writes of this process are newer
	}
	if stored.Counter != p.stored.Counter || stored.Owner != p.stored.Owner {
		p.counterSince = now
	}
	p.stored = stored
}

// readStored reads the stored parts.
func (s *Source) readStored() (stored []state.Part, err error) {
	for p, err := range s.options.Backfills.Parts(s.ctx, s.options.Run) {
		if err != nil {
			return nil, fmt.Errorf("reading the parts of backfill %s: %w", s.options.Run, err)
		}
		if s.byID[p.ID] == nil {
			return nil, errs.Errorf("backfill %s has a part %s, and the snapshot that is read now has none of that name: "+
				"name the same source as when it began, or begin another backfill", s.options.Run, p.ID)
		}
		stored = append(stored, p)
	}
	return stored, nil
}

// claim makes this process the owner of a part, unless another process was faster.
func (s *Source) claim(p *part) error {
	s.mu.Lock()
	old := p.stored
	s.mu.Unlock()
	next := state.Part{Run: s.options.Run, ID: p.ID, Owner: s.options.Owner, Counter: old.Counter + 1,
		Position: old.Position, Items: old.Items}
	ctx, cancel := context.WithTimeout(s.ctx, s.options.ClaimTime)
	defer cancel()
	ok, err := s.options.Backfills.SetPart(ctx, old, next)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !ok {
		p.stale = true
		if err != nil {
			err = fmt.Errorf("claiming part %s of backfill %s: %w", p.ID, s.options.Run, err)
		}
		return err
	}
	p.stored = next
	if old.Owner != "" && old.Owner != s.options.Owner {
		s.log.LogAttrs(s.ctx, slog.LevelInfo, "a part was taken over: its owner did not renew its claim",
			slog.String("part", p.ID), slog.String("owner", old.Owner), slog.Int64("items", old.Items))
	}
	s.startReading(p)
	return nil
}
