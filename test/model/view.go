package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// GuardsItself reports whether the item's key can be read from the row's key: it holds {@key}, every key attribute with
// |esc, or the names that are declared to identify it.
func (v *View) GuardsItself() bool {
	return v.Unique || slices.ContainsFunc(slices.Concat(v.PK, v.SK), func(p Part) bool {
		return p.Key || len(p.Funcs) == 1 && p.Funcs[0].Name == "esc" // Configs escapes all of them or none
	})
}

// fixed reports whether the key of an item alone gives the key of its row.
func (v *View) fixed() bool {
	return !slices.ContainsFunc(slices.Concat(v.PK, v.SK), func(p Part) bool { return len(p.Path) > 0 })
}

// row returns the row of an item, or nil if the item has no row. It returns failed if the row cannot be made.
func (v *View) row(key string, it sinktest.Item) (sinktest.Item, verdict) {
	if is := holds(v.When, it); is != found {
		return nil, is
	}
	return v.columns(scope{key: key, item: it})
}

// columns returns a whole row.
func (v *View) columns(s scope) (sinktest.Item, verdict) {
	row, is := s.rowKey(v.PK, v.SK)
	if is != found {
		return nil, is
	}
	for _, c := range v.Attributes {
		a, is := c.Value.eval(s)
		if is == failed {
			return nil, failed
		}
		if is == found {
			row[c.Name] = a
		}
	}
	return row, found
}

// ownRows returns the rows of a view whose rows guard themselves. The content of each row follows from the newest
// change that wrote the row or removed it.
func (v *View) ownRows(sink string, cs []change, count *Count) State {
	s, places := newState(), rowPlaces{}
	for _, c := range cs {
		was, isUnknown := v.formerRow(c)
		row, is := v.row(c.key, c.New) // no row if it failed, whatever is wrong with the item
		switch {
		case is == failed || isUnknown:
			s.requireLetter(sink, c, count)
		case row == nil && was == nil:
			count.Idle++
		}
		if row != nil {
			places.write(RowName(v.Table, row), c, row)
		}
		hasLeft := was != nil && (row == nil || RowName("", was) != RowName("", row))
		if hasLeft {
			places.write(RowName(v.Table, was), c, nil)
		}
	}
	for name, items := range places {
		contest := Contest{Rows: map[string]string{}, Older: map[string][]string{}}
		for key, p := range items {
			if p.row == nil {
				contest.None = true
				continue
			}
			s.put(v.Table, p.row)
			letter := LetterName(sink, key, p.version)
			contest.Rows[letter], contest.Older[letter] = sinktest.Canonical(p.row), p.asked
		}
		if len(items) > 1 { // the first item keeps the row, and changes of the others are dead letters
			delete(s.Rows, name)
			s.Contested[name] = contest
		}
	}
	for _, c := range cs {
		for name := range s.Contested {
			if places[name][c.key] != nil {
				s.allowLetter(sink, c)
			}
		}
	}
	count.Collide = v.Unique
	return s
}

// formerRow returns the key of the row that the item of a change may have had; nil if it had none. isUnknown reports
// whether the key cannot be made.
func (v *View) formerRow(c change) (key sinktest.Item, isUnknown bool) {
	switch {
	case holds(v.When, c.Old) != missing: // if it failed, no row was made, and the place stays free if the key is known
		key, is := scope{key: c.key, item: c.Old}.rowKey(v.PK, v.SK)
		return key, is == failed
	case c.mayReplace && v.fixed(): // the row of the expired item is at the same key, if it has a row
		key, _ = scope{key: c.key, item: c.Keys}.rowKey(v.PK, v.SK)
	}
	return key, false
}

// rowPlace is what an item wrote at the key of a row.
type rowPlace struct {
	version string
	row     sinktest.Item // nil if it was removed
	asked   []string      // every row that was written there
}

// rowPlaces has the places by row and by item.
type rowPlaces map[string]map[string]*rowPlace

// write notes that a change writes a row with this name, or removes it if row is nil.
func (ps rowPlaces) write(name string, c change, row sinktest.Item) {
	if ps[name] == nil {
		ps[name] = map[string]*rowPlace{}
	}
	p := ps[name][c.key]
	if p == nil {
		p = &rowPlace{}
		ps[name][c.key] = p
	}
	if p.version <= c.version {
		p.version, p.row = c.version, row
	}
	if row != nil {
		p.asked = append(p.asked, sinktest.Canonical(row))
	}
}

// claim is the request of an item for a row.
type claim struct {
	change
	row sinktest.Item // nil if the item requests no row
}

// before reports whether c owns a row that d also claims. The claim with the smaller key in byte order owns it. Under
// the rule `last`, the claim that changed last owns it.
func (c claim) before(d claim, rule string) bool {
	if rule != "last" {
		return c.key < d.key
	}
	if c.Second != d.Second {
		return c.Second > d.Second
	}
	return strings.Compare(c.version+" "+c.key, d.version+" "+d.key) > 0
}

// owners returns the claims that own their rows, by row.
func (v *View) owners(claims map[string]claim) map[string]claim {
	owners := map[string]claim{}
	for _, c := range claims {
		if c.row == nil {
			continue
		}
		name := RowName(v.Table, c.row)
		if have, taken := owners[name]; !taken || c.before(have, v.Collision) {
			owners[name] = c
		}
	}
	return owners
}

// sharedRows returns the rows of a view that is guarded by item. If several items claim a row in the end, one of them
// owns it.
func (v *View) sharedRows(sink string, cs []change, count *Count) State {
	s := newState()
	count.ByState = true
	known := map[string]claim{}               // by item
	everAsked := map[string]map[string]bool{} // the items, by row
	asked := map[string]claim{}               // by item and version
	for _, c := range cs {
		row, is := v.row(c.key, c.New)
		if is == failed { // the item claims no row any more
			s.requireLetter(sink, c, count)
			row = nil
		}
		last, isKnown := known[c.key]
		if row != nil {
			name := RowName(v.Table, row)
			if everAsked[name] == nil {
				everAsked[name] = map[string]bool{}
			}
			everAsked[name][c.key] = true
			asked[c.key+" "+c.version] = claim{c, row}
		}
		isOlder := isKnown && c.version <= last.version
		neverClaimed := !isKnown && row == nil && !c.mayReplace
		if isOlder || neverClaimed {
			continue
		}
		known[c.key] = claim{c, row}
	}
	for _, c := range v.owners(known) {
		s.put(v.Table, c.row)
	}
	if v.Collision == "" || v.Collision == "dead_letter" {
		count.Collide = true
		for _, c := range asked {
			if len(everAsked[RowName(v.Table, c.row)]) > 1 {
				s.allowLetter(sink, c.change)
			}
		}
	}
	return s
}

// Collisions returns the dead letters that must exist after every record was delivered again: one for each item that
// waits for a row that another item owns. Before that, an item that lost its row need not have a dead letter, because
// it depends on the order which claims become dead letters.
func (s Sink) Collisions(source []Filter, records []sinktest.Record) []string {
	if s.View == nil || s.View.ForEach != nil || s.View.GuardsItself() {
		return nil
	}
	hasDeadLetters := s.View.Collision == "" || s.View.Collision == "dead_letter"
	if !hasDeadLetters {
		return nil
	}
	s = s.scoped()
	var letters []string
	known := map[string]claim{}
	for _, r := range records {
		if _, is := passes(source, r); is != found {
			continue
		}
		if _, is := s.takes(r); is != found {
			continue
		}
		c := changeOf(r)
		row, is := s.View.row(c.key, c.New)
		if is == failed {
			row = nil
		}
		if c.version > known[c.key].version {
			known[c.key] = claim{c, row}
		}
	}
	owners := s.View.owners(known)
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if c := known[key]; c.row != nil && owners[RowName(s.View.Table, c.row)].key != key {
			letters = append(letters, LetterName(s.Name, c.key, c.version))
		}
	}
	return letters
}
