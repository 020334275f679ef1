package pushdown_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// attributes that conditions and records speak of. Some names cannot be used in a pattern.
var attributes = []string{"Type", "Status", "PK", "first-name", "a.b", "S", "$or"}

// words are values and their beginnings, with characters that JSON has to escape. The empty one is in no list of a
// file.
var words = []string{"", "Order", "Or", "paid", "é", "\"q\\", "*", "USER#1", "USER#", "true", "\u2028"}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func texts(t *rapid.T) string {
	var qs []string
	for range rapid.IntRange(1, 3).Draw(t, "texts") {
		qs = append(qs, quoted(pick(t, "word", words[1:]...)))
	}
	return "[" + strings.Join(qs, ", ") + "]"
}

// condition is YAML in flow style.
func condition(t *rapid.T, depth int) string {
	if depth > 0 && rapid.IntRange(0, 2).Draw(t, "deeper") > 0 {
		switch pick(t, "form", "all", "any", "not") {
		case "all":
			return fmt.Sprintf("{all: [%s, %s]}", condition(t, depth-1), condition(t, depth-1))
		case "any":
			return fmt.Sprintf("{any: [%s, %s]}", condition(t, depth-1), condition(t, depth-1))
		default:
			return fmt.Sprintf("{not: %s}", condition(t, depth-1))
		}
	}
	switch rapid.IntRange(0, 8).Draw(t, "condition") {
	case 0:
		return "ttl_deletes"
	case 1:
		return pick(t, "word", "no_change", "replication_echoes", "probable_ttl")
	case 2:
		return "{changed: [Status]}"
	case 3, 4:
		return fmt.Sprintf("{op: [%s]}", strings.Join(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"INSERT", "MODIFY", "REMOVE", "UNKNOWN"}), 1, 3, rapid.ID).Draw(t, "ops"), ", "))
	case 5:
		return fmt.Sprintf("{key_prefix: {%s: %s}}", pick(t, "key", "PK", "SK", "Nope"), quoted(pick(t, "prefix", words[1:]...)))
	case 6, 7:
		return fmt.Sprintf("{entity: {%s: %s}}", quoted(pick(t, "attribute", attributes...)), texts(t))
	default:
		return fmt.Sprintf("{expr: %s}", yamlText(expression(t, 2, "new", "old", "keys")))
	}
}

func yamlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// expression is CEL over these images.
func expression(t *rapid.T, depth int, images ...string) string {
	if depth > 0 && rapid.Bool().Draw(t, "deeper") {
		switch pick(t, "form", "&&", "||", "!") {
		case "&&":
			return "(" + expression(t, depth-1, images...) + " && " + expression(t, depth-1, images...) + ")"
		case "||":
			return "(" + expression(t, depth-1, images...) + " || " + expression(t, depth-1, images...) + ")"
		default:
			return "!" + expression(t, depth-1, images...)
		}
	}
	at := fmt.Sprintf("%s[%s]", pick(t, "image", images...), quoted(pick(t, "attribute", attributes...)))
	switch rapid.IntRange(0, 7).Draw(t, "question") {
	case 0:
		return fmt.Sprintf("%s.startsWith(%s)", at, quoted(pick(t, "prefix", words...)))
	case 1:
		return fmt.Sprintf("(%s in %s)", at, texts(t))
	case 2:
		return fmt.Sprintf("(%s == %v)", at, rapid.Bool().Draw(t, "flag"))
	case 3:
		return fmt.Sprintf("(%s != %s)", at, quoted(pick(t, "word", words...)))
	case 4:
		return fmt.Sprintf("(%s > 5)", at)
	case 5:
		if slices.Contains(images, "new") {
			return fmt.Sprintf("(op %s %q)", pick(t, "compare", "==", "!="), pick(t, "op", "INSERT", "MODIFY", "REMOVE", "UNKNOWN"))
		}
	}
	return fmt.Sprintf("(%s == %s)", at, quoted(pick(t, "word", words...)))
}

// filters are lines of YAML. Above state sinks only filters that are allowed there.
func (es entities) filters(t *rapid.T, state bool, indent string) string {
	n := rapid.IntRange(0, 2).Draw(t, "filters")
	if n == 0 {
		return ""
	}
	b := indent + "filters:\n"
	for range n {
		c := ""
		switch {
		case !state:
			if c = condition(t, 2); es.names != nil && rapid.IntRange(0, 3).Draw(t, "of") == 0 {
				c = "{" + es.scope(t) + "}"
			}
		case rapid.IntRange(0, 3).Draw(t, "ttl") == 0:
			b += indent + "  - drop: ttl_deletes\n"
			continue
		case es.keysOnly && rapid.IntRange(0, 3).Draw(t, "of") == 0:
			c = "{" + es.scope(t) + "}"
		case rapid.Bool().Draw(t, "any"):
			c = fmt.Sprintf("{any: [{key_prefix: {PK: %s}}, {key_prefix: {SK: %s}}]}", quoted(pick(t, "prefix", words[1:]...)), quoted(pick(t, "prefix", words[1:]...)))
		default:
			c = fmt.Sprintf("{expr: %s}", yamlText(expression(t, 1, "keys")))
		}
		b += fmt.Sprintf("%s  - %s: %s\n", indent, pick(t, "verb", "keep", "drop"), c)
	}
	return b
}

// configuration is a file whose sinks are some of all kinds. They may be about entities.
func configuration(t *rapid.T) string {
	if rapid.IntRange(0, 2).Draw(t, "one") == 0 {
		return oneSink(t)
	}
	es := drawEntities(t)
	kinds := []string{"archive", "archive", "notify"}
	state := rapid.Bool().Draw(t, "state")
	if state {
		kinds = append(kinds, "search", "search", "view", "view", "claimed", "aggregate", "lines", "elements", "elements")
	}
	b := "version: 1\nname: model\nsource: {table: shop, ttl_attribute: expires}\n"
	b += es.yaml + es.filters(t, state, "")
	b += fmt.Sprintf("detect:\n  d: {%sattribute: Status, to: paid}\nsinks:\n", es.of(t, "%s, "))
	for i := range rapid.IntRange(1, 3).Draw(t, "sinks") {
		kind := pick(t, "kind", kinds...)
		when := ""
		if rapid.IntRange(0, 3).Draw(t, "when") > 0 {
			images := []string{"item"}
			if kind == "lines" || kind == "elements" {
				images = append(images, "each")
			}
			if kind == "archive" || kind == "notify" {
				images = []string{"new", "old", "keys"}
			}
			when = "      when: " + yamlText(expression(t, 2, images...)) + "\n"
		}
		b += fmt.Sprintf("  s%d:\n", i)
		switch kind {
		case "archive":
			b += "    archive:\n      bucket: bucket\n      prefix: s" + fmt.Sprint(i) + "/\n"
			if ks := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"ttl_delete", "user_delete", "change"}), 0, 3, rapid.ID).Draw(t, "kinds"); len(ks) > 0 {
				b += "      kinds: [" + strings.Join(ks, ", ") + "]\n"
			}
		case "notify":
			b += "    notify:\n      events: [d]\n"
		case "search":
			b += fmt.Sprintf("    search:\n      index: s%d%s\n", i, index(t)) + routing(t)
		case "elements":
			b += fmt.Sprintf("    search:\n      index: s%d%s\n", i, index(t)) + routing(t) + forEach(t)
		case "lines":
			b += fmt.Sprintf("    view:\n      table: s%d\n      key: {PK: '{@key}', SK: '{@each}'}\n", i) + forEach(t)
		case "view":
			b += fmt.Sprintf("    view:\n      table: s%d\n      key: {PK: '{@key}'}\n", i)
		case "claimed":
			b += fmt.Sprintf("    view:\n      table: s%d\n      key: {PK: '{Status}'}\n", i)
		default:
			b += fmt.Sprintf("    aggregate:\n      table: s%d\n      group: {PK: '{Status}'}\n      values: {n: count}\n      on_ttl_delete: keep\n", i)
		}
		b += es.of(t, "      %s\n") + when + es.filters(t, kind != "archive" && kind != "notify", "      ")
	}
	return b
}

func image(t *rapid.T, keys sinktest.Item) sinktest.Item {
	it := maps.Clone(keys)
	if list := drawList(t); list != nil {
		it["List"] = list
	}
	for _, name := range append([]string{"a", "expires"}, attributes...) {
		if _, key := keys[name]; key || rapid.Bool().Draw(t, "absent") {
			continue
		}
		s := sinktest.Attr{"S": pick(t, "value", words...)}
		it[name] = rapid.SampledFrom([]sinktest.Attr{s, s, s, s, {"BOOL": true}, {"BOOL": false}, {"N": "7"}, {"NULL": true},
			{"M": map[string]any{"S": s, "b": s}}, {"L": []any{s}}, {"SS": []string{"Order", "paid"}}, {"B": "T3JkZXI="}}).Draw(t, "attribute")
	}
	return it
}

// record is a sound record, of any operation and view type.
func drawRecord(t *rapid.T) sinktest.Record {
	keys := sinktest.Item{"PK": {"S": pick(t, "key", "Order", "USER#1", "USER#", "é", "\"q\\")}}
	if rapid.Bool().Draw(t, "binary") {
		keys["SK"] = sinktest.Attr{"B": rapid.SampledFrom([]string{"T3JkZXI=", "T3I=", "VVNFUiMx", "VVNFUiM=", "w6k=", "cGFpZAA="}).Draw(t, "key")}
	}
	r := sinktest.Record{EventName: pick(t, "op", "INSERT", "MODIFY", "MODIFY", "REMOVE", "REMOVE", "EVOLVE"), Keys: keys, Sequence: "100000000000000000001", Second: 1767323045}
	old, is := image(t, keys), image(t, keys)
	if rapid.IntRange(0, 3).Draw(t, "same") == 0 {
		is = old
	}
	switch r.EventName {
	case "INSERT":
		r.New = is
	case "REMOVE":
		r.Old, r.TTL = old, rapid.Bool().Draw(t, "ttl")
	case "EVOLVE":
		if rapid.Bool().Draw(t, "was") {
			r.Old = old
		}
		if rapid.Bool().Draw(t, "stays") {
			r.New = is
		}
	default:
		r.Old, r.New = old, is
	}
	return r
}
