package run

import (
	"fmt"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
)

// splitAbove is the size of a file of entries above which it is divided once more: what a join keeps in memory is some
// three times as much.
const splitAbove = 8 << 20

// placeID identifies a place of the audited sinks.
type placeID struct {
	sink  int
	kind  audit.Kind
	place string
}

// place has both sides of a place. Several items may claim it.
type place struct {
	wanted, stored []side
	shares         audit.Digest // sum of the shares of a group
	shared         bool         // the place is a group's
	room           [2]side      // of the first of each
}

type side struct {
	item   item.Key
	digest audit.Digest
	claim  bool
}

// joiner compares the entries that should be there with those that are.
type joiner struct {
	a        *audited
	finished map[int]bool // readings of segments that came to their end: what the others brought does not count
	suspects *spool
	buf      []byte
}

func newJoiner(a *audited, suspects *spool) *joiner {
	j := &joiner{a: a, finished: make(map[int]bool), suspects: suspects}
	for _, reading := range a.work.Read {
		j.finished[reading] = true
	}
	return j
}

// join compares the places of one file of entries.
func (j *joiner) join(entries *spool, i, depth int) error {
	if entries.lengths[i] > splitAbove && depth < 4 {
		return j.split(entries, i, depth)
	}
	places := newPlaces(int(entries.lengths[i] / (2 * usualEntry)))
	err := entries.each(i, func(record []byte) error {
		e, err := parseEntry(record)
		switch {
		case err != nil:
			return err
		case e.suspect:
			return j.addOne(&e)
		case !e.stored || j.finished[e.reading]:
			places.add(&e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, p := range places.byID {
		j.a.work.Tally.Sinks[id.sink].Compared++
		if p.equal() {
			continue
		}
		if err := j.addSuspects(id, p); err != nil {
			return err
		}
	}
	return nil
}

// places are the places of one file of entries. They are made many at a time.
type places struct {
	byID map[placeID]*place
	next []place
}

func newPlaces(expected int) *places {
	return &places{byID: make(map[placeID]*place, expected)}
}

// of returns the place of an entry.
func (ps *places) of(e *spooled) *place {
	id := placeID{e.sink, e.Kind, e.Place}
	p := ps.byID[id]
	if p == nil {
		if len(ps.next) == 0 {
			ps.next = make([]place, 256)
		}
		p, ps.next = &ps.next[0], ps.next[1:]
		p.wanted, p.stored = p.room[:0:1], p.room[1:1:2]
		ps.byID[id] = p
	}
	return p
}

// add adds an entry to its place.
func (ps *places) add(e *spooled) {
	p := ps.of(e)
	s := side{e.Item, e.Digest, e.Claimed}
	switch {
	case e.Share:
		p.shares, p.shared = audit.AddDigests(p.shares, e.Digest), true
	case e.stored:
		p.stored = append(p.stored, s)
	default:
		p.wanted = append(p.wanted, s)
	}
	p.shared = p.shared || e.Kind == audit.Group
}

// addOne adds what is looked at without a comparison. A sample has no groups, since their sums are those of all items, and no
// places of unknown items.
func (j *joiner) addOne(e *spooled) error {
	s := suspect{sink: e.sink, item: e.Item}
	if e.Share || j.a.o.Sample != nil && (e.Kind == audit.Group || e.Item == "") {
		return nil
	}
	if e.Place != "" && (e.stored || j.a.o.Items == nil) {
		s.places = []audit.Entry{{Kind: e.Kind, Place: e.Place}}
	}
	return j.add(s)
}

// addSuspects adds the items of a place that is not as it should be.
func (j *joiner) addSuspects(id placeID, p *place) error {
	at := []audit.Entry{{Kind: id.kind, Place: id.place}}
	if p.shared {
		return j.add(suspect{sink: id.sink, places: at})
	}
	if h := p.holder(); h != nil {
		if err := j.add(suspect{sink: id.sink, item: h.item}); err != nil {
			return err
		}
	}
	for _, s := range p.stored {
		if s.item == "" && p.holder() != nil {
			continue // the judge looks at the place with the item that should have it
		}
		if err := j.add(suspect{sink: id.sink, item: s.item, places: at}); err != nil {
			return err
		}
	}
	return nil
}

// holder returns the side that should have the place; nil if none should. Of several claims the smallest key has it. Of
// items that came to one place without a claim, the one that has it.
func (p *place) holder() *side {
	var holder *side
	for i := range p.wanted {
		w := &p.wanted[i]
		switch {
		case holder == nil, w.claim && w.item < holder.item:
			holder = w
		case !w.claim && len(p.stored) > 0 && w.item == p.stored[0].item:
			holder = w
		}
	}
	return holder
}

// equal reports whether the place holds what it should.
func (p *place) equal() bool {
	if p.shared {
		var stored audit.Digest
		for _, s := range p.stored {
			stored = s.digest
		}
		return stored == p.shares
	}
	holder := p.holder()
	if holder == nil || len(p.stored) == 0 {
		return holder == nil && len(p.stored) == 0
	}
	for _, s := range p.stored {
		for _, w := range p.wanted {
			if w.item == holder.item && w.digest == s.digest {
				return true
			}
		}
	}
	return false
}

// add adds what the judge looks at.
func (j *joiner) add(s suspect) error {
	j.a.work.Tally.Suspects++
	j.buf = s.appendTo(j.buf[:0])
	return j.suspects.add(s.hash(), j.buf)
}

// split divides a file by other bits of the hash, and joins the parts.
func (j *joiner) split(entries *spool, i, depth int) error {
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
