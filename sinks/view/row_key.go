package view

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
)

// DynamoDB's limits of a key attribute, in bytes.
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// rowKey is the key of a row. The zero rowKey means that there is no row.
type rowKey struct {
	pk, sk      keyPart
	text        []byte // both parts with their types; two keys are equal exactly if their texts are equal
	displayText string // key for people, if parts of it are masked; else ""
}

// keyPart is one attribute of a row key. The zero keyPart is missing.
type keyPart struct {
	value    item.Value // absent if the part is a text that only rowKey.text has
	from, to int        // range of the part in rowKey.text
}

// keyBuffer is memory for the text of one row key. A longer key needs an allocation.
type keyBuffer [256]byte

// keyBufferPool pools buffers for the row keys before and after a change.
type keyBufferPool struct{ pool sync.Pool }

func (p *keyBufferPool) get() *[2]keyBuffer {
	if buffers, ok := p.pool.Get().(*[2]keyBuffer); ok {
		return buffers
	}
	return new([2]keyBuffer)
}

func (p *keyBufferPool) put(buffers *[2]keyBuffer) { p.pool.Put(buffers) }

// lengthPrefix is the number of bytes at the start of a row key's text that hold the length of the first part. So the
// texts of ("ab", "c") and ("a", "bc") differ.
const lengthPrefix = binary.MaxVarintLen16

// buildRowKey builds the row key of an item, in buf if buf is large enough. If a part is missing, the item is sparse,
// and the result is the zero rowKey.
func (s *Sink) buildRowKey(scope *template.Scope, buf *keyBuffer) (rowKey, error) {
	text := buf[:lengthPrefix]
	clear(text)
	pk, sk, text, err := s.appendKeyParts(text, scope, maxPartitionKey)
	if err != nil || pk.isMissing() {
		return rowKey{}, err
	}
	pkLength := pk.to - lengthPrefix
	binary.PutUvarint(text, uint64(pkLength))
	return rowKey{pk: pk, sk: sk, text: text, displayText: s.displayKey(*scope)}, nil
}

func (k *rowKey) exists() bool { return k.text != nil }

func (k *rowKey) equal(other *rowKey) bool { return bytes.Equal(k.text, other.text) }

// attributeValues returns the attributes of the key and its text. They are valid until the page of delivery d is
// released, even if the key's buffer is reused.
func (k *rowKey) attributeValues(d *pipeline.Delivery) (pk, sk item.Value, text string) {
	text = d.Text(k.text)
	return k.pk.valueIn(text), k.sk.valueIn(text), text
}

func (p *keyPart) isMissing() bool { return p.to == 0 }

// valueIn returns the value of the part. text is the text of the row key.
func (p *keyPart) valueIn(text string) item.Value {
	if p.isMissing() || p.value.Exists() {
		return p.value
	}
	return item.StringValue(text[p.from:p.to])
}

// appendKeyPart evaluates one part of the row key, and appends its kind and its bytes to text. Equal values have equal
// bytes. If the template has no value for the item, the returned part is missing.
func appendKeyPart(text []byte, a Attribute, scope *template.Scope, limit int) (keyPart, []byte, error) {
	_, isPath := a.Template.Path()
	bound := a.Template.Bound()
	keepsType := isPath || bound != nil && !bound.IsText()
	if keepsType {
		return appendKeyValue(text, a, scope, limit)
	}

	extended, _, err := a.Template.AppendText(append(text, byte(item.KindS)), *scope)
	start := len(text) + 1 // after the kind
	isEmpty := len(extended) == start
	if err != nil || isEmpty {
		return keyPart{}, text, err
	}
	if !utf8.Valid(extended[start:]) {
		validText, _ := item.StringValue(string(extended[start:])).Text() // the row is stored with this text
		extended = append(extended[:start], validText...)
	}
	if n := len(extended) - start; n > limit {
		return keyPart{}, text, tooLong(a.Name, n, limit)
	}
	return keyPart{from: start, to: len(extended)}, extended, nil
}

// appendKeyValue is appendKeyPart for a template whose value keeps its type: a template that is exactly one path or one
// bound name.
func appendKeyValue(text []byte, a Attribute, scope *template.Scope, limit int) (keyPart, []byte, error) {
	v, _, err := a.Template.Value(*scope)
	if err != nil || !v.Exists() {
		return keyPart{}, text, err
	}
	text = append(text, byte(v.Kind()))
	start := len(text)
	switch v.Kind() {
	case item.KindS:
		valueText, _ := v.Text()
		text = append(text, valueText...)
	case item.KindB:
		valueBytes, _ := v.Bytes()
		text = append(text, valueBytes...)
	case item.KindN:
		number, _ := v.Number()
		text = number.Append(text) // never too long
	default:
		return keyPart{}, text, errs.Errorf("key attribute %s has the type %s: the key of a row is S, N or B",
			redact.Field(a.Name), redact.Safe(v.Kind().String()))
	}

	n := len(text) - start
	if v.Kind() != item.KindN && n > limit {
		return keyPart{}, text, tooLong(a.Name, n, limit)
	}
	return keyPart{v, start, len(text)}, text, nil
}

func tooLong(attribute string, n, limit int) error {
	return errs.Errorf("key attribute %s is %d bytes long: DynamoDB takes at most %d there", redact.Field(attribute), n,
		limit)
}

// masksKey reports whether m may mask parts of a row key. key has the attributes of the row key, and forEach is the
// path of the elements. masksKey ignores {@key}: whether the item's key is masked depends on the change.
func masksKey(m *mask.Mask, forEach string, key ...Attribute) bool {
	if m == nil {
		return false
	}
	for _, a := range key {
		if a.Template == nil {
			continue
		}
		if slices.ContainsFunc(slices.Concat(a.Template.Paths(), a.Template.KeyPaths()), m.Hides) {
			return true
		}
		readsElement := len(a.Template.EachPaths()) > 0 || a.Template.ReadsIdentity()
		if readsElement && m.Hides(forEach) {
			return true
		}
	}
	return false
}
