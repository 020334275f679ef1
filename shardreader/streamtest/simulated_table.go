package streamtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Table is a DynamoDB table. Its writes create records in its newest enabled stream. The records have old and new
// images, and are in the shard that owns the item. So the records of each item are in order, from parents to children.
// A Table is safe for concurrent use.
type Table struct {
	server *Server           // its lock guards stream and items
	name   string            // never changes
	keys   []string          // names of the key attributes; never change
	stream *Stream           // nil if no stream is enabled
	items  map[string]string // by key
}

// Table returns the table of this name. If the table does not exist yet, Table creates it with these key attributes, by
// default PK and SK.
func (s *Server) Table(name string, keys ...string) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(keys) == 0 {
		keys = s.keysOf(name)
	}
	t := s.tables[name]
	if t == nil {
		t = &Table{server: s, name: name, keys: keys, items: make(map[string]string)}
		for _, st := range s.streams {
			if st.ref.Table == name && st.disabledAt.IsZero() {
				t.stream = st
			}
		}
		s.tables[name] = t
	}
	return t
}

// keysOf returns the key attributes of a table, by default PK and SK. The caller holds the lock.
func (s *Server) keysOf(table string) []string {
	if t := s.tables[table]; t != nil {
		return t.keys
	}
	return []string{"PK", "SK"}
}

// Name returns the name of the table.
func (t *Table) Name() string { return t.name }

// Written identifies the record of a write. It is zero if the write changed nothing, or if no stream is enabled.
type Written struct {
	Shard, Sequence string
	Event           string // INSERT, MODIFY, REMOVE
}

// Put writes an item in DynamoDB JSON: {"PK":{"S":"a"},...}. If it equals the stored item, no record is written. Items
// with another spelling (1.0 for 1, a set in another order) are not equal.
func (t *Table) Put(item string) (Written, error) {
	attributes, key, err := t.parse(item)
	if err != nil {
		return Written{}, err
	}
	return t.write(key, encodeItem(attributes), ""), nil
}

// Delete removes the item with a key in DynamoDB JSON. It ignores other attributes in key.
func (t *Table) Delete(key string) (Written, error) { return t.remove(key, "") }

// Expire removes the item with a key. The record is that of a TTL delete.
func (t *Table) Expire(key string) (Written, error) { return t.remove(key, "dynamodb.amazonaws.com") }

func (t *Table) remove(key, principal string) (Written, error) {
	_, key, err := t.parse(key)
	if err != nil {
		return Written{}, err
	}
	return t.write(key, "", principal), nil
}

// Item returns the stored item with a key. ok is false if there is no such item, or if key is not the JSON of a key.
func (t *Table) Item(key string) (item string, ok bool) {
	_, key, err := t.parse(key)
	if err != nil {
		return "", false
	}
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	item, ok = t.items[key]
	return item, ok
}

// Items returns all items as DynamoDB JSON, sorted by the text of their keys.
func (t *Table) Items() []string {
	t.server.mu.Lock()
	items := maps.Clone(t.items)
	t.server.mu.Unlock()
	all := make([]string, 0, len(items))
	for _, key := range slices.Sorted(maps.Keys(items)) {
		all = append(all, items[key])
	}
	return all
}

// Stream returns the enabled stream of the table, or nil.
func (t *Table) Stream() *Stream {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.stream
}

// write puts an item, or removes it if item is "".
func (t *Table) write(key, item, principal string) Written {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	old := t.items[key]
	if old == item {
		return Written{}
	}
	if item == "" {
		delete(t.items, key)
	} else {
		t.items[key] = item
	}
	if t.stream == nil {
		return Written{}
	}
	sh := t.stream.openShardOf(key)
	n := t.stream.append(sh, Record{Keys: key, Old: old, New: item, Principal: principal})
	return Written{Shard: sh.id, Sequence: n.text(), Event: eventName(old, item)}
}

// parse decodes an item, and returns its key as DynamoDB JSON.
func (t *Table) parse(text string) (item map[string]any, key string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&item); err != nil {
		return nil, "", fmt.Errorf("an item as DynamoDB JSON: %w", err)
	}
	if d.More() || item == nil {
		return nil, "", errors.New("an item as DynamoDB JSON: not one object")
	}
	attributes := make(map[string]any, len(t.keys))
	for _, name := range t.keys {
		v, ok := item[name]
		if !ok {
			return nil, "", fmt.Errorf("table %s: the item lacks the key attribute %s", t.name, name)
		}
		attributes[name] = v
	}
	return item, encodeItem(attributes), nil
}

// encodeItem returns the JSON of an item, with members sorted by name. So equal items have equal JSON.
func encodeItem(item map[string]any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(item); err != nil {
		panic(err) // cannot happen: the item was decoded from JSON
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
