package audit

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
)

// file is the configuration of the pipeline. It has a sink of each kind that an audit compares. The attribute Sinks of
// an item names the sinks that have the item.
const file = `
version: 1
name: '${NAME}'
source: {table: '${NAME}'}
state: {table: '${STATE}'}
connections: {os: {opensearch: '${OS_URL}', auth: none}}
sinks:
  rows: # they guard themselves, with tombstones apart
    view:
      table: '${VIEWS}'
      when: 'item.Sinks.contains("rows")'
      key: {PK: 'ROW#{Group}', SK: '{@key}'}
      attributes: {name: '{Name}', price: '{Price}'}
  places: # the same with tombstones in place
    view:
      table: '${VIEWS}'
      when: 'item.Sinks.contains("places")'
      key: {PK: 'PLACE#{Group}', SK: '{@key}'}
      attributes: {name: '{Name}', price: '{Price}'}
      tombstones: in_place
  names: # several items claim a row
    view:
      table: '${VIEWS}'
      when: 'item.Sinks.contains("names")'
      key: {PK: 'NAME#{Group}', SK: N}
      attributes: {name: '{Name}', price: '{Price}'}
      on_collision: keep_first
  totals:
    aggregate:
      table: '${VIEWS}'
      when: 'item.Sinks.contains("totals")'
      group: {PK: 'TOTAL#{Group}', SK: T}
      shards: 3
      values: {items: count, value: {sum: Price}, least: {min: Price}, most: {max: Price}, names: {distinct: Name}}
      on_ttl_delete: retract
  words: # an item has several shares
    aggregate:
      table: '${VIEWS}'
      when: 'item.Sinks.contains("words")'
      for_each: Words
      group: {PK: 'WORD#{Group}#{each}', SK: W}
      values: {items: count, value: {sum: Price}}
      on_ttl_delete: retract
  exact:
    search: {connection: os, index: '${INDEX}-exact', when: 'item.Sinks.contains("exact")'}
  fast:
    search: {connection: os, index: '${INDEX}-fast', when: 'item.Sinks.contains("fast")', mode: fast}
`

// thing is an item of the table.
type thing struct {
	pk, sinks, group, name string
	price                  int
	words                  []string
	gone                   bool // the item was deleted
}

// attributes returns the attributes of the item as DynamoDB JSON, without its key and without braces. It returns "" if
// the item was deleted.
func (th *thing) attributes() string {
	if th.gone {
		return ""
	}
	words := make([]string, len(th.words))
	for i, w := range th.words {
		words[i] = fmt.Sprintf(`{"S":%q}`, w)
	}
	return fmt.Sprintf(`"Sinks":{"S":%q},"Group":{"S":%q},"Name":{"S":%q},"Price":{"N":"%d.25"},"Words":{"L":[%s]}`,
		th.sinks, th.group, th.name, th.price, strings.Join(words, ","))
}

// in reports whether a sink has the item.
func (th *thing) in(sink string) bool { return !th.gone && strings.Contains(th.sinks, sink) }

// table is the source table with the history of each item.
type table struct {
	history map[string][]thing // the states of each item in order, by PK
	first   map[string]int     // number of the first record of each item
	order   []string           // PKs in the order of their first records

	embedded bool // the sinks are in the embedded stores
}

// Each item has recordsOfItem sequence numbers. olderRecords of them are before its first change, for older changes.
// The change lastChange is newer than every version that an injection writes.
const (
	recordsOfItem = 10
	olderRecords  = 4
	lastChange    = 5
)

func newTable() *table {
	return &table{history: make(map[string][]thing), first: make(map[string]int)}
}

// add adds a state of an item.
func (tb *table) add(th thing) {
	if _, known := tb.first[th.pk]; !known {
		tb.first[th.pk] = 1000 + recordsOfItem*len(tb.order) + olderRecords
		tb.order = append(tb.order, th.pk)
	}
	tb.history[th.pk] = append(tb.history[th.pk], th)
}

// now returns the present state of an item.
func (tb *table) now(pk string) thing {
	h := tb.history[pk]
	return h[len(h)-1]
}

// version returns the version of the n-th change of an item, counted from 1. The versions for 0 and below are older
// than all changes of the item.
func (tb *table) version(pk string, n int) string {
	begun := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) // the time in the name of the stream
	return fmt.Sprintf("%010d%040d", begun.Unix(), tb.first[pk]+n-1)
}

// record returns the record of the n-th change of an item, from the attributes old to the state th. The change was made
// n minutes after [world.At].
func (tb *table) record(n int, old string, th thing) []byte {
	op := "MODIFY"
	switch {
	case th.gone:
		op = "REMOVE"
	case old == "":
		op = "INSERT"
	}
	return world.RecordAt(world.At.Add(time.Duration(n)*time.Minute), tb.first[th.pk]+n-1, op, th.pk, old, th.attributes())
}

// records returns the records of the n-th changes of all items, counted from 1.
func (tb *table) records(n int) []byte {
	var lines bytes.Buffer
	for _, pk := range tb.order {
		h := tb.history[pk]
		if n > len(h) {
			continue
		}
		old := ""
		if n > 1 {
			old = h[n-2].attributes()
		}
		lines.Write(tb.record(n, old, h[n-1]))
		lines.WriteByte('\n')
	}
	return lines.Bytes()
}

func save(t *testing.T, path string, b []byte) string {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
