package viewtest

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// testView is a view in two forms that share no code. The sink uses the templates. The model uses the function model or
// elements.
type testView struct {
	rowShape
	attributes map[string]string
	model      func(item sinktest.Item) (sinktest.Item, bool) // returns the row of an item

	shards    int            // number of shards for {@shard} in the partition key
	collision view.Collision // collision rule of rows guarded by item; "" if rows guard themselves
	inPlace   bool           // tombstones are in place

	forEach *elements.Spec // elements that have a row each; nil if an item has one row
	// elements returns the rows of an item. It is used instead of model if forEach is set.
	elements func(item sinktest.Item) []sinktest.Item
	// whenElement is the condition for the elements that have a row; nil if all elements have one.
	whenElement func(item.Value) bool
	// maximum number of actions in a transaction; 0 for the limit of the store
	maxActions int
}

// rowShape is the common part of views and aggregates under test.
type rowShape struct {
	name      string
	keys      map[string]string // key attributes of the source table and their types; nil for PK and SK
	key       []string          // names of the row's key attributes
	templates []string          // templates of the row's key attributes
	when      func(item item.Image) (bool, error)

	// flawKey is the index of the template that [sinktest.FlawKey] makes fail. If flawKey is below 0, the condition
	// fails instead. This is for row keys that such a template would change.
	flawKey int
}

// rowOptions returns the key attributes of the rows, and the condition for the items, for the options of a sink.
func (s *rowShape) rowOptions(o template.Options) (pk, sk view.Attribute, when pipeline.ItemCondition, err error) {
	var key [2]view.Attribute // the second one is zero if the row has one key attribute
	for i, name := range s.key {
		parsed, err := template.Parse(s.templates[i], o)
		if err != nil {
			return pk, sk, nil, err
		}
		key[i] = view.Attribute{Name: name, Template: parsed}
	}
	if s.when != nil {
		when = pipeline.ItemConditionFunc(s.when)
	}
	return key[0], key[1], when, nil
}

// flawed returns the shape with a key template that fails on images with sinktest.FlawKey, and with a condition that
// fails on images with any of the attributes.
func (s rowShape) flawed(attributes ...string) rowShape {
	if s.flawKey < 0 {
		attributes = append(attributes, sinktest.FlawKey)
	} else {
		s.templates = slices.Clone(s.templates)
		s.templates[s.flawKey] += optionalKey
	}
	s.when = failingCondition(s.when, attributes)
	return s
}

func (v *testView) sink(store view.Store) (*view.Sink, error) {
	o := view.Options{Name: v.name, Pipeline: "test", Table: "views", Store: store, Shards: v.shards,
		Collision: v.collision, InPlace: v.inPlace}
	var err error
	each := v.forEach != nil
	if o.PK, o.SK, o.When, err = v.rowOptions(template.Options{Shard: true, Each: each, Identity: each}); err != nil {
		return nil, err
	}
	o.ForEach = v.forEach
	if v.whenElement != nil {
		o.When = sinktest.ElementCondition{ItemCondition: o.When, Element: v.whenElement}
	}
	for _, name := range slices.Sorted(maps.Keys(v.attributes)) {
		t, err := template.Parse(v.attributes[name], template.Options{Each: each, Identity: each})
		if err != nil {
			return nil, err
		}
		o.Attributes = append(o.Attributes, view.Attribute{Name: name, Template: t})
	}
	return view.New(o)
}

func isOrder(item item.Image) (bool, error) {
	v, _ := item.Get("Type")
	text, ok := v.Text()
	return ok && text == "Order", nil
}

// days maps the times in the suite's items to their UTC days.
var days = map[string]string{
	"2026-01-02T23:59:59Z":        "2026-01-02",
	"2026-01-03T00:00:00Z":        "2026-01-03",
	"2026-01-04T01:02:03.5+02:00": "2026-01-03",
}

// views returns the views whose rows guard themselves, with tombstones apart and in place.
func views() []*testView {
	all := selfGuardedViews()
	for _, v := range selfGuardedViews() {
		v.name, v.inPlace = v.name+"InPlace", true
		all = append(all, v)
	}
	return all
}

func selfGuardedViews() []*testView {
	return []*testView{
		{
			rowShape: rowShape{
				name: "MovesByStatus",
				key:  []string{"PK", "SK"}, templates: []string{"STATUS#{Status}", "{CreatedAt|date:2006-01-02}#{@key}"},
				when: isOrder,
			},
			attributes: map[string]string{
				"total": "{Total}", "any": "{Any?}", "note": "rank {Rank?} of {Type}", "kind": "order", "must": "{Status}/{Rank}",
			},
			model: func(it sinktest.Item) (sinktest.Item, bool) {
				day, dated := days[it.Text("CreatedAt")]
				if it.Text("Type") != "Order" || it.Text("Status") == "" || !dated {
					return nil, false
				}
				row := sinktest.Item{
					"PK":   text("STATUS#" + it.Text("Status")),
					"SK":   text(day + "#" + keyOf(it, "PK", "SK")),
					"kind": text("order"),
					"note": text("rank " + it.Number("Rank") + " of Order"),
				}
				if rank := it.Number("Rank"); rank != "" {
					row["must"] = text(it.Text("Status") + "/" + rank)
				}
				addAttribute(row, "total", it["Total"])
				addAttribute(row, "any", it["Any"])
				return row, true
			},
		},
		{
			rowShape: rowShape{
				name: "MovesInItsShard", flawKey: -1,
				key: []string{"PK", "SK"}, templates: []string{"S{@shard}#{Status}", "{@key}"}, when: isOrder,
			},
			shards:     3,
			attributes: map[string]string{"total": "{Total?}"},
			model: func(it sinktest.Item) (sinktest.Item, bool) {
				key := keyOf(it, "PK", "SK")
				hash := fnv.New64a()
				hash.Write([]byte(key))
				row := sinktest.Item{"PK": text(fmt.Sprintf("S%d#%s", hash.Sum64()%3, it.Text("Status"))), "SK": text(key)}
				addAttribute(row, "total", it["Total"])
				return row, it.Text("Type") == "Order" && it.Text("Status") != ""
			},
		},
		{
			rowShape: rowShape{
				name: "MovesByNumber", flawKey: -1, keys: map[string]string{"id": "B", "n": "N"},
				key: []string{"rank", "source"}, templates: []string{"{Rank}", "{@key}"},
			},
			attributes: map[string]string{"id": "{id}", "n": "{n}", "any": "{Any?}"},
			model: func(it sinktest.Item) (sinktest.Item, bool) {
				if it.Number("Rank") == "" {
					return nil, false
				}
				row := sinktest.Item{"rank": it["Rank"], "source": text(keyOf(it, "id", "n")), "id": it["id"], "n": it["n"]}
				addAttribute(row, "any", it["Any"])
				return row, true
			},
		},
		{
			rowShape: rowShape{
				name: "EscapedKeys", flawKey: -1,
				key: []string{"first", "second"}, templates: []string{"{PK|esc}#{Status}", "{SK|esc}"},
			},
			attributes: map[string]string{"status": "{Status}"},
			model: func(it sinktest.Item) (sinktest.Item, bool) {
				if it.Text("Status") == "" {
					return nil, false
				}
				return sinktest.Item{
					"first":  text(escape(it.Text("PK")) + "#" + it.Text("Status")),
					"second": text(escape(it.Text("SK"))),
					"status": it["Status"],
				}, true
			},
		},
		{
			rowShape: rowShape{
				name: "NeverMoves", flawKey: -1, keys: map[string]string{"id": "B"},
				key: []string{"id"}, templates: []string{"{@key}"}, when: isOrder,
			},
			attributes: map[string]string{"total": "{Total?}"},
			model: func(it sinktest.Item) (sinktest.Item, bool) {
				row := sinktest.Item{"id": text(keyOf(it, "id"))}
				addAttribute(row, "total", it["Total"])
				return row, it.Text("Type") == "Order"
			},
		},
	}
}

func text(s string) sinktest.Attr { return sinktest.Attr{"S": s} }

// addAttribute adds an attribute to a row, unless the attribute is missing, NULL or empty.
func addAttribute(row sinktest.Item, name string, a sinktest.Attr) {
	_, isNull := a["NULL"]
	isEmpty := a["S"] == "" || a["B"] == ""
	if a != nil && !isNull && !isEmpty {
		row[name] = a
	}
}

// keyOf returns the canonical key of an item. It follows the definition in pipeline/item, without its code.
func keyOf(it sinktest.Item, names ...string) string {
	var parts []string
	for _, name := range names {
		a := it[name]
		switch {
		case a["S"] != nil:
			parts = append(parts, escape(it.Text(name)))
		case a["N"] != nil:
			parts = append(parts, "+"+it.Number(name))
		default:
			encoded, _ := a["B"].(string)
			raw, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				panic(err) // the suite encoded the value
			}
			parts = append(parts, "="+base64.RawURLEncoding.EncodeToString(raw))
		}
	}
	return strings.Join(parts, ",")
}

func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
