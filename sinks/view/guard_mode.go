package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GuardMode says how a view protects a row from late changes of its item and from changes of other items. Either each
// row guards itself by its version, or each item has a guard, which is a stored record of its version and row
// (state.Guard).
type GuardMode struct {
	ByItem bool   // each item has a guard; otherwise each row guards itself
	Why    string // reason for the mode, as explain shows it
}

// The modes with their reasons. The mode depends on the templates of the row key. With |esc it also depends on the
// names of the table's key attributes, which never change. So the mode of a view never changes.
var (
	uniqueByItemKey     = GuardMode{Why: "{@key} is in this key"}
	uniqueByNames       = GuardMode{Why: "the names that identify the item are in this key"}
	uniqueByEscapedKeys = GuardMode{Why: "the item's key attributes are in this key"}

	rowsOfElements = GuardMode{ByItem: true, Why: "the item and the element are in this key"}

	severalItems    = GuardMode{ByItem: true, Why: "several items may have this key"}
	ambiguousKey    = GuardMode{ByItem: true, Why: "parts of this key could run together, so several items may have it"}
	severalTables   = GuardMode{ByItem: true, Why: "items of several tables may have this key"}
	keyPartsMissing = GuardMode{ByItem: true,
		Why: "not every key attribute of the item is in this key, so several items may have it"}
)

// guardMode returns the mode that the templates of the row key allow. If escapedKeys is nil, every item has this mode.
// Otherwise the mode is uniqueByEscapedKeys, for the items whose key attributes are all in escapedKeys.
func (o Options) guardMode() (mode GuardMode, escapedKeys []string) {
	key := o.key()
	switch {
	case slices.ContainsFunc(key, func(a Attribute) bool { return a.Template.HasKey() }):
		return uniqueByItemKey, nil
	case o.namesIdentifyItem():
		return uniqueByNames, nil
	case slices.ContainsFunc(key, func(a Attribute) bool { return a.Template.Ambiguous() }):
		return ambiguousKey, nil
	}

	for _, a := range key {
		for _, path := range a.Template.EscPaths() {
			if name := wholeAttribute(path); name != "" {
				escapedKeys = append(escapedKeys, name)
			}
		}
	}
	if escapedKeys == nil {
		return severalItems, nil
	}
	return uniqueByEscapedKeys, escapedKeys
}

// namesIdentifyItem reports whether the row key has all names of Unique, and Collision is the default. With any other
// rule for collisions, items need guards.
func (o Options) namesIdentifyItem() bool {
	deadLetters := cmp.Or(o.Collision, DeadLetterCollision) == DeadLetterCollision
	if len(o.Unique) == 0 || !deadLetters {
		return false
	}

	var bound []string
	for _, a := range o.key() {
		bound = append(bound, a.Template.BoundNames()...)
	}
	isMissing := func(name string) bool { return !slices.Contains(bound, name) }
	return !slices.ContainsFunc(o.Unique, isMissing)
}

// GuardMode returns the mode for the row of the change's item. All items of a table have the same mode.
func (s *Sink) GuardMode(c *record.Change) GuardMode {
	if s.guardModeFixed {
		return s.guardMode
	}
	mode, _ := s.escapedKeysMode(c)
	return mode
}

// escapedKeysMode returns the mode for a row key that escapes attributes: uniqueByEscapedKeys, severalTables or
// keyPartsMissing. For keyPartsMissing it also returns a key attribute of the item that the row key does not escape.
func (s *Sink) escapedKeysMode(c *record.Change) (mode GuardMode, missing string) {
	if strings.Contains(string(c.Key), "!") { // it begins with the name of its table
		return severalTables, ""
	}
	for name := range c.Keys.All() {
		if !slices.Contains(s.escapedKeys, name) {
			return keyPartsMissing, name
		}
	}
	return uniqueByEscapedKeys, ""
}

// wholeAttribute returns the name of the attribute that a path selects, without brackets and quotes. It returns "" if
// the path selects a part of an attribute.
func wholeAttribute(path string) string {
	p, err := item.ParsePath(path)
	if err != nil {
		return ""
	}
	name := p.Root()
	if path == name || path == `["`+name+`"]` {
		return name
	}
	return ""
}
