package pushdown

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// sinks returns the patterns of the records that at least one sink needs. It also includes the records that Go
// functions need. functionScopes has the entities of these functions.
func (t *translator) sinks(cfg *config.Config, functionScopes []*entity.Scope) alternatives {
	var needed alternatives
	for _, s := range cfg.Sinks {
		var events *entity.Scope // entities of a notify sink
		if names := cfg.EventEntities(&s); len(names) > 0 {
			events = cfg.EntitySet().Scope(names...)
		}
		c := t.sink(s, events, cfg.DropsTTLDeletes(s))
		if c.matchesAll() {
			t.reasons = nil // only this sink matters
			return t.matchAny("%s needs every change: %s", s.Name, whyEverything(s))
		}
		needed = needed.union(c)
	}
	for _, scope := range functionScopes {
		c := t.condition(rules.OfKeys(scope), false)
		if c.matchesAll() {
			t.reasons = nil // only this function matters
			return t.matchAny("the Go function for %s needs every change", scope)
		}
		needed = needed.union(c)
	}
	return needed
}

// sink returns the patterns of the records that a sink needs. events has the entities whose events the sink sends.
// events is nil if the sink sends events of every item, or no events.
//
// noTTLDeletes means that a filter drops TTL deletes before the sink. The row or document of an expired item then
// stays. If the item returns and no longer has a row or a document, its INSERT must remove the old row or document.
func (t *translator) sink(s config.Sink, events *entity.Scope, noTTLDeletes bool) alternatives {
	var kept []pipeline.Condition
	for _, f := range s.FiltersInOrder() {
		kept = append(kept, keptBy(f))
	}
	c := t.allOf(kept, false)
	if slices.ContainsFunc(kept, canFail) {
		return c
	}
	switch {
	case s.View != nil && s.View.RowsGuardThemselves(), s.Search != nil:
		imagePatterns := t.eitherImage(s)
		if noTTLDeletes && s.LocatedByKey() {
			imagePatterns = imagePatterns.union(alternatives{{eventName: anyBut("MODIFY", "REMOVE")}})
		}
		return t.intersection(c, imagePatterns)
	case s.Archive != nil:
		return t.intersection(c, t.recordsOfKinds(s.Archive.Kinds))
	case events != nil:
		return t.intersection(c, t.condition(rules.OfKeys(events), false))
	}
	return c
}

// recordsOfKinds returns the patterns of the records that an archive of these kinds keeps. If kinds is nil, the archive
// keeps all kinds.
func (t *translator) recordsOfKinds(kinds []string) alternatives {
	keeps := func(kind string) bool { return kinds == nil || slices.Contains(kinds, kind) }
	removals := alternatives{{eventName: anyBut("INSERT", "MODIFY")}}
	var c alternatives
	switch {
	case keeps("ttl_delete") && keeps("user_delete"):
		c = removals
	case keeps("ttl_delete"):
		c = t.ttlDeletes(false)
	case keeps("user_delete"):
		c = t.intersection(removals, t.ttlDeletes(true))
	}
	if keeps("change") {
		c = c.union(alternatives{{eventName: anyBut("REMOVE")}})
	}
	return c
}

// whyEverything returns the reason why a sink needs every change.
func whyEverything(s config.Sink) string {
	switch {
	case s.Aggregate != nil:
		return "an aggregate compares an item with what it counted for, not with the old image"
	case s.View != nil && !s.View.RowsGuardThemselves():
		return "a view whose rows are guarded by item compares an item with the row that it has, not with the old image"
	case s.WhenItem != nil || len(s.FiltersInOrder()) > 0:
		return "Lambda cannot ask what its of, its filters and its when ask"
	case s.Notify != nil:
		return "it has no filter and no when, and Lambda cannot detect"
	case s.Custom != nil:
		return "it has no filter and no when, and only it knows what it does"
	case s.Archive != nil:
		return "it archives every change"
	}
	return "it has no filter and no when"
}
