package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// keyColumns are the places where a key of single-table designs can have an effect.
var keyColumns = []string{
	"schema", "reference", "plan", "explain", "cost", "test", "query", "backfill", "why", "audit", "repair", "policies", "pushdown",
}

// keyRow is a key. For each column where the key has an effect, cells has a pattern of the text that shows the effect.
// nothing has the other columns.
type keyRow struct {
	key      string
	from, to string            // a change of testdata/keys/shop.yaml that plan must report
	cells    map[string]string // regular expressions, by column
	nothing  []string
}

var keyRows = []keyRow{
	{"entities.*.key", "ORDER#{Date}", "ORDERS#{Date}", map[string]string{
		"schema": `Pattern of each key attribute`, "reference": "(?m)^\\| `key` ", "plan": `entities\.Order\.key\.SK: was 'ORDER#`,
		"explain": `(?m)^  entity  Order$`, "test": `1 test`, "query": `(?m)^AMOUNT  2502125-#7$`, "backfill": `(?m)^AMOUNT  2502125-#7$`,
		"why": `row +PK="AMOUNT" SK="2502125-#7": a row, .*as it should be`, "audit": `by_amount +1 places compared +equal`,
		"repair": `(?m)^AMOUNT  2502125-#7$`, "pushdown": `"SK":\{"S":\[\{"prefix":"ORDER#"\}`,
	}, []string{"cost", "policies"}},
	{"entities.*.when", `"done"`, `"open"`, map[string]string{
		"schema": `Also required of the item`, "reference": "(?m)^\\| `when` ", "plan": `entities\.Refund\.when: was`,
		"explain": `refunds: no_effect \(when\)`, "test": `1 test`, "query": `(?m)^REFUND#1  USER%231,REFUND%231$`,
		"backfill": `(?m)^REFUND#1 `, "audit": `refunds +1 places compared +equal`, "repair": `(?m)^REFUND#1 `,
		"pushdown": `"prefix":"REFUND#"`,
	}, []string{"cost", "policies", "why"}},
	{"entities.*.unique", "unique: OrderId", "unique: Date", map[string]string{
		"schema": `Bound names that identify an item`, "reference": "(?m)^\\| `unique` ",
		"explain": `by_amount: put row PK="AMOUNT" SK="2502125-#7" \(enters\)`, "cost": `(?m)^by_amount: 1 write unit`,
		"query": `(?m)^SKU#a  7#a$`, "backfill": `(?m)^SKU#a  7#a$`, "why": `PK="SKU#a" SK="7#a": a row`,
		"audit": `lines +3 places compared +equal`, "repair": `(?m)^SKU#c  7#c$`, "policies": `dynamodb:ConditionCheckItem`,
	}, []string{"plan", "test", "pushdown"}}, // another name is refused: for_each needs a name that is in the key
	{"entities.*.attributes", "", "", map[string]string{
		"schema": `Types of the attributes with depth`, "reference": "(?m)^\\| `attributes` ", "test": `1 test`,
	}, []string{"plan", "explain", "cost", "query", "backfill", "why", "audit", "repair", "policies", "pushdown"}}, // only validate uses this key
	{"view.attributes: all", "attributes: all", "attributes: {s: '{Status}'}", map[string]string{
		"schema": `"all"`, "reference": "`attributes: all`", "plan": `view\.attributes: was 'all'`, "test": `1 test`,
		"query": `Items=\[\{"sku":"a","qty":2\}`, "backfill": `Items=\[\{"sku":"a","qty":2\}`, "repair": `Items=\[\{"sku":"a","qty":2\}`,
		"audit": `by_status +1 places compared +equal`,
	}, []string{"explain", "cost", "why", "policies", "pushdown"}},
	{"sinks.*.of", "of: Refund, table", "of: User, table", map[string]string{
		"schema": `Only items of these entities`, "reference": "`\\{of: Order\\}`", "explain": `by_status: of: drops it, counted as of`,
		"query": `(?m)^REFUND#1 `, "backfill": `dropped before refunds \(of\)`, "why": `a filter of the sink drops the item`,
		"audit": `refunds +1 places`, "repair": `(?m)^REFUND#1 `, "pushdown": `"prefix":"REFUND#"`, "test": `1 test`,
	}, []string{"cost", "policies", "plan"}}, // another entity is refused: the key of the row has a name of Refund
	{"view.for_each.path", "for_each: {path: Items, by: sku, max: 3}, when", "for_each: {path: Items, max: 3}, when", map[string]string{
		"schema": `List, set or map whose elements have an entry each`, "reference": "`path`", "plan": `view\.for_each\.by: was 'sku'`,
		"explain": `lines: put row PK="SKU#c" SK="7#c" \(element 2\)`, "cost": `(?m)^lines: 2 write units for each KB of each row that differs`,
		"test": `1 test`, "query": `(?m)^SKU#c  7#c$`, "backfill": `(?m)^SKU#c  7#c$`, "why": `contribution .*: 2 rows, .*as it should be`,
		"audit": `lines +3 places compared +equal`, "repair": `(?m)^SKU#c  7#c$`, "policies": `rows of items, which the state guards`,
		"pushdown": `of Refund: Lambda is asked how a key begins`,
	}, nil},
	{"view.for_each.max", "by: sku, max: 3}, when", "by: sku, max: 4}, when", map[string]string{
		"schema": `The most elements that an item may have`, "reference": "`max`", "plan": `view\.for_each\.max: was '3', is '4'`,
	}, []string{"explain", "cost", "test", "query", "backfill", "why", "audit", "repair", "policies", "pushdown"}}, // no item has more
	{"search.for_each", "found:\n    search: {of: Order, connection: es, index: lines, for_each: {path: Items, by: sku",
		"found:\n    search: {of: Order, connection: es, index: lines, for_each: {path: Items, by: qty", map[string]string{
			"schema": `A document for each item`, "reference": "`for_each`", "plan": `search\.for_each\.by: was 'sku', is 'qty'`,
			"explain": `found: delete document lines/.*::b \(leave`, "why": `document +lines/.*::c: a document, .*as it should be`,
			"audit": `found +2 places compared +equal`, "repair": `found: repaired: tombstone document lines/.*::b`,
			"policies": `domain/DOMAIN/lines`, "backfill": `found, lines, refunds: live`, "pushdown": `of Refund: Lambda is asked how a key begins`,
		}, []string{"cost", "test", "query"}},
	{"view.shards, {@shard}", "shards: 4", "shards: 5", map[string]string{
		"schema": `"shards"`, "reference": `\{@shard\}`, "plan": `view\.shards: was '4', is '5'`,
		"explain": `by_status: put row PK="STATUS#paid#1"`, "cost": `a read of a partition is 4 queries, one of each shard`, "test": `1 test`,
		"query": `(?m)^STATUS#paid#1  2026-01-02#7 `, "backfill": `(?m)^STATUS#paid#1 `, "why": `PK="STATUS#paid#1" .*as it should be`,
		"audit": `by_status +1 places compared +equal`, "repair": `(?m)^STATUS#paid#1 `,
	}, []string{"policies", "pushdown"}},
	{"|sortable", "{Total|sortable}", "{Total|pad:6.2}", map[string]string{
		"reference": `\|sortable`, "plan": `was '\{Total\|sortable\}#\{OrderId\}'`, "explain": `SK="2502125-#7"`, "test": `1 test`,
		"query": `2502125-#7`, "backfill": `2502125-#7`, "why": `2502125-#7`, "audit": `by_amount +1 places compared +equal`,
		"repair": `2502125-#7`,
	}, []string{"schema", "cost", "policies", "pushdown"}},
	{"|zone, pad with a fraction", "Europe/Berlin", "Europe/London", map[string]string{
		"reference": `(?s)\|zone.*pad:12\.2`, "plan": `zone:Europe/Berlin`, "explain": `claim row PK="DUE#2026-07-01T10" SK="012\.50#7"`,
		"test": `1 test`, "query": `(?m)^DUE#2026-07-01T10  012\.50#7$`, "backfill": `(?m)^DUE#2026-07-01T10  012\.50#7$`,
		"why": `PK="DUE#2026-07-01T10" SK="012\.50#7": a row`, "audit": `by_due +4 places compared +equal`,
		"repair": `(?m)^DUE#2026-07-01T10  012\.50#7$`, "cost": `(?m)^by_due: guarded by item`,
	}, []string{"schema", "policies", "pushdown"}},
	{"archive.names, key without {@version}, {@entity}, kinds, images", "", "", map[string]string{
		"schema": `"names"`, "reference": "`names: raw`", "explain": `gone: no_effect \(kind\)`,
		"query":    `archive/shop-gone/Order/USER#2/ORDER#2026-01-03#8\.json:\{"key":.*"kind":"user_delete".*"old":\{"PK":"USER#2"`,
		"policies": `arn:aws:s3:::shop-gone/\*`, "why": `holds changes, not items`, "pushdown": `of Refund: Lambda is asked how a key begins`,
	}, []string{"plan", "cost", "test", "backfill", "audit", "repair"}},
	{"archive.storage_class", "", "", map[string]string{"schema": `"storage_class"`, "reference": "`storage_class`"},
		[]string{"plan", "explain", "cost", "test", "query", "backfill", "why", "audit", "repair", "policies", "pushdown"}},
	{"detect.*.op, detect.*.attribute", "", "", map[string]string{
		"schema": `"op"`, "reference": `op: \[INSERT\]`, "explain": `(?s)event   placed.*moved  Status: "new" -> "paid"`,
		"query": `mail\.jsonl:.*"detector":"moved"`,
	}, []string{"plan", "cost", "test", "backfill", "why", "audit", "repair", "policies", "pushdown"}},
	{"notify.attributes, notify.region, notify.origin", "", "", map[string]string{
		"schema": `(?s)"origin".*"region"`, "reference": "(?s)`region`.*`origin`", "explain": `abroad: send tablewake\.shop\.placed`,
		"query": `mail\.jsonl:.*"attributes":\{"Total":12\.5,"OrderId":"7"\}`, "policies": `arn:aws:sns:eu-central-1:123456789012:shop-abroad`,
		"why": `keeps nothing`,
	}, []string{"plan", "cost", "test", "backfill", "audit", "repair", "pushdown"}},
}

// Every command handles every key of single-table designs.
func TestKeys(t *testing.T) {
	in := filepath.Join("testdata", "keys")
	dir := t.TempDir()
	env := []string{"AWS_REGION=eu-central-1"}
	file, err := os.ReadFile(filepath.Join(in, "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shop, stream, first := filepath.Join(in, "shop.yaml"), filepath.Join(in, "stream.jsonl"), filepath.Join(in, "first.jsonl")
	items := filepath.Join(in, "items.jsonl")
	whole, behind, filled := filepath.Join(dir, "whole"), filepath.Join(dir, "behind"), filepath.Join(dir, "filled")
	report := filepath.Join(dir, "report")
	run := func(code int, args ...string) string { return clitest.Apart(t, env, code, args...) }
	view := func(local string) string { return run(0, "query", "view", "shop-views", "--local", local) }
	reference, err := os.ReadFile(filepath.Join("..", "..", "pipeline", "config", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	run(0, "replay", "-c", shop, "--local", whole, "--notify", stream)
	run(0, "replay", "-c", shop, "--local", behind, first)
	run(8, "audit", "-c", shop, "--local", behind, "--report", report, stream)
	got := map[string]string{
		"schema": run(0, "validate", "--schema"), "reference": string(reference),
		"explain": run(0, "explain", "-c", shop, stream), "cost": run(0, "cost", "-c", shop), "test": run(0, "test", "-c", shop),
		"query":    view(whole) + lines(t, whole, "archive") + lines(t, whole, "events"),
		"backfill": run(0, "backfill", "-c", shop, "--local", filled, "--items", items, "--keys", "PK,SK") + view(filled),
		"why":      run(0, "why", "-c", shop, "--local", whole, "--key", "PK=USER#1,SK=ORDER#2026-01-02#7", stream),
		"audit":    run(0, "audit", "-c", shop, "--local", whole, "--report", report+"2", stream),
		"repair":   run(0, "audit", "-c", shop, "--local", behind, "--repair", report, stream) + view(behind),
		"policies": run(0, "template", "-c", shop, "-o", "policies"),
	}
	narrow, _, _ := strings.Cut(string(file), "  lines:\n")
	narrow = write("narrow.yaml", narrow+"  refunds:\n    view: {of: Refund, table: shop-views, key: {PK: R, SK: '{@key}'}}\n")
	got["pushdown"] = run(0, "template", "-c", narrow, "-o", "filters") + run(0, "template", "-c", shop, "-o", "filters")
	for _, r := range keyRows {
		if r.cells["plan"] != "" {
			if strings.Count(string(file), r.from) != 1 {
				t.Errorf("%s: %q is not once in the file", r.key, r.from)
			}
			changed := write("changed.yaml", strings.Replace(string(file), r.from, r.to, 1))
			got["plan"] = run(7, "plan", "-c", changed, "--local", whole)
		}
		for _, column := range keyColumns {
			cell, has := r.cells[column]
			switch {
			case has == slices.Contains(r.nothing, column):
				t.Errorf("%s: %s is in both cells and nothing, or in neither", r.key, column)
			case has && !regexp.MustCompile(cell).MatchString(got[column]):
				t.Errorf("%s: %s does not show %s:\n%s", r.key, column, cell, got[column][:min(len(got[column]), 6000)])
			}
		}
	}
}

// lines returns every line of the files in a part of a --local folder, with the file's name.
func lines(t *testing.T, local, part string) string {
	t.Helper()
	root, err := os.OpenRoot(local)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var all strings.Builder
	err = filepath.WalkDir(filepath.Join(local, part), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		name, err := filepath.Rel(local, path)
		if err != nil {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		for line := range strings.Lines(string(b)) {
			all.WriteString(name + ":" + line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
