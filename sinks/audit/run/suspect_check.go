package run

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/state"
)

// suspectCheck is one comparison of a suspect.
type suspectCheck struct {
	*suspect
	known       *audit.ItemState // nil if the item is unknown
	findings    []audit.Finding  // keepDifferences drops the verdicts Equal and Waiting
	compared    int              // number of findings, including the equal ones
	undecodable error            // error of an item that cannot be decoded
	moved       bool             // the item changed while its places were read
	err         error
}

// keepDifferences drops the findings with the verdicts Equal and Waiting. If the item of a place is unknown, a
// difference becomes Skipped: the place may be extra, or may belong to a new item.
func (c *suspectCheck) keepDifferences() {
	c.compared = len(c.findings)
	c.findings = slices.DeleteFunc(c.findings, func(f audit.Finding) bool {
		return f.Verdict == audit.Equal || f.Verdict == audit.Waiting
	})
	if c.item == "" {
		c.skipDifferences()
	}
}

// skipDifferences makes the differences of a place Skipped, because its item is unknown.
func (c *suspectCheck) skipDifferences() {
	for i := range c.findings {
		if f := &c.findings[i]; f.Verdict.Differs() {
			f.Underlying, f.Verdict = f.Verdict, audit.Skipped
			f.Reason = "it is unknown which item it was made from; if a later audit finds it again, no item has it"
		}
	}
}

// runChecks compares several suspects concurrently.
func (a *auditRun) runChecks(ctx context.Context, checks []suspectCheck) {
	parallel.Each(len(checks), a.o.Parts*4, func(i int) error {
		a.runCheck(ctx, &checks[i])
		return nil
	})
}

// runCheck compares a suspect with its item, and sets the findings or the error of the check.
func (a *auditRun) runCheck(ctx context.Context, check *suspectCheck) {
	if check.undecodable != nil {
		check.findings = []audit.Finding{{Item: check.item, Verdict: audit.Skipped,
			Reason: "the item cannot be decoded: " + check.undecodable.Error()}}
		return
	}
	check.err = a.o.Budget.retryThrottled(ctx, func() (err error) {
		check.findings, err = a.o.Sinks[check.sink].Compare(ctx, check.known, check.places)
		if err == nil && check.known != nil && a.isNamed() {
			err = a.compareNamedGroups(ctx, check)
		}
		return err
	})
}

// findMoved reads the items with findings once more, and sets moved in the checks of items that changed. An item is
// first read before its places. It may change before its places are read, and change back before the next round. Two
// rounds with an equal item therefore prove something only if the item is also read after its places.
func (a *auditRun) findMoved(ctx context.Context, checks []suspectCheck) error {
	if a.o.NoWriters {
		return nil
	}
	var withFindings []*suspectCheck
	var keys []item.Key
	for i := range checks {
		check := &checks[i]
		if check.known == nil || len(check.findings) == 0 {
			continue
		}
		withFindings = append(withFindings, check)
		if !slices.Contains(keys, check.item) {
			keys = append(keys, check.item)
		}
	}
	items, err := a.o.Lookup.Read(ctx, keys)
	if err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	for _, check := range withFindings {
		current := &items[slices.Index(keys, check.item)]
		check.moved = !current.sameAs(&check.known.Change)
	}
	return nil
}

// reportCheck reports the findings of a check if they are settled. Otherwise it adds the suspect to next, so that the
// next round compares it again. The last round reports all findings.
func (a *auditRun) reportCheck(check *suspectCheck, next *spool) error {
	if err := check.skipUnreadable(); err != nil {
		return fmt.Errorf("%s: %w", a.o.Sinks[check.sink].Name(), err)
	}
	a.recheckedCount++
	a.progress.Update(a.recheckedCount, a.work.Tally.Suspects)
	if a.isWithoutJoin() && a.work.Round == 0 {
		a.work.Tally.Sinks[check.sink].Compared += int64(check.compared)
	}
	if len(check.findings) == 0 {
		a.countSettled()
		return nil
	}

	digest, err := check.digest()
	if err != nil {
		return err
	}
	isSettled := a.isSettled(check, digest)
	isLastRound := a.work.Round >= a.o.MaxRounds
	if !isSettled && !isLastRound {
		if a.work.Round == 0 {
			a.changing++
		}
		check.lastFindings = digest
		return next.add(check.hash(), check.appendTo(nil))
	}
	if !isSettled {
		check.setBusy()
	}
	a.countSettled()
	return a.reportFindings(check.sink, check.findings)
}

// skipUnreadable replaces a permanent error of the check, or the error of damaged data, by a Skipped finding, because
// other entries can still be read. It returns any other error.
func (c *suspectCheck) skipUnreadable() error {
	_, isDamaged := errors.AsType[*state.DamagedError](c.err)
	if !isDamaged && !state.IsPermanent(c.err) {
		return c.err
	}
	c.findings = []audit.Finding{{Item: c.item, Verdict: audit.Skipped, Reason: c.err.Error()}}
	return nil
}

// reportFindings reports the findings of a sink. It reports a group once, although several named items count in it.
func (a *auditRun) reportFindings(sink int, findings []audit.Finding) error {
	for i := range findings {
		f := &findings[i]
		if f.Kind == audit.Group {
			id := placeID{sink, f.Kind, f.Place}
			if a.reportedGroups[id] {
				continue
			}
			a.reportedGroups[id] = true
		}
		if err := a.reportFinding(sink, f); err != nil {
			return err
		}
	}
	return nil
}

// movedDigest equals no digest of findings.
var movedDigest = [16]byte{1}

// isSettled reports whether the suspect needs no other check. This is so if no other process writes, if the findings
// are the same as in the previous round, or if a change in flight explains none of the findings. digest is the digest
// of the findings.
func (a *auditRun) isSettled(check *suspectCheck, digest [16]byte) bool {
	cannotChange := a.o.NoWriters && check.findings[0].Verdict != audit.Busy
	isRepeated := a.work.Round > 0 && !check.moved && digest == check.lastFindings
	mayChange := slices.ContainsFunc(check.findings, func(f audit.Finding) bool {
		return mayMove(&f) || f.Verdict == audit.Busy
	})
	return cannotChange || isRepeated || !mayChange
}

// setBusy sets the verdict Busy in each finding that a change in flight may explain.
func (c *suspectCheck) setBusy() {
	for i := range c.findings {
		if mayMove(&c.findings[i]) {
			c.findings[i].Verdict = audit.Busy
		}
	}
}

// mayMove reports whether a change in flight may explain a finding. This is so for a difference, also if a dead letter
// explains it.
func mayMove(f *audit.Finding) bool {
	return f.Verdict.Differs() || f.Verdict == audit.Held && f.Underlying.Differs()
}

// countSettled counts a suspect that needs no further comparison.
func (a *auditRun) countSettled() {
	if a.work.Round > 0 {
		a.changing--
	}
}

// digest identifies the result of a check: the item, and the differences with their places and versions. If the item
// changed meanwhile, digest returns movedDigest, so that the next round counts as the first of two equal rounds.
func (c *suspectCheck) digest() ([16]byte, error) {
	if c.moved {
		return movedDigest, nil
	}
	b, err := json.Marshal(c.findings)
	if err != nil {
		return [16]byte{}, err
	}
	if c.known != nil {
		b = c.known.Change.New.AppendDynamoDBJSON(b)
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16]), nil
}
