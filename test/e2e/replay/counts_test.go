package replay

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// counts is a pipeline with the sinks that keep state of their items: views whose rows several items want, with the
// policies last and keep_first, and aggregates of every kind.
var counts = pipelineFile{
	text: `
version: 1
name: counts
source: {table: t}
sinks:
  latest:
    view:
      table: rows
      when: 'item.Type != "Product"'
      key: {PK: 'LATEST#{Mail|lower}', SK: ROW}
      attributes: {who: '{@key}', total: '{Total}'}
      on_collision: last
  first:
    view:
      table: rows
      key: {PK: 'FIRST#{Mail|lower}', SK: '{CreatedAt|date:2006-01}'}
      attributes: {who: '{@key}', price: '{Price}'}
      on_collision: keep_first
  kept:
    aggregate:
      table: rows
      when: 'item.Type == "Order"'
      group: {PK: 'KEPT#{Status}', SK: '{CreatedAt|date:2006-01-02}'}
      values: {n: count, total: {sum: Total}, least: {min: Total}, most: {max: Price}, mails: {distinct: Mail}}
      on_ttl_delete: keep
      shards: 3
  retracted:
    aggregate:
      table: rows
      group: {PK: 'ALL', SK: '{Type}'}
      values: {n: count, total: {sum: Total}, least: {min: Mail}, most: {max: Status}, days: {distinct: CreatedAt}}
      on_ttl_delete: retract
  lines:
    aggregate:
      table: rows
      for_each: Lines
      group: {PK: 'LINE#{each.sku}', SK: '{Type}'}
      values: {n: count, units: {sum: each.qty}, least: {min: each.qty}, most: {max: Total}, kinds: {distinct: each.qty}}
      on_ttl_delete: keep
      shards: 2
dead_letters: {bucket: counts, prefix: dead/}
`,
	rows: "rows",
}

// counted returns the rows that aggregates must have after these changes, computed in plain Go.
func counted(as []aggregate, cs []change) map[string]string {
	groups := make(map[string]*group)
	for _, a := range as {
		for _, one := range a.counting(cs) {
			name := canonical(oracleItem{"PK": str(one.pk), "SK": one.sk})
			if groups[name] == nil {
				groups[name] = &group{of: a, pk: one.pk, sk: one.sk}
			}
			groups[name].portions = append(groups[name].portions, one)
		}
	}
	rows := make(map[string]string)
	for name, g := range groups {
		rows[name] = g.row()
	}
	return rows
}

// portion is the contribution of an item, or of an element of a list of an item.
type portion struct {
	pk     string
	sk     any            // in DynamoDB JSON
	values map[string]any // by the value's name; a missing value has no entry
}

// aggregate is an aggregate of a configuration.
type aggregate struct {
	prefix string // start of the partition key
	shards int    // number of shards; 0 if there are none
	keep   bool
	of     map[string]string // how each value is computed
	counts func(it oracleItem) []portion
}

var aggregates = []aggregate{
	{
		prefix: "KEPT#", shards: 3, keep: true, of: map[string]string{"n": "count", "total": "sum", "least": "min", "most": "max", "mails": "distinct"},
		counts: func(it oracleItem) []portion {
			status, day := keyText(it["Status"]), day(it["CreatedAt"])
			if text(it["Type"]) != "Order" || status == "" || day == "" {
				return nil
			}
			return []portion{{"KEPT#" + status, str(day), map[string]any{"total": it["Total"], "least": it["Total"], "most": it["Price"], "mails": it["Mail"]}}}
		},
	},
	{
		prefix: "ALL", of: map[string]string{"n": "count", "total": "sum", "least": "min", "most": "max", "days": "distinct"},
		counts: func(it oracleItem) []portion {
			if text(it["Type"]) == "" {
				return nil
			}
			return []portion{{"ALL", it["Type"], map[string]any{"total": it["Total"], "least": it["Mail"], "most": it["Status"], "days": it["CreatedAt"]}}}
		},
	},
	{
		prefix: "LINE#", shards: 2, keep: true, of: map[string]string{"n": "count", "units": "sum", "least": "min", "most": "max", "kinds": "distinct"},
		counts: func(it oracleItem) []portion {
			tag, list := untag(it["Lines"])
			if tag != "L" || text(it["Type"]) == "" {
				return nil
			}
			var all []portion
			for _, e := range list.([]any) {
				_, line := untag(e)
				m := line.(map[string]any)
				if sku := text(m["sku"]); sku != "" {
					all = append(all, portion{"LINE#" + sku, it["Type"], map[string]any{"units": m["qty"], "least": m["qty"], "most": it["Total"], "kinds": m["qty"]}})
				}
			}
			return all
		},
	},
}

// ofItem returns the contributions of an item. It returns none for a nil item.
func (a aggregate) ofItem(it oracleItem) []portion {
	if it == nil {
		return nil
	}
	return a.counts(it)
}

// counting returns all contributions that count in the end. These are the contributions of each item by its newest
// change. If keep is set, they include the contributions of expired items.
func (a aggregate) counting(cs []change) []portion {
	var all []portion
	newest := make(map[string]change)
	counts := make(map[string][]portion)
	for _, c := range cs {
		if is, known := newest[c.key]; known && c.version <= is.version {
			continue
		}
		if len(counts[c.key]) == 0 && len(a.ofItem(c.new)) == 0 && len(a.ofItem(c.old)) == 0 {
			continue // the item does not count now, and neither image counts
		}
		if c.ttl && a.keep {
			all = append(all, a.ofItem(c.old)...)
		}
		newest[c.key], counts[c.key] = c, a.ofItem(c.new)
	}
	for _, ones := range counts {
		all = append(all, ones...)
	}
	return all
}

// group is a row of an aggregate.
type group struct {
	of       aggregate
	pk       string
	sk       any
	portions []portion
}

func (g *group) row() string {
	row := oracleItem{"PK": str(g.pk), "SK": g.sk}
	for name, of := range g.of.of {
		var values []any
		for _, o := range g.portions {
			if tag, _ := untag(o.values[name]); tag != "" && tag != "NULL" {
				values = append(values, o.values[name])
			}
		}
		switch of {
		case "count":
			row[name] = tagged("N", fmt.Sprint(len(g.portions)))
		case "distinct":
			if len(values) == 0 {
				break
			}
			different := make(map[string]bool)
			for _, v := range values {
				different[canonical(oracleItem{"v": v})] = true
			}
			row[name] = tagged("N", fmt.Sprint(len(different)))
		case "sum":
			row[name] = total(values)
		default:
			if len(values) == 0 {
				break
			}
			slices.SortFunc(values, ordered)
			row[name] = values[0]
			if of == "max" {
				row[name] = values[len(values)-1]
			}
		}
	}
	return canonical(row)
}

// total returns the exact sum of values. It is a number, or a text if the sum has more than 38 digits.
func total(values []any) any {
	sum := new(big.Rat)
	for _, v := range values {
		_, x := untag(v)
		n, _ := new(big.Rat).SetString(x.(string))
		sum.Add(sum, n)
	}
	places, _ := sum.FloatPrec()
	digits := sum.FloatString(places)
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(digits, "-"), ".")
	if len(strings.Trim(whole+fraction, "0")) > 38 || len(whole) > 126 {
		return str(digits)
	}
	return tagged("N", digits)
}

// ordered compares two values. Texts come before numbers, numbers before bytes, and values of one type are in order of
// value.
func ordered(a, b any) int {
	s, x := untag(a)
	t, y := untag(b)
	if s != t {
		return strings.Index("SNB", s) - strings.Index("SNB", t)
	}
	if s == "N" {
		n, _ := new(big.Rat).SetString(x.(string))
		m, _ := new(big.Rat).SetString(y.(string))
		return n.Cmp(m)
	}
	if s == "B" {
		n, _ := base64.StdEncoding.DecodeString(x.(string))
		m, _ := base64.StdEncoding.DecodeString(y.(string))
		return bytes.Compare(n, m)
	}
	return strings.Compare(x.(string), y.(string))
}

func day(v any) string {
	at, err := time.Parse(time.RFC3339, text(v))
	if err != nil {
		return ""
	}
	return at.UTC().Format(time.DateOnly)
}

// wanted returns the rows that items request, by key. If several items may have the row of a key, it returns all of
// them.
func wanted(cs []change) map[string][]string {
	rows := make(map[string][]string)
	highest := make(map[string]change)
	for key, c := range last(cs) {
		mail := strings.ToLower(text(c.new["Mail"]))
		if c.gone || c.new == nil || mail == "" {
			continue
		}
		add := func(pk, sk, column, attribute string) string {
			row := oracleItem{"PK": str(pk), "SK": str(sk), "who": str(key)}
			if v, ok := c.new[attribute]; ok {
				row[column] = v
			}
			name := canonical(oracleItem{"PK": row["PK"], "SK": row["SK"]})
			rows[name] = append(rows[name], canonical(row))
			return name
		}
		if d := day(c.new["CreatedAt"]); d != "" {
			add("FIRST#"+mail, d[:len("2006-01")], "price", "Price")
		}
		if text(c.new["Type"]) == "Product" {
			continue
		}
		name := canonical(oracleItem{"PK": str("LATEST#" + mail), "SK": str("ROW")})
		if was, ok := highest[name]; ok && !c.after(was) {
			continue
		}
		highest[name] = c
		delete(rows, name)
		add("LATEST#"+mail, "ROW", "total", "Total")
	}
	return rows
}

// after reports whether c comes after d, a change of a different item. It compares seconds, then versions and keys.
func (c change) after(d change) bool {
	if c.second != d.second {
		return c.second > d.second
	}
	return c.version+" "+c.key > d.version+" "+d.key
}

// merge adds a row to rows. The keys of shards end in ~0, ~1, ..., and the rows of the shards of a group are added up.
func merge(as []aggregate, rows map[string]oracleItem, row oracleItem) {
	key := text(row["PK"])
	for _, a := range as {
		if !strings.HasPrefix(key, a.prefix) || a.shards == 0 {
			continue
		}
		if i := strings.LastIndexByte(key, '~'); i >= 0 {
			row["PK"] = str(key[:i])
		}
		was := rows[canonical(oracleItem{"PK": row["PK"], "SK": row["SK"]})]
		for name, v := range was {
			is, there := row[name]
			switch of := a.of[name]; {
			case !there, of == "min" && ordered(v, is) < 0, of == "max" && ordered(v, is) > 0:
				row[name] = v
			case of == "sum", of == "count", of == "distinct":
				row[name] = total([]any{v, is})
			}
		}
	}
	rows[canonical(oracleItem{"PK": row["PK"], "SK": row["SK"]})] = row
}

// checkCounts compares a folder with the rows of the oracle for these changes.
func checkCounts(t *testing.T, out string, arrived []change) {
	t.Helper()
	want := wanted(arrived)
	for name, row := range counted(aggregates, arrived) {
		want[name] = append(want[name], row)
	}
	checkRows(t, out, counts.rows, aggregates, want)
}

// checkRows checks that the table has one of the allowed rows at each key, and no other rows.
func checkRows(t *testing.T, out, table string, as []aggregate, want map[string][]string) {
	t.Helper()
	got := make(map[string]oracleItem)
	for _, line := range query(t, out, "view", table, "--typed") {
		var row oracleItem
		decode(t, line, &row)
		merge(as, got, row)
	}
	wrong := 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if is := canonical(got[name]); !slices.Contains(want[name], is) {
			if wrong++; wrong <= 3 {
				t.Errorf("%s is\n  %s\nwant\n  %s", name, is, strings.Join(want[name], "\nor\n  "))
			}
		}
		delete(got, name)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if wrong++; wrong <= 3 {
			t.Errorf("%s should not be there: %s", name, canonical(got[name]))
		}
	}
	if wrong > 3 {
		t.Errorf("%d differences in all, of %d", wrong, len(want))
	}
}
