package sqlite

import (
	"cmp"
	"fmt"
	"slices"
)

// changes collects the words and values that a transaction adds and removes. FTS5 begins a new segment of its index
// where the rowids do not rise. So changes collects all changes first, and flush writes them in the order of their
// rowids.
type changes struct{ words, values []change }

type change struct {
	entry
	docID int64
	add   bool   // the entry is added; false: it is removed
	words []byte // added words
}

// add collects the addition of an entry of a document. words are the words of the entry's field.
func (c *changes) add(e entry, doc int64, words []byte) {
	added := change{entry: e, docID: doc, add: true}
	if added.isWords() {
		added.words = words
	}
	c.collect(added)
}

// remove collects the removal of an entry of a document.
func (c *changes) remove(e entry, doc int64) { c.collect(change{entry: e, docID: doc}) }

func (c *changes) collect(ch change) {
	if ch.isWords() {
		c.words = append(c.words, ch)
	} else {
		c.values = append(c.values, ch)
	}
}

// writeMode selects the entries of a document that are written.
type writeMode uint8

const (
	writeChanged writeMode = iota // the entries that are not stored yet
	rewriteAll                    // all entries, because the file may lack some of the entries that it should have
)

// diff collects the changes from the stored entries to the fields of a document. It returns the new entries in
// stored form.
func (c *changes) diff(t *tx, index, doc int64, stored []entry, docFields fields, mode writeMode) ([]byte, error) {
	obsolete := make(map[string]entry) // stored entries that the document lacks, by their text in the file
	for _, e := range stored {
		obsolete[string(appendEntry(nil, e))] = e
	}

	entries := []byte{}
	for path, f := range docFields {
		if len(f.words) == 0 && len(f.values) == 0 {
			continue
		}
		number, err := t.store.paths.id(t, index, path)
		if err != nil {
			return nil, err
		}
		for e := range f.entries(number) {
			start := len(entries)
			entries = appendEntry(entries, e)
			text := string(entries[start:])
			_, isStored := obsolete[text]
			delete(obsolete, text)
			if isStored && mode == writeChanged {
				continue
			}

			if mode == rewriteAll && e.isWords() { // FTS5 accepts no second row with the same rowid; see flush
				c.remove(e, doc)
			}
			c.add(e, doc, f.words)
		}
	}

	for _, e := range obsolete {
		c.remove(e, doc)
	}
	return entries, nil
}

// rowid returns the rowid of the words of a document at a path.
func rowid(path, doc int64) int64 { return path<<docBits | doc }

// flush writes the changes. At each rowid it removes the old words, which a change does not have, before it adds the
// new ones.
func (c *changes) flush(t *tx) error {
	slices.SortFunc(c.words, func(a, b change) int {
		return cmp.Or(cmp.Compare(rowid(a.path, a.docID), rowid(b.path, b.docID)), cmp.Compare(len(a.words), len(b.words)))
	})
	for _, w := range c.words {
		query, args := removeWords, []any{rowid(w.path, w.docID)}
		if w.add {
			query, args = addWords, append(args, string(w.words))
		}
		if err := t.Exec(query, args...); err != nil {
			return err
		}
	}

	typeAndValue := func(c change) string { return fmt.Sprintf("%T%s", c.value, c.value) }
	slices.SortFunc(c.values, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(typeAndValue(a), typeAndValue(b)))
	})
	for _, v := range c.values {
		query := removeValue
		if v.add {
			query = addValue
		}
		if err := t.Exec(query, v.path, v.value, v.docID); err != nil {
			return err
		}
	}
	return nil
}

// paths caches the numbers of paths.
type paths map[pathKey]int64

type pathKey struct {
	index int64
	path  string
}

// maxPaths is the maximum number of paths in the cache. A map whose keys are ids has a path for each key.
const maxPaths = 10_000

// id returns the number of a path, and assigns one to a new path.
func (ps paths) id(t *tx, index int64, path string) (int64, error) {
	key := pathKey{index, path}
	if n, ok := ps[key]; ok {
		return n, nil
	}
	var n int64
	found, err := t.QueryRow(readPath, []any{index, path}, &n)
	if err != nil {
		return 0, err
	}
	if !found {
		if _, err := t.QueryRow(writePath, []any{index, path}, &n); err != nil {
			return 0, err
		}
	}

	if len(ps) >= maxPaths {
		clear(ps)
	}
	ps[key] = n
	return n, nil
}
