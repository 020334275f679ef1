package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// ForEach selects the elements of an item. Each of them has its own row or document.
type ForEach struct {
	Path string // of a list or a map
	By   string // a name in an element; "": the position of the element, or its name
	Max  int    // 0: not set
}

// element is one element with its identity.
type element struct {
	id    string
	value sinktest.Attr
}

// elements returns the elements of an item.
func (f *ForEach) elements(it sinktest.Item) ([]element, verdict) {
	var all []element
	switch v := it[f.Path]; tag(v) {
	case "", "NULL":
		return nil, found
	case "L":
		for i, e := range v["L"].([]sinktest.Attr) {
			all = append(all, element{fmt.Sprint(i), e})
		}
	case "M":
		for _, name := range slices.Sorted(maps.Keys(members(v))) {
			all = append(all, element{name, members(v)[name]})
		}
	case "SS":
		for _, text := range v["SS"].([]string) {
			all = append(all, element{text, sinktest.Attr{"S": text}})
		}
		if f.By != "" {
			return nil, failed
		}
	default:
		return nil, failed
	}
	if f.Max > 0 && len(all) > f.Max || len(all) > 500 {
		return nil, failed
	}
	if f.By != "" && !identify(all, f.By) {
		return nil, failed
	}
	seen := map[string]bool{}
	for _, e := range all {
		if e.id != "" && seen[e.id] {
			return nil, failed
		}
		seen[e.id] = true
	}
	return all, found
}

// identify sets the identity of each element to the text of its member name. It returns false if one has another type.
func identify(all []element, name string) bool {
	for i := range all {
		text, ok := plainText(members(all[i].value)[name])
		if !ok {
			return false
		}
		all[i].id = text
	}
	return true
}

// meets evaluates the conditions of the item and of the element. If whenEach is nil, the caller has evaluated when
// before.
func meets(when, whenEach *Condition, it sinktest.Item, e element) verdict {
	if whenEach == nil {
		return found
	}
	if when != nil && when.Op == "of" { // it is evaluated first
		if is := when.Of.has(it); is != found {
			return is
		}
		if inner := when.Inner; inner != nil {
			when = &inner[0]
		} else {
			when = nil
		}
	}
	of := whenEach.eval(members(e.value))
	if t := tag(e.value); t != "M" && t != "NULL" { // a path in such a value is an error
		of = failed
	}
	is := holds(when, it)
	switch {
	case is == missing || of == missing:
		return missing
	case is == failed || of == failed:
		return failed
	}
	return found
}

// chosen returns the elements of an item that have an identity and meet both conditions.
func (f *ForEach) chosen(when, whenEach *Condition, it sinktest.Item) (some []element, is verdict) {
	if whenEach == nil {
		if is := holds(when, it); is != found {
			return nil, is
		}
	}
	all, is := f.elements(it)
	if is != found {
		return nil, is
	}
	for _, e := range all {
		if e.id == "" {
			continue
		}
		switch meets(when, whenEach, it, e) {
		case found:
			some = append(some, e)
		case failed:
			return nil, failed
		}
	}
	return some, found
}

// elementRows returns the rows of the elements of an item.
func (v *View) elementRows(key string, it sinktest.Item) ([]sinktest.Item, verdict) {
	if it == nil {
		return nil, found
	}
	all, is := v.ForEach.chosen(v.When, v.WhenEach, it)
	if is != found {
		return nil, is
	}
	var rows []sinktest.Item
	names := map[string]bool{}
	for _, e := range all {
		row, is := v.columns(scope{key: key, item: it, each: e.value, id: e.id})
		if is == failed {
			return nil, failed
		}
		if is == missing {
			continue
		}
		if names[RowName("", row)] {
			return nil, failed
		}
		names[RowName("", row)] = true
		rows = append(rows, row)
	}
	return rows, found
}

// rowsOfElements returns the rows of a view with ForEach. Each item has the rows of its newest change.
func (v *View) rowsOfElements(sink string, cs []change, count *Count) State {
	s := newState()
	count.ByState = true
	newest, rows := map[string]string{}, map[string][]sinktest.Item{}
	for _, c := range cs {
		now, is := v.elementRows(c.key, c.New)
		if is == failed {
			s.requireLetter(sink, c, count)
			now = nil
		}
		if c.version > newest[c.key] {
			newest[c.key], rows[c.key] = c.version, now
		}
	}
	for _, all := range rows {
		for _, row := range all {
			s.put(v.Table, row)
		}
	}
	return s
}
