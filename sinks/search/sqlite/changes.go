package sqlite

import (
	"cmp"
	"fmt"
	"slices"
)

// changes are what a transaction adds to and takes out of what documents are found by. FTS5 begins
// a new segment at each rowid that is lower than the one before, so that they wait until all
// are known, and are written in order.
type changes struct {
	words  []wordsChange
	values []valueChange
}

type wordsChange struct {
	rowid  int64
	remove bool   // there are other words
	add    []byte // nil: none
}

type valueChange struct {
	path, doc int64
	value     any
	remove    bool
}

// replace notes what changes when a document, found by was, is found by fs, and returns that as
// the file has it.
func (c *changes) replace(t *tx, index, doc int64, was []entry, fs fields) ([]byte, error) {
	digests := make(map[int64]uint64)
	values := make(map[string]entry) // by their text in the file
	for _, e := range was {
		if e.value == nil {
			digests[e.path] = e.digest
		} else {
			values[string(appendEntry(nil, e))] = e
		}
	}
	entries := []byte{}
	for path, f := range fs {
		if len(f.words) == 0 && len(f.values) == 0 {
			continue
		}
		number, err := t.store.paths.number(t, index, path)
		if err != nil {
			return nil, err
		}
		if len(f.words) > 0 {
			e := entry{path: number, digest: digest(f.words)}
			entries = appendEntry(entries, e)
			if before, is := digests[number]; before != e.digest {
				c.words = append(c.words, wordsChange{rowid: rowid(number, doc), remove: is, add: f.words})
			}
			delete(digests, number)
		}
		for _, v := range f.values {
			at := len(entries)
			entries = appendEntry(entries, entry{path: number, value: v})
			text := entries[at:]
			if _, is := values[string(text)]; !is {
				c.values = append(c.values, valueChange{path: number, doc: doc, value: v})
			}
			delete(values, string(text))
		}
	}
	for path := range digests {
		c.words = append(c.words, wordsChange{rowid: rowid(path, doc), remove: true})
	}
	for _, e := range values {
		c.values = append(c.values, valueChange{path: e.path, doc: doc, value: e.value, remove: true})
	}
	return entries, nil
}

func rowid(path, doc int64) int64 { return path<<docBits | doc }

// flush writes the changes.
func (c *changes) flush(t *tx) error {
	slices.SortFunc(c.words, func(a, b wordsChange) int { return cmp.Compare(a.rowid, b.rowid) })
	for _, w := range c.words {
		if w.remove {
			if err := t.Exec(t.ctx, removeWords, w.rowid); err != nil {
				return err
			}
		}
		if w.add != nil {
			if err := t.Exec(t.ctx, addWords, w.rowid, string(w.add)); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(c.values, func(a, b valueChange) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(fmt.Sprintf("%T%s", a.value, a.value), fmt.Sprintf("%T%s", b.value, b.value)))
	})
	for _, v := range c.values {
		query := addValue
		if v.remove {
			query = removeValue
		}
		if err := t.Exec(t.ctx, query, v.path, v.value, v.doc); err != nil {
			return err
		}
	}
	return nil
}

// paths are the numbers of paths, as far as they are remembered.
type paths map[pathOf]int64

type pathOf struct {
	index int64
	path  string
}

// mostPaths bounds what is remembered: maps whose keys are ids have a path for each.
const mostPaths = 10_000

// number is the number of a path, which is given where it has none.
func (ps paths) number(t *tx, index int64, path string) (int64, error) {
	key := pathOf{index, path}
	if n, ok := ps[key]; ok {
		return n, nil
	}
	var n int64
	found, err := t.Row(t.ctx, readPath, []any{index, path}, &n)
	if err == nil && !found {
		_, err = t.Row(t.ctx, writePath, []any{index, path}, &n)
	}
	if err != nil {
		return 0, err
	}
	if len(ps) >= mostPaths {
		clear(ps)
	}
	ps[key] = n
	return n, nil
}
