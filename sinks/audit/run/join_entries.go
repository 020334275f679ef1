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
	isGroup          bool
	first            [2]sideEntry // memory for the first entry of each side
}

// sideEntry is the part of an entry that a comparison needs.
type sideEntry struct {
	item    item.Key
	digest  audit.Digest
	claimed bool
}

// joiner compares the required entries with the stored entries.
type joiner struct {
	a        *auditRun
	finished map[int]bool // readings of segments that are complete; the join ignores the entries of other readings
	suspects *spool
	groups   map[placeID]bool // in the audit of a sample: groups of the present file that are added
	buf      []byte
}

func newJoiner(a *auditRun, suspects *spool) *joiner {
	j := &joiner{a: a, finished: make(map[int]bool), suspects: suspects, groups: make(map[placeID]bool)}
	for _, reading := range a.work.Read {
		j.finished[reading] = true
	}
	return j
}

// join compares the places in file i of entries.
func (j *joiner) join(entries *spool, i, depth int) error {
	if entries.lengths[i] > splitAbove && depth < 4 {
		return j.splitFile(entries, i, depth)
	}
	clear(j.groups) // all entries of a group are in one file
	all := comparisons{byPlace: make(map[placeID]*comparison, entries.lengths[i]/(2*usualEntryBytes))}
	err := entries.each(i, func(record []byte) error {
		e, err := parseEntry(record)
		switch {
		case err != nil:
			return err
		case e.suspect:
			return j.addWithoutComparison(&e)
		case !e.stored || j.finished[e.reading]:
			all.add(&e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, p := range all.byPlace {
		j.a.work.Tally.Sinks[id.sink].Compared++
		if p.isEqual() {
			continue
		}
		if err := j.addSuspects(id, p); err != nil {
			return err
		}
	}
	return nil
}

// comparisons has the comparisons of one file of entries. It allocates comparisons in blocks.
type comparisons struct {
	byPlace map[placeID]*comparison
	next    []comparison
}

// comparisonOf returns the comparison of an entry's place.
func (ps *comparisons) comparisonOf(e *spooledEntry) *comparison {
	id := placeID{e.sink, e.Kind, e.Place}
	p := ps.byPlace[id]
	if p == nil {
		if len(ps.next) == 0 {
			ps.next = make([]comparison, 256)
		}
		p, ps.next = &ps.next[0], ps.next[1:]
		p.expected, p.stored = p.first[:0:1], p.first[1:1:2]
		ps.byPlace[id] = p
	}
	return p
}

// add adds an entry to the comparison of its place.
func (ps *comparisons) add(e *spooledEntry) {
	p := ps.comparisonOf(e)
	s := sideEntry{e.Item, e.Digest, e.Claimed}
	switch {
	case e.Share:
		p.shares, p.isGroup = audit.AddDigests(p.shares, e.Digest), true
	case e.stored:
		p.stored = append(p.stored, s)
	default:
		p.expected = append(p.expected, s)
	}
	p.isGroup = p.isGroup || e.Kind == audit.Group
}

// addWithoutComparison adds a place that is looked at without a comparison. A sample has the groups that it lists, and
// those that its contributions count in, but no other places of unknown items.
func (j *joiner) addWithoutComparison(e *spooledEntry) error {
	s := suspect{sink: e.sink, item: e.Item}
	switch {
	case j.a.o.Sample == nil:
	case e.Kind == audit.Group:
		id := placeID{e.sink, e.Kind, e.Place}
		if j.groups[id] {
			return nil
		}
		j.groups[id] = true
		return j.add(suspect{sink: e.sink, places: []audit.Entry{{Kind: e.Kind, Place: e.Place}}})
	case e.Item == "":
		return nil
	}
	if e.Place != "" && (e.stored || j.a.o.Items == nil) {
		s.places = []audit.Entry{{Kind: e.Kind, Place: e.Place}}
	}
	return j.add(s)
}

// addSuspects adds the items to compare again because of a place that is not equal.
func (j *joiner) addSuspects(id placeID, p *comparison) error {
	places := []audit.Entry{{Kind: id.kind, Place: id.place}}
	if p.isGroup {
		return j.add(suspect{sink: id.sink, places: places})
	}
	owner := p.owner()
	if owner != nil {
		if err := j.add(suspect{sink: id.sink, item: owner.item}); err != nil {
			return err
		}
	}
	for _, e := range p.expected {
		if e.claimed || e.item == owner.item {
			continue // a waiting claim does not have to own the place
		}
		if err := j.add(suspect{sink: id.sink, item: e.item}); err != nil {
			return err
		}
	}
	for _, s := range p.stored {
		if owner != nil && p.isRepairedByOwner(id.kind, owner, s.item) {
			continue // the recheck looks at the place with the item that should own it
		}
		if err := j.add(suspect{sink: id.sink, item: s.item, places: places}); err != nil {
			return err
		}
	}
	return nil
}

// isRepairedByOwner reports whether the write that repairs a place for its owner also removes what another item, or an
// unknown one, has there.
func (p *comparison) isRepairedByOwner(kind audit.Kind, owner *sideEntry, stored item.Key) bool {
	if stored == "" || !owner.claimed && stored != owner.item {
		return true
	}
	return kind == audit.Row && !slices.ContainsFunc(p.expected, func(e sideEntry) bool { return e.item == stored })
}

// owner returns the entry of the item that should own the place; nil if there is none. Of several claims, the smallest
// key owns it. Of several items without a claim, the one that is stored there owns it.
func (p *comparison) owner() *sideEntry {
	var owner *sideEntry
	for i := range p.expected {
		e := &p.expected[i]
		switch {
		case owner == nil, e.claimed && e.item < owner.item:
			owner = e
		case !e.claimed && len(p.stored) > 0 && e.item == p.stored[0].item:
			owner = e
		}
	}
	return owner
}

// isEqual reports whether the place holds the required entry.
func (p *comparison) isEqual() bool {
	if p.isGroup {
		var stored audit.Digest
		for _, s := range p.stored {
			stored = s.digest
		}
		return stored == p.shares
	}
	owner := p.owner()
	if owner == nil || len(p.stored) == 0 {
		return owner == nil && len(p.stored) == 0
	}
	if slices.ContainsFunc(p.expected, func(e sideEntry) bool { return !e.claimed && e.item != owner.item }) {
		return false // two items require the place without a claim, and the other one cannot have it
	}
	return slices.ContainsFunc(p.expected, func(e sideEntry) bool {
		return e.item == owner.item &&
			slices.ContainsFunc(p.stored, func(s sideEntry) bool { return s.digest == e.digest })
	})
}

// add adds a suspect to the spool of the first round.
func (j *joiner) add(s suspect) error {
	j.a.work.Tally.Suspects++
	j.buf = s.appendTo(j.buf[:0])
	return j.suspects.add(s.hash(), j.buf)
}

// splitFile divides a file by other bits of the hash, and joins each of the new files.
func (j *joiner) splitFile(entries *spool, i, depth int) error {
	parts, err := openSpool(filepath.Join(entries.dir, fmt.Sprintf("%02x.parts", i)), nil)
	if err != nil {
		return err
	}
	defer func() { _ = parts.remove() }()
	err = entries.each(i, func(record []byte) error {
		e, err := parseEntry(record)
		if err != nil {
			return err
		}
		return parts.add(e.hash()>>(8*(depth+1)), record)
	})
	if err == nil {
		_, err = parts.flush()
	}
	for part := 0; err == nil && part < buckets; part++ {
		err = j.join(parts, part, depth+1)
	}
	return err
}
