package config_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/config"
)

const shaped = `version: 1
name: p
source: {table: t, ttl_attribute: exp}
state: {table: s}
hmac_key: '${TABLEWAKE_HMAC_KEY}'
sensitive: [Email, 'Address.**']
connections: {os: {opensearch: 'https://a'}}
filters: [{drop: {key_prefix: {PK: 'TMP#'}}}, {keep: {any: [{key_prefix: {PK: 'A', SK: 'B'}}, {key_prefix: {PK: 'C'}}]}}]
detect:
  paid: {attribute: Status, to: paid, when: 'new.Total > 1'}
  moved: {changed: [City, 'Lines[*].qty']}
sinks:
  v:
    view: {table: views, when: 'item.Type == "a"', key: {PK: 'V#{B}', SK: x}, attributes: {b: '{B}', c: '{C}'}, on_collision: last}
  a:
    aggregate: {table: counts, when: 'item.N > 1', group: {PK: 'A#{each.sku}', SK: x}, values: {n: count, s: {sum: each.qty}}, for_each: Lines, shards: 4, on_ttl_delete: keep}
  s:
    search: {connection: os, index: i, id: hmac, fields: {include: [Name, Address.City, Tags], hash: [Phone], rename: {Name: title}}, allow_sensitive: [Address.City]}
  l:
    archive: {bucket: bucket, prefix: p/, partition: 'd={@op}', kinds: [change, user_delete], masked: true, when: 'op == "INSERT"', roll: {age: 5m}}
  n:
    notify: {queue: q, events: [paid, moved], filters: [{drop: ttl_deletes}, {drop: probable_ttl}]}
  c:
    custom: {name: c, with: {url: u, deep: {token: "${HOST}", n: 1}}}
`

func settingsOf(t testing.TB, text string) map[string]map[string]string {
	t.Helper()
	cfg, err := config.Parse("t.yaml", []byte(text), getenv)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := make(map[string]map[string]string)
	for _, s := range cfg.Sinks {
		all[s.Name] = s.Settings
	}
	return all
}

// The settings hold everything that shapes the output of a sink, each under its path.
func TestSettings(t *testing.T) {
	all := settingsOf(t, shaped)
	var b strings.Builder
	for _, sink := range slices.Sorted(maps.Keys(all)) {
		for _, path := range slices.Sorted(maps.Keys(all[sink])) {
			fmt.Fprintf(&b, "%s %s: %s\n", sink, path, all[sink][path])
		}
	}
	golden(t, "testdata/settings.golden", b.String())
	for _, secret := range []string{environment["TABLEWAKE_HMAC_KEY"], environment["HOST"]} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the settings hold %q", secret)
		}
	}
}

// Two files with the same meaning have the same settings.
func TestSameSettings(t *testing.T) {
	want := settingsOf(t, shaped)
	for _, r := range [][2]string{
		{"name: p", "name: 'p' # comment"},
		{"name: p", "name: q"}, // the name is not a setting
		{"{table: t,", "{table: 'arn:aws:dynamodb:eu-central-1:123456789012:table/t',"},
		{"{table: t,", "{tables: [t],"},
		{"{table: t,", "{emulator: dynamodb-local, table: t,"},
		{"{table: t,", "{start: latest, on_gap: continue, polling: {max_idle: 1s, calls_per_month: 5}, table: t,"},
		{"{table: t,", "{on_gap: repair, table: t,"},
		{"state: {table: s}", "leases: {table: l, duration: 30s}\nstate: {table: s}"},
		{"{table: s}", "{table: other, guard_retention: 60d}"},
		{"[Email, 'Address.**']", "[Address, '[\"Email\"]']"},
		{"https://a", "https://b"},
		{"{PK: 'A', SK: 'B'}", "{SK: 'B', PK: 'A'}"},
		{"[{drop: {key_prefix: {PK: 'TMP#'}}}, {keep: {any: [{key_prefix: {PK: 'A', SK: 'B'}}, {key_prefix: {PK: 'C'}}]}}]",
			"[{keep: {any: [{key_prefix: {PK: 'C'}}, {key_prefix: {PK: 'A', SK: 'B'}}]}}, {drop: {name: other, key_prefix: {PK: 'TMP#'}}}]"},
		{"to: paid", "from: '*', to: paid"},
		{"'new.Total > 1'", "'new.Total>1'"},
		{"[City, 'Lines[*].qty']", "['Lines[*].qty', City]"},
		{`'item.Type == "a"'`, `"item.Type == \"a\""`},
		{"table: views, when: 'item.Type", "tombstones: apart, rate: 5, concurrency: 2, batch: {count: 5}, table: views, when: 'item.Type"},
		{"attributes: {b: '{B}', c: '{C}'}", "attributes: {c: '{C}', b: \"{B}\"}"},
		{"shards: 4", "shards: 0x4"},
		{"{n: count, s: {sum: each.qty}}", "{s: {sum: each.qty}, n: count}"},
		{"index: i, id: hmac", "id: hmac, mode: exact, index: i"},
		{"[Name, Address.City, Tags]", "[Tags, Phone, Name, '[\"Address\"].City']"},
		{"rename: {Name: title}", "rename: {'[\"Name\"]': title}"},
		{"bucket: bucket, ", ""},
		{"[change, user_delete]", "[user_delete, change]"},
		{"roll: {age: 5m}", "roll: {bytes: 64MB}, storage_class: GLACIER, layout: log, images: dynamodb_json"},
		{"allow_sensitive: [Address.City]", "allow_sensitive: [Email, Address.City]"}, // Email is not included in either case
		{"queue: q", "topic: t, format: CloudEvents"},
		{"[paid, moved]", "[moved, paid]"},
		{"{drop: ttl_deletes}, {drop: probable_ttl}", "{drop: probable_ttl}, {drop: ttl_deletes}"},
		{"{url: u, deep: {token: \"${HOST}\", n: 1}}", "{deep: {n: 1, token: '${HOST}'}, url: 'u'}"},
	} {
		if !strings.Contains(shaped, r[0]) {
			t.Fatalf("%q is not in the file", r[0])
		}
		got := settingsOf(t, strings.Replace(shaped, r[0], r[1], 1))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q for %q changes settings (-want +got):\n%s", r[1], r[0], diff)
		}
	}
}

// A change of meaning changes the settings of exactly the sinks whose output it shapes, under the path of the change.
func TestOtherSettings(t *testing.T) {
	want := settingsOf(t, shaped)
	for _, r := range []struct{ old, new, changed string }{
		{"{table: t,", "{table: u,", "a.source.tables c.source.tables l.source.tables n.source.tables s.source.tables v.source.tables"},
		{"{table: t,", "{tables: [t, u],", "a.source.tables c.source.tables l.source.tables n.source.tables s.source.tables v.source.tables"},
		{"'TMP#'", "'TEMP#'", "a.filters c.filters l.filters n.filters s.filters v.filters"},
		{"keep: {any", "drop: {any", "a.filters c.filters l.filters n.filters s.filters v.filters"},
		{"keep: {any", "keep: {all", "a.filters c.filters l.filters n.filters s.filters v.filters"},
		{"ttl_attribute: exp", "ttl_attribute: expires", "n.notify.filters"},
		{"'${TABLEWAKE_HMAC_KEY}'", "'${TABLEWAKE_HMAC_KEY}g'", "c.hmac_key l.hmac_key n.hmac_key s.hmac_key"},
		{"[Email, 'Address.**']", "[Email, 'Address.**', Secret]", "c.sensitive l.sensitive n.sensitive"},
		{"[Email, 'Address.**']", "[Email, 'Address.**', Tags.x]", "c.sensitive l.sensitive n.sensitive s.sensitive"},
		{"[Email, 'Address.**']", "[Email, Address.City]", "c.sensitive l.sensitive n.sensitive s.sensitive"},
		{"to: paid", "to: sent", "c.detect.paid n.detect.paid"},
		{"'new.Total > 1'", "'new.Total > 2'", "c.detect.paid n.detect.paid"},
		{"[paid, moved]", "[paid]", "n.detect.moved n.notify.events"},
		{"[paid, moved]", "[paid, moved], attributes: [Name, Total]", "n.notify.attributes"},
		{"[paid, moved]", "[paid, moved], origin: Home", "n.notify.origin"},
		{"[paid, moved]", "[paid, moved], region: eu-west-1", "n.notify.region"},
		{"item.Type ==", "item.Type !=", "v.view.when"},
		{"{PK: 'V#{B}', SK: x}", "{SK: 'V#{B}', PK: x}", "v.view.key v.view.key.PK v.view.key.SK"},
		{"b: '{B}'", "b: '{B?}'", "v.view.attributes.b"},
		{"b: '{B}', ", "", "v.view.attributes.b"},
		{"on_collision: last", "on_collision: keep_first", "v.view.on_collision"},
		{", on_collision: last", ", tombstones: in_place", "v.view.on_collision v.view.tombstones"},
		{"{sum: each.qty}", "{max: each.qty}", "a.aggregate.values.s.max a.aggregate.values.s.sum"},
		{"{sum: each.qty}", "{sum: qty}", "a.aggregate.values.s.sum"},
		{"shards: 4, ", "", "a.aggregate.shards"},
		{"on_ttl_delete: keep", "on_ttl_delete: retract", "a.aggregate.on_ttl_delete"},
		{"for_each: Lines", "for_each: Rows", "a.aggregate.for_each"},
		{"index: i,", "index: j,", "s.search.index"},
		{"id: hmac, ", "", "s.search.id"},
		{"hash: [Phone]", "hash: [Tags]", "s.search.fields.hash s.search.fields.include"},
		{"{Name: title}", "{Name: name}", "s.search.fields.rename.Name"},
		{"allow_sensitive: [Address.City]", "allow_sensitive: ['Address.**']", "s.sensitive"},
		{"prefix: p/", "prefix: q/", "l.archive.prefix"},
		{"{@op}", "{@table}", "l.archive.partition"},
		{"[change, user_delete]", "[change, user_delete, ttl_delete]", "l.archive.kinds"},
		{`op == "INSERT"`, `op == "REMOVE"`, "l.archive.when"},
		{"masked: true", "allow_sensitive: [Email]", "l.sensitive"},
		{"masked: true", "allow_sensitive: [Email, Address]", "l.hmac_key l.sensitive"},
		{"masked: true", "masked: true, layout: per_item, key: '{@key}/{@version}'", "l.archive.key l.archive.layout l.archive.partition"},
		{"{drop: ttl_deletes}, ", "", "n.notify.filters"},
		{"n: 1}", "n: 2}", "c.custom.with.deep.n"},
		{"n: 1}", "n: '1'}", "c.custom.with.deep.n"},
		{"${HOST}", "${WORD}", "c.custom.with.deep.token"},
	} {
		if !strings.Contains(shaped, r.old) {
			t.Fatalf("%q is not in the file", r.old)
		}
		text := strings.Replace(shaped, r.old, r.new, 1)
		if strings.Contains(r.new, "per_item") {
			text = strings.NewReplacer("partition: 'd={@op}', ", "", ", roll: {age: 5m}", "").Replace(text)
		}
		got := settingsOf(t, text)
		var changed []string
		for sink := range want {
			for path := range allOf(want[sink], got[sink]) {
				if want[sink][path] != got[sink][path] {
					changed = append(changed, sink+"."+path)
				}
			}
		}
		slices.Sort(changed)
		if is := strings.Join(changed, " "); is != r.changed {
			t.Errorf("%q for %q changes\n %s, want\n %s", r.new, r.old, is, r.changed)
		}
	}
}

// The number of shards of a view is a separate setting.
func TestShardSettings(t *testing.T) {
	const text = `version: 1
name: p
source: {table: t}
state: {table: s}
sinks: {v: {view: {table: views, shards: 10, key: {PK: 'V#{@shard}', SK: '{@key}'}}}}
`
	want := settingsOf(t, text)["v"]
	if want["view.shards"] != "10" {
		t.Errorf("%v", want)
	}
	got := settingsOf(t, strings.Replace(text, "10", "20", 1))["v"]
	if got["view.shards"] = "10"; !maps.Equal(want, got) {
		t.Errorf("other shards change other settings: %v, and were %v", got, want)
	}
}

// The setting view.guards changes when rows of a view get another guard, although no key of the view may change.
func TestGuardSettings(t *testing.T) {
	const text = `version: 1
name: p
source: {tables: [t]}
state: {table: s}
entities: {Order: {key: {PK: 'U#{User}', SK: 'O#{Order}'}, unique: Order}}
sinks: {v: {view: {table: views, of: Order, key: {PK: 'O#{Order}', SK: x}}}}
`
	const key = "{PK: 'O#{Order}', SK: x}"
	for _, tt := range []struct{ old, new, want string }{
		{"", "", "rows"},
		{", unique: Order", "", "items"},
		{key, key + ", on_collision: last", "items"},
		{key, "{PK: '{@key}', SK: x}, on_collision: last", "rows"},
		{key, "{PK: 'S#{Status}', SK: x}", "items"},
		{key, "{PK: '{Status}', SK: x}", "rows, if the key of the table is in Status"},
		{key, "{PK: '{PK|esc}', SK: '{SK|esc}'}", "rows, if the key of the table is in PK, SK"},
		{key, "{PK: '{SK|esc}', SK: '{PK|esc}'}", "rows, if the key of the table is in PK, SK"},
		{key, "{PK: '{PK|esc}{Status}', SK: '{SK|esc}'}", "items"},
		{key, "{PK: '{Status}', SK: '{@key}#{@each}'}, for_each: Tags", "items"},
	} {
		if got := settingsOf(t, strings.Replace(text, tt.old, tt.new, 1))["v"]["view.guards"]; got != tt.want {
			t.Errorf("%q for %q: guards of %s, want %s", tt.new, tt.old, got, tt.want)
		}
	}
	escaped := strings.NewReplacer(key, "{PK: '{PK|esc}', SK: '{SK|esc}'}", "[t]", "[t, u]").Replace(text)
	if got := settingsOf(t, escaped)["v"]["view.guards"]; got != "items" {
		t.Errorf("with two tables: guards of %s", got)
	}
}

func allOf(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// The settings hold the content of a mapping, not the name of its file.
func TestMappingSettings(t *testing.T) {
	of := func(index string) string {
		file := "version: 1\nname: p\nsource: {table: t}\nsinks: {s: {search: {index: i, mapping: testdata/mappings/" + index + ".json}}}\n"
		return settingsOf(t, file)["s"]["search.mapping"]
	}
	a, again, other := of("a"), of("a_again"), of("b")
	if a == "" || a != again || a == other {
		t.Errorf("digests %q, %q and %q", a, again, other)
	}
}

// The order of keys, and of lists that are sets, does not change the settings.
func TestSettingsHaveNoOrder(t *testing.T) {
	files := []string{shaped}
	for _, name := range []string{"rules", "aggregates", "sensitive", "guarded_by_item"} {
		files = append(files, read(t, "testdata/good/"+name+".yaml"))
	}
	want := make([]map[string]map[string]string, len(files))
	for i, file := range files {
		want[i] = settingsOf(t, file)
	}
	rapid.Check(t, func(r *rapid.T) {
		i := rapid.IntRange(0, len(files)-1).Draw(r, "file")
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(files[i]), &doc); err != nil {
			r.Fatal(err)
		}
		shuffle(r, &doc, "")
		text, err := yaml.Marshal(&doc)
		if err != nil {
			r.Fatal(err)
		}
		cfg, err := config.Parse("t.yaml", text, getenv)
		if err != nil {
			r.Fatalf("%v\n%s", err, text)
		}
		for _, s := range cfg.Sinks {
			if diff := cmp.Diff(want[i][s.Name], s.Settings); diff != "" {
				r.Fatalf("%s (-want +got):\n%s\n%s", s.Name, diff, text)
			}
		}
	})
}

// shuffle reorders everything without an order. The keys of a row, and the settings of a Go sink, keep their order.
func shuffle(r *rapid.T, n *yaml.Node, name string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if name := n.Content[i].Value; name != "with" {
				shuffle(r, n.Content[i+1], name)
			}
		}
		if name == "key" || name == "group" {
			return
		}
		order := rapid.Permutation(slices.Collect(slices.Chunk(slices.Clone(n.Content), 2))).Draw(r, name)
		n.Content = slices.Concat(order...)
	case yaml.SequenceNode, yaml.DocumentNode:
		for _, e := range n.Content {
			shuffle(r, e, name)
		}
		n.Content = rapid.Permutation(n.Content).Draw(r, name)
	}
}

// In rules about entities, item.PATH means the same as PATH, wherever a path can stand.
func TestItemPaths(t *testing.T) {
	text := func(prefix string) string {
		return strings.ReplaceAll(`version: 1
name: p
source: {table: t}
state: {table: s}
entities:
  Order: {key: {PK: '{OrderId}'}, attributes: {Status: S, Total: N, Items: [{sku: S}], Tags: SS}}
connections: {os: {opensearch: 'https://a'}}
detect:
  moved: {of: Order, attribute: $Status}
  changed: {of: Order, changed: ['$Items[*].sku']}
  tagged: {of: Order, added: $Tags}
sinks:
  lines: {view: {of: Order, table: v, for_each: {path: $Items, by: sku}, key: {PK: '{OrderId|esc}', SK: '{@key}#{@each}'}}}
  skus: {aggregate: {of: Order, table: c, for_each: $Items, group: {PK: '{each.sku}'}, values: {n: count}, on_ttl_delete: keep}}
  search: {search: {of: Order, index: i, fields: {include: [$Status, '$Items.sku']}}}
  mail: {notify: {of: Order, queue: q, events: [moved, changed, tagged]}}
`, "$", prefix)
	}
	if diff := cmp.Diff(settingsOf(t, text("")), settingsOf(t, text("item."))); diff != "" {
		t.Error(diff)
	}
}
