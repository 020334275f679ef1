package run

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
)

// splitAbove is the size above which a file of entries is divided into smaller files before the join. A join needs
// about three times as much memory as the file is long.
const splitAbove = 8 << 20

// placeID identifies a place in the audited sinks.
type placeID struct {
	sink  int
	kind  audit.Kind
	place string
}

// comparison has both sides of a place: the required entries, and the stored entries. There may be several required
// entries, because several items may claim a row.
type comparison struct {
	expected, stored []sideEntry
	shares           audit.Digest // for a group: the sum of the digests of its parts
	latestOwns       bool         // the item of the latest claim should own the place, see [audit.Entry]

	firstExpected, firstStored [1]sideEntry // memory for one entry on each side; most places have no more
}

// sideEntry is the part of an entry that a comparison needs.
type sideEntry struct {
	item    item.Key
	digest  audit.Digest
	claimed bool
}

// joiner compares the required entries with the stored entries.
type joiner struct {
	run           *auditRun
	finished      map[int]bool // numbers of the readings that reached the end of their segment
	suspects      *spool
	sampledGroups map[placeID]bool // groups of the present file that are suspects, in the audit of a sample
	buf           []byte
}

func newJoiner(run *auditRun, suspects *spool) *joiner {
	j := &joiner{run: run, finished: make(map[int]bool), suspects: suspects, sampledGroups: make(map[placeID]bool)}
	for _, reading := range run.work.Read {
		j.finished[reading] = true
	}
	return j
}

// join compares the places in one of the files of entries. depth is the number of times that the file was divided.
func (j *joiner) join(entries *spool, file, depth int) error {
	if entries.lengths[file] > splitAbove && depth < 4 {
		return j.splitFile(entries, file, depth)
	}
	clear(j.sampledGroups) // all entries of a group are in one file
	all := comparisons{byPlace: make(map[placeID]*comparison, entries.lengths[file]/(2*usualEntryBytes))}
	err := entries.each(file, func(record []byte) error {
		e, err := parseEntry(record)
		if err != nil {
			return err
		}
		if e.unjoined {
			return j.addUnjoined(&e)
		}
		if !e.stored || j.finished[e.reading] {
			all.add(&e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, c := range all.byPlace {
		j.run.work.Tally.Sinks[id.sink].Compared++
		if c.isEqual(id.kind) {
			continue
		}
		for _, s := range c.suspects(id) {
			if err := j.add(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// comparisons has the comparisons of one file of entries. It allocates comparisons in blocks.
type comparisons struct {
	byPlace map[placeID]*comparison
	next    []comparison
}

// add adds an entry to the comparison of its place.
func (cs *comparisons) add(e *spooledEntry) {
	id := placeID{e.sink, e.Kind, e.Place}
	c := cs.byPlace[id]
	if c == nil {
		c = cs.newComparison()
		cs.byPlace[id] = c
	}
	side := sideEntry{e.Item, e.Digest, e.Claimed}
	switch {
	case e.Share:
		c.shares = audit.AddDigests(c.shares, e.Digest)
	case e.stored:
		c.stored = append(c.stored, side)
	default:
		c.expected = append(c.expected, side)
		c.latestOwns = c.latestOwns || e.LatestOwns
	}
}

// newComparison returns a comparison without entries.
func (cs *comparisons) newComparison() *comparison {
	if len(cs.next) == 0 {
		cs.next = make([]comparison, 256)
	}
	c := &cs.next[0]
	cs.next = cs.next[1:]
	c.expected, c.stored = c.firstExpected[:0], c.firstStored[:0]
	return c
}

// addUnjoined adds the suspect of an entry that is not joined. The audit of a sample joins no entries, and neither does
// an audit of given suspects. A sample leaves out a place whose item is unknown, unless the place is a group.
func (j *joiner) addUnjoined(e *spooledEntry) error {
	isSample, isGiven := j.run.o.Sample != nil, j.run.o.Items == nil
	if isSample && e.Kind == audit.Group {
		return j.addSampledGroup(e)
	}
	if isSample && e.Item == "" {
		return nil
	}
	s := suspect{sink: e.sink, item: e.Item}
	isInPlan := !e.stored && !isGiven // the recheck finds a required place by the plan of the item
	if e.Place != "" && !isInPlan {
		s.places = []audit.Entry{{Kind: e.Kind, Place: e.Place}}
	}
	return j.add(s)
}

// addSampledGroup adds the group of an entry as a suspect, unless it was added before.
func (j *joiner) addSampledGroup(e *spooledEntry) error {
	id := placeID{e.sink, e.Kind, e.Place}
	if j.sampledGroups[id] {
		return nil
	}
	j.sampledGroups[id] = true
	return j.add(suspect{sink: e.sink, places: []audit.Entry{{Kind: e.Kind, Place: e.Place}}})
}

// suspects returns the suspects of a place that is not equal: the items to compare again, or the group.
func (c *comparison) suspects(id placeID) (suspects []suspect) {
	places := []audit.Entry{{Kind: id.kind, Place: id.place}}
	if id.kind == audit.Group {
		return []suspect{{sink: id.sink, places: places}}
	}
	owner := c.owner()
	if owner != nil {
		suspects = append(suspects, suspect{sink: id.sink, item: owner.item})
	}
	for _, e := range c.expected {
		mayWait := e.claimed && !c.latestOwns
		if e.item != owner.item && !mayWait {
			suspects = append(suspects, suspect{sink: id.sink, item: e.item})
		}
	}
	for _, stored := range c.stored {
		isReplaced := owner != nil && c.ownerReplaces(id.kind, owner, stored.item)
		if !isReplaced {
			suspects = append(suspects, suspect{sink: id.sink, item: stored.item, places: places})
		}
	}
	return suspects
}

// ownerReplaces reports whether a repair that writes the owner's entry to the place also removes the entry that the
// place holds now. stored is the item of the entry that the place holds now.
func (c *comparison) ownerReplaces(kind audit.Kind, owner *sideEntry, stored item.Key) bool {
	switch {
	case stored == "": // the item is unknown
		return true
	case !owner.claimed:
		return stored != owner.item
	case kind != audit.Row:
		return false
	}
	mayClaim := slices.ContainsFunc(c.expected, func(e sideEntry) bool { return e.item == stored })
	return !mayClaim
}

// owner returns the entry of the item that should own the place; nil if there is none. If several items claim the
// place, the item with the smallest key owns it. If several items without a claim require the place, the item whose
// entry is stored there owns it.
func (c *comparison) owner() *sideEntry {
	var owner *sideEntry
	for i := range c.expected {
		e := &c.expected[i]
		isStored := len(c.stored) > 0 && e.item == c.stored[0].item
		switch {
		case owner == nil:
			owner = e
		case e.claimed && e.item < owner.item:
			owner = e
		case !e.claimed && isStored:
			owner = e
		}
	}
	return owner
}

// isEqual reports whether the place holds the required entry. A place without required entries must hold none.
func (c *comparison) isEqual(kind audit.Kind) bool {
	if kind == audit.Group {
		var stored audit.Digest // zero: no group is stored
		if n := len(c.stored); n > 0 {
			stored = c.stored[n-1].digest
		}
		return stored == c.shares
	}
	if len(c.expected) == 0 || len(c.stored) == 0 {
		return len(c.expected) == len(c.stored)
	}
	if c.latestOwns && len(c.expected) > 1 {
		return false // the join does not know which of the claims is the latest
	}
	owner, isStored := c.owner(), false
	for i := range c.expected {
		e := &c.expected[i]
		switch {
		case e.item == owner.item:
			isStored = isStored || c.stores(e.digest)
		case !e.claimed: // two items require the place, and only one can have it
			return false
		}
	}
	return isStored
}

// stores reports whether a stored entry has the digest.
func (c *comparison) stores(digest audit.Digest) bool {
	return slices.ContainsFunc(c.stored, func(stored sideEntry) bool { return stored.digest == digest })
}

// add adds a suspect to the spool of the first round.
func (j *joiner) add(s suspect) error {
	j.run.work.Tally.Suspects++
	j.buf = s.appendTo(j.buf[:0])
	return j.suspects.add(s.hash(), j.buf)
}

// splitFile divides a file by other bits of the hash, and joins each of the new files.
func (j *joiner) splitFile(entries *spool, file, depth int) error {
	parts, err := openSpool(filepath.Join(entries.dir, fmt.Sprintf("%02x.parts", file)), nil)
	if err != nil {
		return err
	}
	defer func() { _ = parts.remove() }()
	err = entries.each(file, func(record []byte) error {
		e, err := parseEntry(record)
		if err != nil {
			return err
		}
		return parts.add(e.hash()>>(8*(depth+1)), record)
	})
	if err != nil {
		return err
	}
	if _, err := parts.flush(); err != nil {
		return err
	}
	for part := range spoolFiles {
		if err := j.join(parts, part, depth+1); err != nil {
			return err
		}
	}
	return nil
}
