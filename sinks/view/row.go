package view

import (
	"encoding/binary"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
)

// What DynamoDB allows for a key attribute, in bytes.
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// rowKey is where a row is. The zero rowKey is nowhere.
type rowKey struct {
	pk, sk pipeline.Value
	text   string // injective over pk and sk, whatever their types
	shown  string // how it is shown to people, where a mask decides
}

// key builds the row key of an item, or the zero rowKey where a part of it is
// missing: the item is sparse.
func (s *Sink) key(scope template.Scope) (rowKey, error) {
	var k rowKey
	var buf [256]byte
	text := buf[:binary.MaxVarintLen64] // room for the length of the first part
	start := len(text)
	var err error
	if k.pk, text, err = keyPart(text, s.pk, scope, maxPartitionKey); err != nil || !k.pk.Exists() {
		return rowKey{}, err
	}
	binary.PutUvarint(text, uint64(len(text)-start))
	if s.sk.Template != nil {
		if k.sk, text, err = keyPart(text, s.sk, scope, maxSortKey); err != nil || !k.sk.Exists() {
			return rowKey{}, err
		}
	}
	k.text = string(text)
	if s.masksKey || hasHiddenKey(s.mask, scope) {
		k.shown = s.target.shown(s.pk, s.sk, scope, s.mask)
	}
	return k, nil
}

// keyPart evaluates one part of the row key and appends it to text: kind, then
// what is equal for equal values. The value is absent where the item is sparse.
func keyPart(text []byte, a Attribute, scope template.Scope, limit int) (pipeline.Value, []byte, error) {
	v, _, err := a.Template.Value(scope)
	if err != nil || !v.Exists() {
		return pipeline.Value{}, text, err
	}
	text = append(text, byte(v.Kind()))
	start := len(text)
	switch v.Kind() {
	case pipeline.KindS:
		t, _ := v.Text()
		text = append(text, t...)
	case pipeline.KindB:
		b, _ := v.Bytes()
		text = append(text, b...)
	case pipeline.KindN:
		d, _ := v.Number()
		return v, d.Append(text), nil
	default:
		return pipeline.Value{}, text, fmt.Errorf("key attribute %s comes to the type %s: the key of a row is S, N or B", a.Name, v.Kind())
	}
	if n := len(text) - start; n > limit {
		return pipeline.Value{}, text, tooLong(a.Name, n, limit)
	}
	return v, text, nil
}

func tooLong(attribute string, n, limit int) error {
	return fmt.Errorf("key attribute %s is %d bytes long: DynamoDB takes at most %d there", attribute, n, limit)
}

// masksKey tells whether a row's key may be made of attributes that are hidden. Of the
// item's key only the change tells.
func masksKey(m *pipeline.Mask, forEach string, key ...Attribute) bool {
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

// hasHiddenKey tells whether a key attribute of the item is hidden.
func hasHiddenKey(m *pipeline.Mask, scope template.Scope) bool {
	_, hidden := m.HiddenKey(scope.Change)
	return hidden
}

// shown is a row's key as appendKey has it, with what is hidden masked. Whether there
// is a row, and which, was decided without the mask.
func (t Target) shown(pk, sk Attribute, scope template.Scope, m *pipeline.Mask) string {
	scope.Mask = m
	p, _, _ := pk.Template.Value(scope) // it has come to a key before
	var q pipeline.Value
	if sk.Template != nil {
		q, _, _ = sk.Template.Value(scope)
	}
	return string(t.appendKey(nil, p, q))
}

// columns builds what a row holds besides its key. What is missing, NULL or
// empty is left out.
func (s *Sink) columns(scope template.Scope) ([]Column, error) {
	if len(s.attributes) == 0 {
		return nil, nil
	}
	cs := make([]Column, 0, len(s.attributes))
	for _, a := range s.attributes {
		v, _, err := a.Template.Value(scope)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.Name, err)
		}
		if v.Exists() {
			cs = append(cs, Column{Name: a.Name, Value: v})
		}
	}
	return cs, nil
}
