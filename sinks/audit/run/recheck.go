package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// itemsAtOnce is the number of items that a recheck reads together.
const itemsAtOnce = 100

// recheckRound looks at the suspects that the round before left open. noneOpen is true if there are none. Rounds go on
// until every suspect stood still for longer than the lag: a difference counts if item and places are the same in two
// rounds, versions included, and every consumer was past the first of the two in between.
func (a *auditRun) recheckRound(ctx context.Context) (noneOpen bool, err error) {
	open, err := openSpool(a.work.path(fmt.Sprintf("round-%d", a.work.Round)), a.work.Open)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	next, err := openSpool(a.work.path(fmt.Sprintf("round-%d", a.work.Round+1)), a.work.Next)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, next.close()) }()
	if open.size() == 0 {
		return true, errors.Join(open.remove(), next.remove())
	}
	if a.work.Round > 0 && a.work.File == 0 {
		if err := a.o.WaitForConsumers(ctx, a.work.Waited); err != nil {
			return false, err
		}
	}
	for ; a.work.File < buckets; a.work.File++ {
		if err := a.recheckFile(ctx, open, next); err != nil {
			return false, err
		}
		if err := a.saveRound(next); err != nil {
			return false, err
		}
	}
	lengths, err := next.flush()
	if err != nil {
		return false, err
	}
	a.work.Open, a.work.Next, a.work.File, a.work.Waited = slices.Clone(lengths), nil, 0, time.Now()
	a.work.Round++
	return false, errors.Join(a.saveProgress(), open.remove())
}

// saveRound stores the progress of a round, unless it was stored a moment ago.
func (a *auditRun) saveRound(next *spool) error {
	if time.Since(a.lastSave) < a.o.Checkpoint {
		return nil
	}
	lengths, err := next.flush()
	if err != nil {
		return err
	}
	a.work.Next = slices.Clone(lengths)
	a.work.File++ // the file is finished
	err = a.saveProgress()
	a.work.File--
	return err
}

// suspectID identifies suspects that are compared together.
type suspectID struct {
	sink  int
	item  item.Key
	place string // place of a suspect whose item is unknown
}

// recheckFile looks at the suspects of one file.
func (a *auditRun) recheckFile(ctx context.Context, open, next *spool) error {
	byItem, err := a.readSuspects(open)
	if err != nil {
		return err
	}
	a.putGroupsAside(byItem)
	keys := slices.Sorted(maps.Keys(byItem))
	for chunk := range slices.Chunk(keys, itemsAtOnce) {
		if err := a.recheckItems(ctx, chunk, byItem, next); err != nil {
			return err
		}
		a.o.WaitForStream(ctx)
	}
	return context.Cause(ctx)
}

// readSuspects reads the suspects of the present file. It joins the places of an item at one sink, without duplicates.
func (a *auditRun) readSuspects(open *spool) (byItem map[item.Key][]*suspect, err error) {
	all := make(map[suspectID]*suspect)
	err = open.each(a.work.File, func(b []byte) error {
		s, err := parseSuspect(b)
		if err != nil {
			return err
		}
		id := suspectID{s.sink, s.item, ""}
		if s.item == "" {
			id.place = s.places[0].Place // places of unknown items are independent of each other
		}
		if known := all[id]; known != nil {
			known.places = append(known.places, s.places...)
			return nil
		}
		all[id] = &s
		return nil
	})
	if err != nil {
		return nil, err
	}
	byItem = make(map[item.Key][]*suspect)
	for _, s := range all {
		slices.SortFunc(s.places, func(x, y audit.Entry) int {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Place, y.Place))
		})
		s.places = slices.CompactFunc(s.places, func(x, y audit.Entry) bool { return x.Kind == y.Kind && x.Place == y.Place })
		byItem[s.item] = append(byItem[s.item], s)
	}
	return byItem, nil
}

// putGroupsAside moves the places of groups from byItem to work.Groups, because groups are compared with sums.
func (a *auditRun) putGroupsAside(byItem map[item.Key][]*suspect) {
	var withPlaces []*suspect
	for _, s := range byItem[""] {
		s.places = slices.DeleteFunc(s.places, func(p audit.Entry) bool {
			if p.Kind == audit.Group {
				a.work.Groups = append(a.work.Groups, groupPlace{s.sink, []byte(p.Place)})
			}
			return p.Kind == audit.Group
		})
		if len(s.places) > 0 {
			withPlaces = append(withPlaces, s)
		}
	}
	if byItem[""] = withPlaces; len(withPlaces) == 0 {
		delete(byItem, "")
	}
}

// look is the result of comparing one suspect again.
type look struct {
	*suspect
	change      *record.Change  // nil if the item is unknown
	findings    []audit.Finding // without the equal findings and those of claims that rightly wait
	looked      int             // number of findings before the equal ones were dropped
	undecodable error           // error of an item that cannot be decoded
	moved       bool            // the item changed while its places were read
	err         error
}

// recheckItems compares the suspects of some items, several concurrently, and handles the results in the order of keys.
func (a *auditRun) recheckItems(
	ctx context.Context, keys []item.Key, byItem map[item.Key][]*suspect, next *spool,
) error {
	var looks []look
	if keys[0] == "" { // the suspects whose item is unknown
		for _, s := range byItem[""] {
			looks = append(looks, look{suspect: s})
		}
		keys = keys[1:]
	}
	changes, err := a.o.Lookup.Read(ctx, keys)
	if err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	for i, key := range keys {
		looks = a.addLooks(looks, &changes[i], byItem[key])
	}
	a.lookAtAll(ctx, looks)
	if err := a.markStale(ctx, looks); err != nil {
		return err
	}
	for i := range looks {
		looks[i].keepDifferences()
	}
	if err := a.findMoved(ctx, looks); err != nil {
		return err
	}
	for i := range looks {
		if err := a.reportLook(&looks[i], next); err != nil {
			return err
		}
	}
	return nil
}

// addLooks adds the looks at the suspects of an item to looks, if the audit includes the item.
func (a *auditRun) addLooks(looks []look, it *Item, suspects []*suspect) []look {
	if it.Err != nil {
		for _, s := range suspects {
			looks = append(looks, look{suspect: s, undecodable: it.Err})
		}
		return looks
	}
	if !a.includesItem(&it.Change) {
		return looks
	}
	if a.o.Items == nil && a.work.Round == 0 && !it.Change.Removed() {
		a.work.Tally.Items++
	}
	if a.isNamed() && a.work.Round == 0 {
		a.addNotes(&it.Change, suspects)
	}
	for _, s := range suspects {
		looks = append(looks, look{suspect: s, change: &it.Change})
	}
	return looks
}

// lookAtAll looks at several suspects concurrently.
func (a *auditRun) lookAtAll(ctx context.Context, looks []look) {
	var workers sync.WaitGroup
	queue := make(chan *look, len(looks))
	for i := range looks {
		queue <- &looks[i]
	}
	close(queue)
	for range min(a.o.Parts*4, len(looks)) {
		workers.Go(func() {
			for l := range queue {
				a.lookAt(ctx, l)
			}
		})
	}
	workers.Wait()
}

// lookAt compares a suspect with its item, and sets the findings or the error of the look.
func (a *auditRun) lookAt(ctx context.Context, l *look) {
	if l.undecodable != nil {
		l.findings = []audit.Finding{{Item: l.item, Verdict: audit.Skipped,
			Reason: "the item cannot be decoded: " + l.undecodable.Error()}}
		return
	}
	l.err = a.o.Budget.retryThrottled(ctx, func() (err error) {
		l.findings, err = a.o.Sinks[l.sink].Compare(ctx, l.change, l.places)
		if err == nil && l.change != nil && a.isNamed() {
			err = a.lookShares(ctx, l)
		}
		return err
	})
}

// keepDifferences drops the findings that are equal, or rightly wait. Without the item, it is unknown whether a place
// is extra, or belongs to a new item.
func (l *look) keepDifferences() {
	l.looked = len(l.findings)
	l.findings = slices.DeleteFunc(l.findings, func(f audit.Finding) bool {
		return f.Verdict == audit.Equal || f.Verdict == audit.Waiting
	})
	for i := range l.findings {
		if f := &l.findings[i]; l.item == "" && f.Verdict.Differs() {
			f.Underlying, f.Verdict, f.Reason = f.Verdict, audit.Skipped,
				"nothing tells which item it was made of; if a later audit finds it again, no item has it"
		}
	}
}

// findMoved reads the items with findings once more, and sets moved for those that changed. The item of a look was read
// before its places. It may have changed before the places were read, and back before the next round. So an equal item
// in two rounds proves nothing unless the item was also read after its places.
func (a *auditRun) findMoved(ctx context.Context, looks []look) error {
	if a.o.NoWriters {
		return nil
	}
	var found []*look
	var keys []item.Key
	for i := range looks {
		if l := &looks[i]; l.change != nil && len(l.findings) > 0 {
			found = append(found, l)
			if !slices.Contains(keys, l.item) {
				keys = append(keys, l.item)
			}
		}
	}
	changes, err := a.o.Lookup.Read(ctx, keys)
	if err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	for _, l := range found {
		l.moved = !changes[slices.Index(keys, l.item)].sameAs(l.change)
	}
	return nil
}

// includesItem reports whether the audit includes an item. It includes a removed item, because it is unknown whether
// the condition was true for it. It also includes an item if the condition fails.
func (a *auditRun) includesItem(c *record.Change) bool {
	if a.o.ItemCondition == nil || c.Removed() {
		return true
	}
	selected, err := a.o.ItemCondition.Match(c)
	return selected || err != nil
}

// reportLook reports the findings of a look, or leaves them to the next round.
func (a *auditRun) reportLook(l *look, next *spool) error {
	_, isDamaged := errors.AsType[*state.DamagedError](l.err) // others can be read
	switch {
	case state.IsPermanent(l.err) || isDamaged:
		l.findings = []audit.Finding{{Item: l.item, Verdict: audit.Skipped, Reason: l.err.Error()}}
	case l.err != nil:
		return fmt.Errorf("%s: %w", a.o.Sinks[l.sink].Name(), l.err)
	}
	a.recheckedCount++
	a.progress.Update(a.recheckedCount, a.work.Tally.Suspects)
	if a.isWithoutJoin() && a.work.Round == 0 {
		a.work.Tally.Sinks[l.sink].Compared += int64(l.looked)
	}
	if len(l.findings) == 0 {
		a.countSettled()
		return nil
	}
	digest, err := l.digest()
	if err != nil {
		return err
	}
	if l.moved {
		l.lastFindings, digest = [16]byte{}, [16]byte{1} // these findings are the first of two, whatever the next round sees
	}
	if !a.isSettled(l, digest) {
		if isLastRound := a.work.Round >= a.o.MaxLooks; !isLastRound {
			if a.work.Round == 0 {
				a.changing++
			}
			l.lastFindings = digest
			return next.add(l.hash(), l.appendTo(nil))
		}
		l.setBusy()
	}
	a.countSettled()
	for i := range l.findings {
		if a.isRepeated(l.sink, &l.findings[i]) {
			continue
		}
		if err := a.reportFinding(l.sink, &l.findings[i]); err != nil {
			return err
		}
	}
	return nil
}

// isSettled reports whether a look needs no other one: a change in flight cannot explain its findings, or they are the
// same as in the round before.
func (a *auditRun) isSettled(l *look, digest [16]byte) bool {
	if a.o.NoWriters && l.findings[0].Verdict != audit.Busy {
		return true
	}
	isSame := a.work.Round > 0 && digest == l.lastFindings
	return isSame || !slices.ContainsFunc(l.findings, func(f audit.Finding) bool {
		return mayMove(&f) || f.Verdict == audit.Busy
	})
}

// setBusy makes the findings Busy that a change in flight may explain.
func (l *look) setBusy() {
	for i := range l.findings {
		if mayMove(&l.findings[i]) {
			l.findings[i].Verdict = audit.Busy
		}
	}
}

// mayMove reports whether a finding is a difference, also one that a dead letter explains: a change in flight may
// explain it better.
func mayMove(f *audit.Finding) bool {
	return f.Verdict.Differs() || f.Verdict == audit.Held && f.Underlying.Differs()
}

// countSettled counts a suspect that needs no further comparison.
func (a *auditRun) countSettled() {
	if a.work.Round > 0 {
		a.changing--
	}
}

// digest identifies the result of a look: the item, and the differences with their places and versions.
func (l *look) digest() ([16]byte, error) {
	b, err := json.Marshal(l.findings)
	if err != nil {
		return [16]byte{}, err
	}
	if l.change != nil {
		b = l.change.New.AppendDynamoDBJSON(b)
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16]), nil
}

// groupPlace is the place of a group that differs from the sum of the contributions that were read.
type groupPlace struct {
	Sink  int
	Place []byte // JSON writes it as base64, because a place is not text
}
