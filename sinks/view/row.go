package view

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// What DynamoDB allows for a key attribute, in bytes.
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// rowKey is where a row is. The zero rowKey is nowhere.
type rowKey struct {
	pk, sk piece
	text   []byte // injective over pk and sk, whatever their types
	shown  string // how it is shown to people, where a mask decides
}

// piece is one attribute of a row key. The zero piece is missing.
type piece struct {
	value    item.Value // absent where the attribute is a text: that stands in the key's text alone
	from, to int        // the range of the text
}

// keyRoom is room for the text of most row keys, until they have been compared.
type keyRoom [256]byte

// keyRooms are rooms for the places of an item before and after a change.
type keyRooms struct{ pool sync.Pool }

func (r *keyRooms) get() *[2]keyRoom {
	if rooms, ok := r.pool.Get().(*[2]keyRoom); ok {
		return rooms
	}
	return new([2]keyRoom)
}

func (r *keyRooms) put(rooms *[2]keyRoom) { r.pool.Put(rooms) }

// lengthRoom is where the text of a row key begins with the length of its first part.
const lengthRoom = binary.MaxVarintLen16

// key builds the row key of an item, in room where that is enough, or the zero rowKey
// where a part of it is missing: the item is sparse.
func (s *Sink) key(scope *template.Scope, room *keyRoom) (rowKey, error) {
	var k rowKey
	text := room[:lengthRoom]
	clear(text)
	var err error
	if k.pk, k.sk, text, err = s.keyParts(text, scope, maxPartitionKey); err != nil || k.pk.missing() {
		return rowKey{}, err
	}
	binary.PutUvarint(text, uint64(k.pk.to-lengthRoom))
	k.text, k.shown = text, s.shown(*scope)
	return k, nil
}

func (k *rowKey) exists() bool { return k.text != nil }

func (k *rowKey) is(other *rowKey) bool { return bytes.Equal(k.text, other.text) }

// values are the attributes of the key, and its text: to be kept, and in one piece.
func (k *rowKey) values(d *pipeline.Delivery) (pk, sk item.Value, text string) {
	text = d.Text(k.text)
	return k.pk.valueIn(text), k.sk.valueIn(text), text
}

func (p *piece) missing() bool { return p.to == 0 }

// valueIn is the attribute, whose text stands in text.
func (p *piece) valueIn(text string) item.Value {
	if p.missing() || p.value.Exists() {
		return p.value
	}
	return item.StringValue(text[p.from:p.to])
}

// keyPart evaluates one part of the row key and appends it to text: kind, then
// what is equal for equal values. The piece is missing where the item is sparse.
func keyPart(text []byte, a Attribute, scope *template.Scope, limit int) (piece, []byte, error) {
	if _, whole := a.Template.Path(); whole {
		return keyValue(text, a, scope, limit)
	}
	start := len(text) + 1
	with, _, err := a.Template.AppendText(append(text, byte(item.KindS)), *scope)
	if err != nil || len(with) == start {
		return piece{}, text, err
	}
	if !utf8.Valid(with[start:]) {
		t, _ := item.StringValue(string(with[start:])).Text() // as the row will have it
		with = append(with[:start], t...)
	}
	if n := len(with) - start; n > limit {
		return piece{}, text, tooLong(a.Name, n, limit)
	}
	return piece{from: start, to: len(with)}, with, nil
}

// keyValue is keyPart of a template that is a path, whose value keeps its type.
func keyValue(text []byte, a Attribute, scope *template.Scope, limit int) (piece, []byte, error) {
	v, _, err := a.Template.Value(*scope)
	if err != nil || !v.Exists() {
		return piece{}, text, err
	}
	text = append(text, byte(v.Kind()))
	start := len(text)
	switch v.Kind() {
	case item.KindS:
		t, _ := v.Text()
		text = append(text, t...)
	case item.KindB:
		b, _ := v.Bytes()
		text = append(text, b...)
	case item.KindN:
		d, _ := v.Number()
		text = d.Append(text)
		return piece{v, start, len(text)}, text, nil
	default:
		return piece{}, text, errs.Errorf("key attribute %s comes to the type %s: the key of a row is S, N or B", redact.Field(a.Name), redact.Safe(v.Kind().String()))
	}
	if n := len(text) - start; n > limit {
		return piece{}, text, tooLong(a.Name, n, limit)
	}
	return piece{v, start, len(text)}, text, nil
}

func tooLong(attribute string, n, limit int) error {
	return errs.Errorf("key attribute %s is %d bytes long: DynamoDB takes at most %d there", redact.Field(attribute), n, limit)
}

// masksKey tells whether a row's key may be made of attributes that are hidden. Of the
// item's key only the change tells.
func masksKey(m *mask.Mask, forEach string, key ...Attribute) bool {
	for _, k := range key {
		if m == nil || k.Template == nil {
			continue
		}
		for _, path := range k.Template.Paths() {
			if m.Hides(path) {
				return true
			}
		}
		if len(k.Template.EachPaths()) > 0 && m.Hides(forEach) {
			return true
		}
	}
	return false
}

// columns appends what a row holds besides its key. What is missing, NULL or
// empty is left out.
func (s *Sink) columns(cs []state.Column, scope *template.Scope) ([]state.Column, error) {
	cs = slices.Grow(cs, len(s.attributes))
	for _, a := range s.attributes {
		v, _, err := a.Template.Value(*scope)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.Name, err)
		}
		if v.Exists() {
			cs = append(cs, state.Column{Name: a.Name, Value: v})
		}
	}
	return cs, nil
}
