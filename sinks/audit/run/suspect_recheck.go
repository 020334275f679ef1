package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
)

// itemsPerRead is the number of items that a recheck reads together.
const itemsPerRead = 100

// recheckSuspects compares the suspects in rounds, and begins the phase recheckGroups.
//
// Rounds continue until the findings of each suspect are settled. A difference is settled if two consecutive rounds
// find the same item and the same places, with the same versions. Between two rounds, the audit waits until every
// consumer has passed the end of the first of them.
func (a *auditRun) recheckSuspects(ctx context.Context) error {
	for {
		foundSuspects, err := a.recheckRound(ctx)
		if err != nil {
			return err
		}
		if !foundSuspects {
			a.work.Phase = recheckGroups
			return a.saveProgress()
		}
	}
}

// recheckRound compares the suspects that the previous round left open. In the first round these are the suspects of
// the join. recheckRound returns false if there are none.
func (a *auditRun) recheckRound(ctx context.Context) (foundSuspects bool, err error) {
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
		return false, errors.Join(open.remove(), next.remove())
	}

	if err := a.recheckFiles(ctx, open, next); err != nil {
		return false, err
	}
	lengths, err := next.flush()
	if err != nil {
		return false, err
	}
	a.work.Open, a.work.Next, a.work.File, a.work.LastRoundEnd = lengths, nil, 0, time.Now()
	a.work.Round++
	if err := a.saveProgress(); err != nil {
		return false, err // the stored progress names the files of open
	}
	return true, open.remove()
}

// recheckFiles compares the suspects of the files from work.File on. Before the first file of a later round, it waits
// for the consumers.
func (a *auditRun) recheckFiles(ctx context.Context, open, next *spool) error {
	if a.work.Round > 0 && a.work.File == 0 {
		if err := a.o.WaitForConsumers(ctx, a.work.LastRoundEnd); err != nil {
			return err
		}
	}
	for a.work.File < spoolFiles {
		if err := a.recheckFile(ctx, open, next); err != nil {
			return err
		}
		a.work.File++
		if err := a.checkpointIfDue(next, &a.work.Next); err != nil {
			return err
		}
	}
	return nil
}

// suspectID identifies suspects that are compared together.
type suspectID struct {
	sink  int
	item  item.Key
	place string // the place, if the item is unknown; otherwise ""
}

// recheckFile compares the suspects of the present file.
func (a *auditRun) recheckFile(ctx context.Context, open, next *spool) error {
	byItem, err := a.readSuspects(open)
	if err != nil {
		return err
	}
	a.moveGroups(byItem)
	keys := slices.Sorted(maps.Keys(byItem))
	for chunk := range slices.Chunk(keys, itemsPerRead) {
		if err := a.recheckItems(ctx, chunk, byItem, next); err != nil {
			return err
		}
		a.o.WaitForStream(ctx)
	}
	return context.Cause(ctx)
}

// readSuspects reads the suspects of the present file. It merges the suspects of one item in one sink, and drops
// duplicate places.
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

	comparePlaces := func(x, y audit.Entry) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Place, y.Place))
	}
	byItem = make(map[item.Key][]*suspect)
	for _, s := range all {
		slices.SortFunc(s.places, comparePlaces)
		s.places = slices.CompactFunc(s.places, func(x, y audit.Entry) bool { return comparePlaces(x, y) == 0 })
		byItem[s.item] = append(byItem[s.item], s)
	}
	return byItem, nil
}

// moveGroups moves the places of groups from byItem to work.Groups, because a later phase compares groups with the sums
// of their contributions. A group belongs to no single item: its key in byItem is "".
func (a *auditRun) moveGroups(byItem map[item.Key][]*suspect) {
	isGroup := func(place audit.Entry) bool { return place.Kind == audit.Group }
	var remaining []*suspect
	for _, s := range byItem[""] {
		for _, place := range s.places {
			if isGroup(place) {
				a.work.Groups = append(a.work.Groups, groupPlace{s.sink, []byte(place.Place)})
			}
		}
		s.places = slices.DeleteFunc(s.places, isGroup)
		if len(s.places) > 0 {
			remaining = append(remaining, s)
		}
	}
	if len(remaining) > 0 {
		byItem[""] = remaining
	} else {
		delete(byItem, "")
	}
}

// recheckItems compares the suspects of the items with the given keys, several concurrently. It handles the results in
// the order of keys, and adds the suspects to compare again to next.
func (a *auditRun) recheckItems(
	ctx context.Context, keys []item.Key, byItem map[item.Key][]*suspect, next *spool,
) error {
	var checks []suspectCheck
	if keys[0] == "" { // the suspects whose item is unknown
		for _, s := range byItem[""] {
			checks = append(checks, suspectCheck{suspect: s})
		}
		keys = keys[1:]
	}
	items, err := a.o.Lookup.Read(ctx, keys)
	if err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	for i, key := range keys {
		checks = a.addChecks(checks, &items[i], byItem[key])
	}

	a.runChecks(ctx, checks)
	if err := a.markStale(ctx, checks); err != nil {
		return err
	}
	for i := range checks {
		checks[i].keepDifferences()
	}
	if err := a.findMoved(ctx, checks); err != nil {
		return err
	}
	for i := range checks {
		if err := a.reportCheck(&checks[i], next); err != nil {
			return err
		}
	}
	return nil
}

// addChecks adds the checks of the suspects of an item to checks, if the audit includes the item.
func (a *auditRun) addChecks(checks []suspectCheck, it *Item, suspects []*suspect) []suspectCheck {
	if it.Err != nil {
		for _, s := range suspects {
			checks = append(checks, suspectCheck{suspect: s, undecodable: it.Err})
		}
		return checks
	}
	if !a.includesItem(&it.Change) {
		return checks
	}
	isFirstRound := a.work.Round == 0
	if isFirstRound && a.o.Items == nil && !it.Change.Removed() {
		a.work.Tally.Items++
	}
	if isFirstRound && a.isNamed() {
		a.addNotes(&it.Change, suspects)
	}
	for _, s := range suspects {
		checks = append(checks, suspectCheck{suspect: s, known: &it.ItemState})
	}
	return checks
}

// includesItem reports whether the audit includes an item. A removed item is included, because it is unknown whether
// the item met the condition. An item is also included if the condition returns an error.
func (a *auditRun) includesItem(c *record.Change) bool {
	if a.o.ItemCondition == nil || c.Removed() {
		return true
	}
	selected, err := a.o.ItemCondition.Match(c)
	return selected || err != nil
}

// groupPlace identifies a group to compare with the sum of its contributions. Sink is an index in Options.Sinks.
type groupPlace struct {
	Sink  int
	Place []byte // JSON writes it as base64, because a place is not text
}
