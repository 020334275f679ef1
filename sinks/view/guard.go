package view

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Guard is what keeps a late change of an item from undoing a newer one, and an item
// from taking the row of another.
type Guard struct {
	ByItem bool   // the guard belongs to the item; else each row guards itself
	Why    string // in words, as explain shows them
}

// The two ways, each with its reasons. A view has one of them for good: its
// templates decide, and where these leave it open, the names of the items' key
// attributes, which a table never changes.
var (
	keyHolds = Guard{Why: "{@key} is in this key"}
	escHolds = Guard{Why: "the item's key attributes are in this key"}

	manyClaim    = Guard{ByItem: true, Why: "several items may have this key"}
	ambiguous    = Guard{ByItem: true, Why: "parts of this key could run together, so several items may have it"}
	manyTables   = Guard{ByItem: true, Why: "items of several tables may have this key"}
	partsMissing = Guard{ByItem: true, Why: "not every key attribute of the item is in this key, so several items may have it"}
)

// guard is how the view's templates say that its rows are guarded. With escaped
// attributes among them that is open until the names of the item's key
// attributes are known: decided is false.
func (o Options) guard() (g Guard, escaped []string, decided bool) {
	unclear := false
	for _, a := range o.key() {
		if a.Template.HasKey() {
			return keyHolds, nil, true
		}
		unclear = unclear || a.Template.Ambiguous()
		for _, p := range a.Template.EscPaths() {
			if name := keyAttribute(p); name != "" {
				escaped = append(escaped, name)
			}
		}
	}
	switch {
	case unclear:
		return ambiguous, nil, true
	case len(escaped) == 0:
		return manyClaim, nil, true
	default:
		return escHolds, escaped, false
	}
}

// Guard is how the row of the change's item is guarded. It is the same for all
// items of a table.
func (s *Sink) Guard(c *record.Change) Guard {
	if s.decided {
		return s.guard
	}
	if strings.IndexByte(string(c.Key), '!') >= 0 {
		return manyTables
	}
	for name := range c.Keys.All() {
		if !slices.Contains(s.escaped, name) {
			return partsMissing
		}
	}
	return s.guard
}

// keyAttribute is the name of a top-level attribute that a path is, without
// brackets and quotes; "" where the path leads deeper.
func keyAttribute(path string) string {
	p, err := item.ParsePath(path)
	if err != nil || path != p.Root() && path != `["`+p.Root()+`"]` {
		return ""
	}
	return p.Root()
}
