package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/rules"
)

const stateHint = "say it in the `when` of each state sink, or put the filter under the sinks that are about changes"

// checkStateFilters checks filters before sinks that keep state. It refuses a filter that could drop a change by which
// an item leaves one of the sinks. Filters in Go code are checked by the program that has the code. where describes the
// position of the filters in messages, for example "above the state sink orders".
func (c *checker) checkStateFilters(fs []Filter, where string, sinks []*Sink) {
	for _, f := range fs {
		if rules.ReadsKeysOnly(f.Filter) {
			continue
		}
		if f.dropsTTLDeletes() {
			c.checkTTLFilter(f, where, sinks)
			continue
		}
		p := c.Problem(f.action, stateHint, "reads more than keys %s: %s", where, missedChanges(f.action))
		if code, isGo := f.Filter.(*GoFilter); isGo {
			p.Hint = "if its code reads only keys, give sinks.WithFilter the option sinks.KeysOnly(); else " + p.Hint
			code.StateSinks = &p
			continue
		}
		c.Problems = append(c.Problems, p)
	}
}

// refuseTTLFilter refuses a filter that drops TTL deletes if an aggregate retracts expired items. It also refuses the
// filter if a search sink needs the old image of a delete to find the documents to remove. It reports whether it does.
func (c *checker) refuseTTLFilter(f Filter, where string, sinks []*Sink) (isRefused bool) {
	for _, s := range sinks {
		if s.Search != nil && s.Search.ForEach != nil {
			c.Fail(f.action, "remove the filter, or for_each",
				"TTL deletes are dropped %s, and only they tell %s which documents an expired item had: if it came back, they would stay beside the new ones", where, s.Name)
			return true
		}
		if s.Aggregate != nil && !s.Aggregate.KeepOnTTL {
			c.Fail(f.action, "write on_ttl_delete: keep there, or remove the filter",
				"TTL deletes are dropped %s, and %s is to retract what expired items counted for (on_ttl_delete: retract): it would never see them", where, s.Name)
			return true
		}
	}
	return false
}

// checkTTLFilter refuses a filter that drops TTL deletes, or warns of the effect on the sinks.
func (c *checker) checkTTLFilter(f Filter, where string, sinks []*Sink) {
	if c.refuseTTLFilter(f, where, sinks) {
		return
	}
	isAggregate := func(s *Sink) bool { return s.Aggregate != nil }
	hasCounts := slices.ContainsFunc(sinks, isAggregate)
	others := slices.DeleteFunc(slices.Clone(sinks), isAggregate)
	var leftovers []string // sinks that cannot find the row or document of an expired item that comes back
	for _, s := range others {
		hasNoItemGuard := s.Search != nil || s.View.RowsGuardThemselves()
		if hasNoItemGuard && !s.LocatedByKey() {
			leftovers = append(leftovers, s.Name)
		}
	}
	c.WarnIf(len(others) > 0, f.action, "remove the filter where expired items should go",
		"TTL deletes are dropped %s: rows and documents of expired items stay", where)
	c.WarnIf(len(leftovers) > 0, f.action,
		"remove the filter, or make row keys and names of indexes of the item's key alone",
		"TTL deletes are dropped %s: an expired item that comes back with other attributes leaves its old row or document in %s beside the new one, until the repair of an audit removes it", where, yamlbind.Enumerate(leftovers, "and"))
	c.WarnIf(hasCounts, f.action,
		"remove the filter: on_ttl_delete: keep lets expired items count on, and new ones beside them",
		"TTL deletes are dropped %s: an item that comes back under an expired one's key counts in its place", where)
}

// missedChanges describes, for a message, the changes that a sink with state would miss because of a filter. action is
// the filter's drop, keep or func.
func missedChanges(action *value) string {
	const otherwise = "a delete, or a change that makes an item leave, would be missed where the condition judges it otherwise " +
		"than the change that let the item in"
	isDrop, word := action.Name == "drop", action.Text()
	switch {
	case action.Name == "func":
		return otherwise
	case word != "" && isDrop:
		return missedWithoutWord(word)
	case word != "":
		return "every change but those would be missed"
	}
	condition := conditionKey(action)
	if condition == nil {
		return ""
	}
	switch condition.Name {
	case "op":
		return missedOperations(func(op string) bool { return condition.Holds(op) == isDrop })
	case "entity":
		return "an item whose attribute changes would be let in and never out: its leave would be missed"
	case "changed", "unchanged":
		return "a change elsewhere in the item that makes it leave would be missed"
	default:
		return otherwise
	}
}

// missedOperations describes the changes that a sink with state would miss if a filter drops some operations.
func missedOperations(isDropped func(op string) bool) string {
	var missed []string
	for _, m := range []struct{ op, text string }{
		{"INSERT", "new items would be missed"},
		{"MODIFY", "updates would be missed, and leaves: items that no longer meet `when`"},
		{"REMOVE", "deletes would be missed, and what is made of deleted items would stay"},
	} {
		if isDropped(m.op) {
			missed = append(missed, m.text)
		}
	}
	return strings.Join(missed, "; ")
}

// missedWithoutWord describes the changes that a sink with state would miss if a filter drops the changes that the word
// names.
func missedWithoutWord(word string) string {
	switch word {
	case "probable_ttl":
		return "deletes of expired items would be missed, by users too, and what is made of them would stay"
	case "no_change", "replication_echoes":
		return "a state sink must see every version, and takes the same one again without harm"
	case "ttl_deletes":
		return "" // checkTTLFilter reports its effect
	}
	panic("config: missedChanges does not know the condition " + word)
}

// checkView checks the rows and the shards of a view. It warns of an on_collision that has no effect.
func (c *checker) checkView(s *Sink) {
	c.checkRows(s)
	c.checkForEach(s)
	collision := &s.View.Collision
	isWithoutEffect := s.View.keyHasItemKey() && s.View.ForEach == nil && c.Has(collision)
	c.WarnIf(isWithoutEffect, collision, "remove it", "no two items can claim a row: {@key} is in its key")
	c.checkViewShards(s)
	if c.cfg.State == nil {
		c.checkViewWithoutState(s)
	} else {
		c.checkTransactionReach(s.View)
	}
}

const inPlaceHint = "write tombstones: in_place, for readers that leave tombstones out"

// hasSeparateTombstones reports whether the state table can have tombstones of the view's rows. For some views the
// source table decides this, because it decides whether rows guard themselves.
func (v *View) hasSeparateTombstones() bool { return v.RowsMayGuardThemselves() && !v.InPlace }

// checkViewWithoutState checks that a view needs no state table.
func (c *checker) checkViewWithoutState(s *Sink) {
	v := s.View
	field := c.firstWritten(&v.InPlace, v)
	switch {
	case v.ForEach != nil:
		c.reportMissingState(s, v, "add state: {table: NAME}",
			"which rows an item has is in the state table, and the file names none")
	case v.hasSeparateTombstones():
		c.reportMissingState(s, field, "add state: {table: NAME}, or "+inPlaceHint,
			"the tombstones of its rows are in the state table, and the file names none")
	case !v.InPlace || !v.RowsGuardThemselves():
		c.reportMissingState(s, field,
			"add state: {table: NAME}, or put {@key} into the row's key and "+inPlaceHint,
			"its rows are guarded by item, or may be, in the state table, and the file names none")
	}
}

// checkTransactionReach checks that one transaction can write the rows of a view together with their guards or
// tombstones in the state table. A DynamoDB transaction covers only one account and one Region.
func (c *checker) checkTransactionReach(v *View) {
	rowsPlace, statePlace := regionAndAccount(v.Table.ARN), regionAndAccount(c.cfg.State.Table.ARN)
	if rowsPlace == "" || statePlace == "" || rowsPlace == statePlace {
		return
	}
	switch {
	case v.hasSeparateTombstones():
		c.Fail(c.firstWritten(&v.InPlace, v), "give both tables one account and one Region, or "+inPlaceHint,
			"the tombstones of its rows would be in another account or Region than the rows (%s and %s), and no transaction reaches both", statePlace, rowsPlace)
	case v.ForEach != nil:
		c.Fail(&v.Table, "give both tables one account and one Region",
			"which rows an item has would be in another account or Region than the rows (%s and %s), and no transaction reaches both", statePlace, rowsPlace)
	case !v.RowsGuardThemselves():
		c.Fail(&v.Table, "give both tables one account and one Region, or put {@key} into the row's key",
			"its rows are guarded by item, or may be, and the guards would be in another account or Region (%s and %s), where no transaction reaches both", statePlace, rowsPlace)
	}
}

// regionAndAccount returns the part eu-central-1:123456789012 of an ARN. It returns "" if the text is not an ARN.
func regionAndAccount(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[3] + ":" + parts[4]
}

// reportMissingState notes that sink s needs a state table, and the file names none. A single problem names all such
// sinks.
func (c *checker) reportMissingState(s *Sink, field any, hint, message string) {
	c.stateless = append(c.stateless, s.Name)
	if len(c.stateless) == 1 {
		c.failOnServers(field, hint, "%s", message)
		c.firstStateless = len(c.localOnly) - 1
		return
	}
	p := &c.localOnly[c.firstStateless]
	p.Message = fmt.Sprintf("the file names no state table, and %s keep there what they know of items",
		yamlbind.Enumerate(c.stateless, "and"))
	p.Hint = "add state: {table: NAME}"
}
