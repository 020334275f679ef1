package sqlite

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// own is the field of a document that is not searched.
const own = "_tw"

// fields holds the searchable words and values of a document, by path.
type fields map[string]*field

type field struct {
	words  []byte
	values []any // numbers as []byte, times as string
}

// fieldsOf parses a document.
func fieldsOf(doc []byte) (fields, error) {
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	docFields := make(fields)
	for name, v := range root {
		if name != own {
			docFields.add(name, v)
		}
	}
	return docFields, nil
}

// add adds the words and values of v, the value at a path.
func (fs fields) add(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			fs.add(path+"."+name, inner)
		}
	case []any:
		for _, element := range v {
			fs.add(path, element)
		}
	case string:
		f := fs.fieldAt(path)
		f.addText(v)
		if t, ok := normalizeTime(v); ok {
			f.values = append(f.values, t)
		} else if d, ok := longDecimal(v); ok {
			f.values = append(f.values, number(d))
		}
	case bool:
		fs.fieldAt(path).addText(strconv.FormatBool(v))
	case json.Number:
		if d, err := decimal.Parse(v.String()); err == nil {
			f := fs.fieldAt(path)
			f.values = append(f.values, number(d))
		}
	}
}

// fieldAt returns the field at a path, and inserts it if it is missing.
func (fs fields) fieldAt(path string) *field {
	f := fs[path]
	if f == nil {
		f = new(field)
		fs[path] = f
	}
	return f
}

// addText adds the words of a text.
func (f *field) addText(s string) {
	if len(f.words) > 0 {
		f.words = append(f.words, " "+separator...)
	}
	f.words = appendWords(f.words, s)
}

// entry is one row of a document's search data. It is either all words at a path, known by their digest, or one value
// at a path.
type entry struct {
	path   int64
	digest uint64 // digest of the words; 0: the entry is a value
	value  any    // a number as []byte or a time as string; nil: the entry is words
}

func (e entry) isWords() bool { return e.value == nil }

// entries yields the entries of a field. path is the number of its path.
func (f *field) entries(path int64) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if len(f.words) > 0 && !yield(entry{path: path, digest: digest(f.words)}) {
			return
		}
		for _, v := range f.values {
			if !yield(entry{path: path, value: v}) {
				return
			}
		}
	}
}

// digest returns the digest of words. It is never 0.
func digest(words []byte) uint64 {
	sum := sha256.Sum256(words)
	return max(binary.BigEndian.Uint64(sum[:]), 1)
}

// The first byte of an entry.
const (
	wordsEntry = iota
	numberEntry
	timeEntry
)

// appendEntry appends an entry as the file stores it.
func appendEntry(dst []byte, e entry) []byte {
	kind, text := byte(wordsEntry), ""
	switch v := e.value.(type) {
	case []byte:
		kind, text = numberEntry, string(v)
	case string:
		kind, text = timeEntry, v
	}

	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(e.path))
	if kind == wordsEntry {
		return binary.BigEndian.AppendUint64(dst, e.digest)
	}
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

var errEntries = errs.New("what it is found by cannot be read")

// parseEntries parses entries in the form of appendEntry.
func parseEntries(b []byte) (entries []entry, err error) {
	for len(b) > 0 {
		e, rest, ok := cutEntry(b)
		if !ok {
			return nil, errEntries
		}
		entries = append(entries, e)
		b = rest
	}
	return entries, nil
}

// cutEntry parses the first entry of b, and returns it with the entries after it. It returns false if b does not begin
// with an entry.
func cutEntry(b []byte) (e entry, rest []byte, ok bool) {
	kind := b[0]
	path, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return e, nil, false
	}
	e.path = int64(path)
	b = b[1+n:]

	if kind == wordsEntry {
		if len(b) < 8 {
			return e, nil, false
		}
		e.digest = binary.BigEndian.Uint64(b)
		return e, b[8:], true
	}

	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return e, nil, false
	}
	b = b[n:]
	value := b[:size:size]
	e.value = value
	if kind == timeEntry {
		e.value = string(value)
	}
	return e, b[size:], true
}
