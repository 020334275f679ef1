package pushdown_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// entities are those of a configuration, which may have none.
type entities struct {
	yaml     string
	names    []string
	keysOnly bool // no entity has a condition
}

// drawEntities draws entities without a key in common, or with all keys in common and conditions of their own.
// Conditions may fail.
func drawEntities(t *rapid.T) entities {
	when := func(always bool) string {
		if !always && rapid.Bool().Draw(t, "keys only") {
			return ""
		}
		return ", when: " + yamlText(expression(t, 1, "item"))
	}
	es := entities{names: []string{"User", "Other"}}
	var user, other string
	switch rapid.IntRange(0, 2).Draw(t, "entities") {
	case 0:
		return entities{}
	case 1:
		user, other = "{key: {PK: 'USER#{Id}'}"+when(false), "{key: {PK: Order}"+when(false)
	default:
		user, other = "{key: {PK: 'USER#{Id}'}"+when(true), "{key: {PK: '{Id}'}"+when(true)
	}
	es.keysOnly = len(user)+len(other) == len("{key: {PK: 'USER#{Id}'}{key: {PK: Order}")
	es.yaml = fmt.Sprintf("entities:\n  User: %s}\n  Other: %s}\n", user, other)
	return es
}

// scope draws the entities that something is about.
func (es entities) scope(t *rapid.T) string {
	return "of: " + pick(t, "of", "User", "Other", "[User, Other]")
}

// of draws the entities of a sink or a detector in a format; "" for every item.
func (es entities) of(t *rapid.T, format string) string {
	if es.names == nil || rapid.IntRange(0, 3).Draw(t, "of all") == 0 {
		return ""
	}
	return fmt.Sprintf(format, es.scope(t))
}

// oneSink is a file with one sink whose when Lambda can be asked in part, so that nothing but its own condition lets a
// record pass. Parts that are evaluated before when, such as conditions of entities and the elements of an item, can
// fail.
func oneSink(t *rapid.T) string {
	equals := func(what string) string {
		return fmt.Sprintf("%s[%s] == %s", what, quoted(pick(t, "attribute", attributes[:3]...)), quoted(pick(t, "word", words...)))
	}
	failing := func(what string) string {
		return fmt.Sprintf("%s[%s] %s", what, quoted(pick(t, "attribute", attributes[:3]...)), pick(t, "than", "> 5", "< 5", "!= null"))
	}
	b := "version: 1\nname: model\nsource: {table: shop}\n"
	of := ""
	if rapid.Bool().Draw(t, "entities") {
		user, other := equals("item"), failing("item")
		if rapid.Bool().Draw(t, "exchanged") {
			user, other = other, user
		}
		b += fmt.Sprintf("entities:\n  User: {key: {PK: 'USER#{Id}'}, when: %s}\n", yamlText(user))
		b += fmt.Sprintf("  Other: {key: {PK: '{Id}'}, when: %s}\n", yamlText(other))
		of = "      of: " + pick(t, "of", "User", "Other", "[User, Other]") + "\n"
	}
	when := equals("item")
	b += "sinks:\n  s:\n"
	switch pick(t, "kind", "search", "elements", "elements", "view") {
	case "search":
		b += "    search:\n      index: s" + index(t) + "\n" + routing(t)
	case "view":
		b += "    view:\n      table: s\n      key: {PK: '{@key}'}\n"
	default:
		b += "    search:\n      index: s" + index(t) + "\n" + routing(t) + forEach(t)
		if rapid.IntRange(0, 3).Draw(t, "each") > 0 {
			when += " && " + pick(t, "of each", equals("each"), failing("each"))
		}
	}
	return b + of + "      when: " + yamlText(when) + "\n"
}

// forEach draws elements that some items can have, and others not.
func forEach(t *rapid.T) string {
	return fmt.Sprintf("      for_each: {path: List%s%s}\n", pick(t, "by", "", ", by: Type"), pick(t, "max", "", ", max: 1"))
}

// index draws the rest of an index's name: none, or what some items have no text or no name for.
func index(t *rapid.T) string { return pick(t, "index", "", "", "-{a|lower}\n      create: on_demand") }

// routing draws one that never changes, one that some keys have no date for, and others.
func routing(t *rapid.T) string {
	if of := pick(t, "routing", "", "{@key}", "{PK}", "{SK}", "{PK|date:2006}"); of != "" {
		return "      routing: '" + of + "'\n"
	}
	return ""
}

// drawList draws elements, no list, or nothing.
func drawList(t *rapid.T) sinktest.Attr {
	switch rapid.IntRange(0, 7).Draw(t, "list") {
	case 0:
		return sinktest.Attr{"S": "Order"}
	case 1:
		return sinktest.Attr{"SS": []string{"Order", "paid"}}
	case 2, 3:
		return nil
	}
	list := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "elements") {
		e := sinktest.Attr{"M": map[string]any{
			"Type": sinktest.Attr{"S": pick(t, "type", words...)}, "Status": sinktest.Attr{"S": pick(t, "status", words...)},
		}}
		list = append(list, rapid.SampledFrom([]sinktest.Attr{e, e, e, {"S": "Order"}, {"NULL": true}}).Draw(t, "element"))
	}
	return sinktest.Attr{"L": list}
}
