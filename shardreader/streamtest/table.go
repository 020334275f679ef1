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

// Table is a DynamoDB table whose writes go into its newest enabled stream: the
// stream's records carry old and new images, go to the shard that owns the item,
// and so are in order for each item, from parents to children. It is safe for
// concurrent use.
type Table struct {
	server *Server // whose lock guards the rest
	name   string  // for ever, as the key attributes
	keys   []string
	stream *Stream           // nil while none is enabled
	items  map[string]string // by their key
}

// Table is the table of that name with its key attributes, by default PK and SK.
// One that is there already is returned as it is.
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
			if st.ref.Table == name && st.disabled.IsZero() {
				t.stream = st
			}
		}
		s.tables[name] = t
	}
	return t
}

// keysOf are the key attributes of a table, by default PK and SK. The lock is held.
func (s *Server) keysOf(table string) []string {
	if t := s.tables[table]; t != nil {
		return t.keys
	}
	return []string{"PK", "SK"}
}

// Name is the table's name.
func (t *Table) Name() string { return t.name }

// Written is the record that a write made. It is zero where there is none: the
// write changed nothing, or no stream is enabled.
type Written struct {
	Shard, Sequence string
	Event           string // INSERT, MODIFY, REMOVE
}

// Put writes an item, as DynamoDB JSON: {"PK":{"S":"a"},...}. Where it is equal to the
// one that is there, no record is made. An item that spells the same in another way
// (1.0 for 1, a set in another order) is not equal.
func (t *Table) Put(item string) (Written, error) {
	attributes, key, err := t.parse(item)
	if err != nil {
		return Written{}, err
	}
	return t.write(key, encodeItem(attributes), ""), nil
}

// Delete removes the item of a key, given as DynamoDB JSON; other attributes are
// passed over.
func (t *Table) Delete(key string) (Written, error) { return t.remove(key, "") }

// Expire removes the item of a key as time to live does.
func (t *Table) Expire(key string) (Written, error) { return t.remove(key, "dynamodb.amazonaws.com") }

func (t *Table) remove(key, principal string) (Written, error) {
	_, key, err := t.parse(key)
	if err != nil {
		return Written{}, err
	}
	return t.write(key, "", principal), nil
}

// Item is the item of a key, as the table holds it.
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

// Items are the table's items as DynamoDB JSON, in the order of their keys' text.
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

// Stream is the stream that takes the table's writes, nil where none is enabled.
func (t *Table) Stream() *Stream {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.stream
}

// write puts an item, or removes it where item is "".
func (t *Table) write(key, item, principal string) Written {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	old := t.items[key]
	if old == item {
		return Written{}
	}
	w := Written{Event: "MODIFY"}
	switch {
	case item == "":
		w.Event = "REMOVE"
		delete(t.items, key)
	case old == "":
		w.Event = "INSERT"
		t.items[key] = item
	default:
		t.items[key] = item
	}
	if t.stream == nil {
		return Written{}
	}
	sh := t.stream.owner(key)
	w.Shard = sh.id
	w.Sequence = t.stream.append(sh, Record{Event: w.Event, Keys: key, Old: old, New: item, Principal: principal}).text()
	return w
}

// parse reads an item, and its key as DynamoDB JSON.
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

// encodeItem is equal for equal items: members are in the order of their names.
func encodeItem(item map[string]any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(item); err != nil {
		panic(err) // what came from JSON
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
