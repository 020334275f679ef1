package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// shards is the number of shards of the aggregate totals.
const shards = 3

func shardOf(text string) int {
	h := fnv.New64a()
	h.Write([]byte(text))
	return int(h.Sum64() % shards)
}

// groupRow is one shard of a group of the aggregate totals.
type groupRow struct {
	items, value int
	prices       []int
	names        []string
}

// groupVersion returns the version of one shard of the group of pk: the version of the newest change that concerned
// this shard.
func groupVersion(tb *table, pk string, shard int) (newest string) {
	for _, pk := range []string{pk, second(pk)} {
		for n, th := range tb.history[pk] {
			if shardOf(pk) != shard && shardOf("a"+th.name) != shard {
				continue
			}
			newest = max(newest, tb.version(pk, n+1))
			if n+1 < len(tb.history[pk]) {
				newest = max(newest, tb.version(pk, n+2)) // this change removed the state th
			}
		}
	}
	return newest
}

// text returns a text that is equal for equal rows.
func (r *groupRow) text() string {
	slices.Sort(r.prices)
	slices.Sort(r.names)
	return fmt.Sprint(r.items, r.value, r.prices, r.names)
}

// group returns the items of the group of pk.
func group(tb *table, pk string) map[string]thing {
	return map[string]thing{pk: tb.now(pk), second(pk): tb.now(second(pk))}
}

// shareRows returns the rows of a group of totals by shard. A distinct name is in the shard that belongs to the name.
func shareRows(items map[string]thing) map[int]*groupRow {
	rows := make(map[int]*groupRow)
	row := func(shard int) *groupRow {
		if rows[shard] == nil {
			rows[shard] = &groupRow{}
		}
		return rows[shard]
	}
	for pk, th := range items {
		r := row(shardOf(pk))
		r.items++
		r.value += th.price
		r.prices = append(r.prices, th.price)
		r = row(shardOf("a" + th.name)) // the sortable form of a text begins with an a
		r.names = append(r.names, pk+" "+th.name)
	}
	return rows
}

func groupPlace(pk string, shard int) string {
	return rowPlace(fmt.Sprintf("TOTAL#%s~%d", pk, shard), "T")
}

// groupsFound returns the differences between the rows of a group and the sums of its shares.
func groupsFound(tb *table, sink, pk string, rows, sums map[int]*groupRow) (fs []found) {
	for shard := range shards {
		have, want := rows[shard], sums[shard]
		f := found{sink, "group", groupPlace(pk, shard), "", "", ""}
		if have != nil {
			f.Version = groupVersion(tb, pk, shard)
		}
		switch {
		case have == nil && want == nil || have != nil && want != nil && have.text() == want.text():
			continue
		case have == nil:
			f.Verdict = "missing"
		case want == nil:
			f.Verdict = "extra"
		default:
			f.Verdict = "wrong"
		}
		fs = append(fs, f)
	}
	return fs
}

// contents has everything that readers find: attributes by the key of a row, and documents by index and id.
type contents map[string]string

// add adds a row or one shard of a row.
func (c contents) add(pk, sk string, attributes map[string]string) {
	if group, _, sharded := strings.Cut(pk, "~"); sharded {
		pk = group
	}
	key := pk + " " + sk
	if before, ok := c[key]; ok {
		attributes = merged(parsed(before), attributes)
	}
	c[key] = text(attributes)
}

// merged adds up two shards of a group.
func merged(a, b map[string]string) map[string]string {
	sum := maps.Clone(a)
	for name, v := range b {
		x, y := number(sum[name]), number(v)
		switch {
		case sum[name] == "", name == "least" && y.Cmp(x) < 0, name == "most" && y.Cmp(x) > 0:
			sum[name] = v
		case name != "least" && name != "most":
			sum[name] = new(big.Rat).Add(x, y).RatString()
		}
	}
	return sum
}

func number(text string) *big.Rat {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return n
}

// text returns attributes in a fixed order. Equal numbers have equal texts.
func text(attributes map[string]string) string {
	for name, v := range attributes {
		if _, ok := new(big.Rat).SetString(v); ok {
			attributes[name] = number(v).RatString()
		}
	}
	b, err := json.Marshal(attributes)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func parsed(text string) (attributes map[string]string) {
	if err := json.Unmarshal([]byte(text), &attributes); err != nil {
		panic(err)
	}
	return attributes
}

// document adds a document. It removes the field _tw and brings the JSON into one form.
func (c contents) document(index, id string, source []byte) {
	var fields map[string]any
	if err := json.Unmarshal(source, &fields); err != nil {
		panic(err)
	}
	delete(fields, "_tw")
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	c[index+"/"+id] = string(b)
}

// contents returns the contents that follow from the items of the table.
func (tb *table) contents() contents {
	c := make(contents)
	owners := make(map[string]string)  // owners of rows that several items claim
	groups := make(map[string][]thing) // groups of totals
	words := make(map[string][]thing)  // groups of words
	for _, pk := range tb.order {
		th := tb.now(pk)
		row := map[string]string{"name": th.name, "price": fmt.Sprintf("%d.25", th.price)}
		if th.in("rows") {
			c.add("ROW#"+th.group, pk, maps.Clone(row))
		}
		if th.in("places") {
			c.add("PLACE#"+th.group, pk, maps.Clone(row))
		}
		if owner, claimed := owners[th.group]; th.in("names") && (!claimed || pk < owner) {
			owners[th.group] = pk
		}
		if th.in("totals") {
			groups[th.group] = append(groups[th.group], th)
		}
		if th.in("words") {
			for _, w := range th.words {
				words[th.group+"#"+w] = append(words[th.group+"#"+w], th)
			}
		}
		for _, index := range []string{"exact", "fast"} {
			if th.in(index) {
				c.document(index, pk, fmt.Appendf(nil, `{"PK":%q,"Sinks":%q,"Group":%q,"Name":%q,"Price":%d.25,"Words":["%s"]}`,
					pk, th.sinks, th.group, th.name, th.price, strings.Join(th.words, `","`)))
			}
		}
	}
	for g, pk := range owners {
		th := tb.now(pk)
		c.add("NAME#"+g, "N", map[string]string{"name": th.name, "price": fmt.Sprintf("%d.25", th.price)})
	}
	for g, ths := range groups {
		least := slices.MinFunc(ths, func(a, b thing) int { return cmp.Compare(a.price, b.price) })
		most := slices.MaxFunc(ths, func(a, b thing) int { return cmp.Compare(a.price, b.price) })
		names := make(map[string]bool)
		for i := range ths {
			names[ths[i].name] = true
		}
		row := counted(ths)
		row["least"], row["most"], row["names"] = fmt.Sprintf("%d.25", least.price), fmt.Sprintf("%d.25", most.price), fmt.Sprint(len(names))
		c.add("TOTAL#"+g, "T", row)
	}
	for g, ths := range words {
		c.add("WORD#"+g, "W", counted(ths))
	}
	return c
}

// counted returns the count and the sum of items.
func counted(ths []thing) map[string]string {
	sum := new(big.Rat)
	for i := range ths {
		sum.Add(sum, number(fmt.Sprintf("%d.25", ths[i].price)))
	}
	return map[string]string{"items": fmt.Sprint(len(ths)), "value": sum.RatString()}
}
