package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
)

// change decodes one record of the item PK=USER#1. old and new are DynamoDB JSON without the key, or "" for no image.
func change(t *testing.T, op, old, new, extra string) *record.Change {
	t.Helper()
	const key = `"PK":{"S":"USER#1"}`
	rec := fmt.Sprintf(`{"eventID":"1","eventName":%q,"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/t/stream/2026-01-01T00:00:00.000"%s,"dynamodb":{"ApproximateCreationDateTime":1767225600,"Keys":{%s},"SequenceNumber":"100000000000000000001","StreamViewType":"NEW_AND_OLD_IMAGES"`, op, extra, key)
	for _, image := range [][2]string{{"OldImage", old}, {"NewImage", new}} {
		if image[1] != "" {
			rec += fmt.Sprintf(`,%q:{%s,%s}`, image[0], key, image[1])
		}
	}
	page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(rec + "}}"))
	if err != nil || len(page.Changes) != 1 {
		t.Fatalf("%s}}: %v, %+v", rec, err, page)
	}
	return &page.Changes[0]
}

// Each form of a filter drops the right changes and counts them under its name.
func TestFilters(t *testing.T) {
	const ttl = `,"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}`
	order := `"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"10.51"},"Lines":{"L":[{"M":{"qty":{"N":"1"}}}]},"expiresAt":{"N":"1767225000"}`
	shipped := `"Type":{"S":"Order"},"Status":{"S":"shipped"},"Total":{"N":"10.50"},"Lines":{"L":[{"M":{"qty":{"N":"1"}}}]},"expiresAt":{"N":"1767225000"}`
	echo := order + `,"aws:rep:updatetime":{"N":"1"}`
	changes := map[string]*record.Change{
		"insert":  change(t, "INSERT", "", order, ""),
		"modify":  change(t, "MODIFY", order, shipped, ""),
		"same":    change(t, "MODIFY", order, order, ""),
		"echo":    change(t, "MODIFY", order, echo, ""),
		"remove":  change(t, "REMOVE", order, "", ""),
		"ttl":     change(t, "REMOVE", order, "", ttl),
		"unknown": change(t, "TRUNCATE", "", order, ""),
	}
	all := []string{"insert", "modify", "same", "echo", "remove", "ttl", "unknown"}
	for _, tt := range []struct {
		filter, reason string
		dropped        []string
	}{
		{"drop: ttl_deletes", "ttl_deletes", []string{"ttl"}},
		{"drop: probable_ttl", "probable_ttl", []string{"remove", "ttl"}},
		{"drop: replication_echoes", "replication_echoes", []string{"echo"}},
		{"drop: no_change", "no_change", []string{"same", "echo"}},
		{"keep: ttl_deletes", "keep_ttl_deletes", []string{"insert", "modify", "same", "echo", "remove", "unknown"}},
		{"keep: {op: [INSERT, MODIFY, REMOVE]}", "keep_op", []string{"unknown"}},
		{"drop: {op: [REMOVE, UNKNOWN]}", "drop_op", []string{"remove", "ttl", "unknown"}},
		{"keep: {any: [{key_prefix: {PK: 'USER#'}}, {key_prefix: {PK: 'ORDER#'}}]}", "keep_any", nil},
		{"keep: {key_prefix: {PK: 'ORDER#'}, name: orders}", "orders", all},
		{"drop: {not: {changed: ['Status', 'Lines[*].qty']}}", "drop_not", []string{"same", "echo"}},
		{"drop: {unchanged: [Status]}", "drop_unchanged", []string{"same", "echo"}},
		{"keep: {entity: {Type: [Product, Review]}}", "keep_entity", all},
		{"drop: {all: [{entity: {Type: [Order]}}, {op: [INSERT]}]}", "drop_all", []string{"insert"}},
		{"drop: {any: [ttl_deletes, no_change]}", "drop_any", []string{"same", "echo", "ttl"}},
		{"keep: {expr: 'new.Total > 10.50', name: large}", "large", []string{"modify", "remove", "ttl"}},
	} {
		cfg := parse(t, "version: 1\nname: p\nsource: {table: t, ttl_attribute: expiresAt}\nfilters:\n  - "+tt.filter+"\nsinks: {s: {custom: {name: c}}}\n")
		f := cfg.Filters[0]
		if f.Name != tt.reason || f.Line != 5 {
			t.Errorf("%s: named %q at line %d", tt.filter, f.Name, f.Line)
		}
		var dropped []string
		for _, name := range all {
			v, err := f.Filter.Check(changes[name])
			if err != nil {
				// for example, an unknown operation that lacks an image
				t.Errorf("%s: %s: %v", tt.filter, name, err)
			}
			if v.Drop {
				dropped = append(dropped, name)
				if v.Reason != tt.reason {
					t.Errorf("%s: counted by %q", tt.filter, v.Reason)
				}
			}
		}
		if !slices.Equal(dropped, tt.dropped) {
			t.Errorf("%s drops %q, want %q", tt.filter, dropped, tt.dropped)
		}
	}
}

// Filters without a name get different names.
func TestFilterNames(t *testing.T) {
	for filters, want := range map[string][]string{
		"{drop: no_change}, {drop: no_change}, {drop: no_change}":                                 {"no_change", "no_change_2", "no_change_3"},
		"{keep: {op: [INSERT]}}, {keep: {op: [MODIFY]}}, {keep: {op: [INSERT], name: x}}":         {"keep_op", "keep_op_2", "x"},
		"{drop: {op: [REMOVE], name: drop_op_2}}, {drop: {op: [INSERT]}}, {drop: {op: [MODIFY]}}": {"drop_op_2", "drop_op", "drop_op_3"},
	} {
		cfg := parse(t, "version: 1\nname: p\nsource: {table: t}\nfilters: ["+filters+"]\nsinks: {s: {custom: {name: c}}}\n")
		var names []string
		for _, f := range cfg.Filters {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: names are %q, want %q", filters, names, want)
		}
	}
}

// A filter in Go code has the name of that code. The configuration says whether the code must read only keys, and
// what a state sink would miss otherwise.
func TestGoFilters(t *testing.T) {
	cfg := parse(t, `version: 1
name: p
source: {table: t}
filters: [{func: eu}, {func: eu}]
sinks:
  rows: {view: {table: r, key: {PK: 'A#{@key}'}, filters: [{func: shard}]}}
  log: {archive: {bucket: log, filters: [{func: large}]}}
state: {table: s}
`)
	var got []string
	for _, fs := range [][]config.Filter{cfg.Filters, cfg.Sinks[0].Filters, cfg.Sinks[1].Filters} {
		for _, f := range fs {
			g := f.Filter.(*config.GoFilter)
			if _, err := g.Check(&record.Change{}); err == nil {
				t.Errorf("%s can be checked without its code", g.Func)
			}
			text := g.Func + " " + g.Name()
			if g.StateSinks != nil {
				text += " " + g.StateSinks.String()
			}
			got = append(got, text)
		}
	}
	const rule = "a delete, or a change that makes an item leave, would be missed where the condition judges it otherwise than the change that let the item in; " +
		"if its code reads only keys, give sinks.WithFilter the option sinks.KeysOnly(); " +
		"else say it in the `when` of each state sink, or put the filter under the sinks that are about changes"
	want := []string{
		"eu eu t.yaml:4:18: filters[0].func: reads more than keys above the state sink rows: " + rule,
		"eu eu_2 t.yaml:4:30: filters[1].func: reads more than keys above the state sink rows: " + rule,
		"shard shard t.yaml:6:67: sinks.rows.view.filters[0].func: reads more than keys under the state sink rows: " + rule,
		"large large",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the filters are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each form of a detector finds its events.
func TestDetectors(t *testing.T) {
	before := `"Type":{"S":"Order"},"Status":{"S":"paid"},"Stock":{"N":"12"},"Address":{"M":{"City":{"S":"Bonn"}}},"Draft":{"BOOL":true},"Tags":{"SS":["a","b"]}`
	after := `"Type":{"S":"Order"},"Status":{"S":"completed"},"Stock":{"N":"9.5"},"Address":{"M":{"City":{"S":"Jena"}}},"PublishedAt":{"N":"1"},"Tags":{"SS":["b","c"]}`
	c := change(t, "MODIFY", before, after, "")
	for _, tt := range []struct {
		detector, path string
		events         int
	}{
		{`{attribute: Status, from: '*', to: completed, when: 'new.Type == "Order"'}`, "Status", 1},
		{`{attribute: Status, to: completed, when: 'new.Type == "Product"'}`, "", 0},
		{`{attribute: Status, from: shipped, to: completed}`, "", 0},
		{`{attribute: Stock, from: 12, to: 9.50}`, "Stock", 1},
		{`{attribute: Draft, from: true, to: "*"}`, "Draft", 1},
		{`{attribute: Draft, from: True, to: "*"}`, "Draft", 1},
		{`{attribute: Stock, from: +12, to: "*"}`, "Stock", 1},
		{`{changed: [Address.**]}`, "Address", 1},
		{`{appeared: PublishedAt}`, "PublishedAt", 1},
		{`{disappeared: Draft}`, "Draft", 1},
		{`{added: Tags}`, "Tags", 1},
		{`{removed: Tags}`, "Tags", 1},
		{`{attribute: Status}`, "Status", 1},
		{`{attribute: Draft}`, "Draft", 1},
		{`{attribute: PublishedAt}`, "PublishedAt", 1},
		{`{attribute: Type}`, "", 0},
		{`{op: [MODIFY, REMOVE]}`, "", 1},
		{`{op: [INSERT]}`, "", 0},
		{`{attribute: Stock, below: 10}`, "Stock", 1},
		{`{attribute: Stock, above: 10}`, "", 0},
	} {
		cfg := parse(t, "version: 1\nname: p\nsource: {table: t}\ndetect:\n  d: "+tt.detector+"\nsinks: {s: {custom: {name: c}}}\n")
		d := cfg.Detectors[0]
		events, err := d.Detector.Detect(nil, c)
		if err != nil || len(events) != tt.events || d.Name != "d" || d.Line != 5 {
			t.Errorf("%s: %d events (%v), named %s at line %d", tt.detector, len(events), err, d.Name, d.Line)
			continue
		}
		if tt.events > 0 && events[0].Path != tt.path {
			t.Errorf("%s: the path is %q, want %q", tt.detector, events[0].Path, tt.path)
		}
	}
	cfg := parse(t, "version: 1\nname: p\nsource: {table: t}\ndetect:\n  vip: {func: isVIP, when: 'op == \"INSERT\"'}\nsinks: {s: {custom: {name: c}}}\n")
	if d := cfg.Detectors[0]; d.Func != "isVIP" || d.Detector != nil || d.When == nil {
		t.Errorf("func: %+v", d)
	}
}
