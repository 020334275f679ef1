package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// State is the final state. The text of each name is equal for equal content.
type State struct {
	Rows      map[string]string  // by table and key
	Contested map[string]Contest // rows that belong to one of several items
	Documents map[string]string  // by index and id
	Archived  map[string]string  // by bucket, key and version
	Events    map[string]string  // by sink, detector, key and version
	Letters   map[string]bool    // by sink, key and version: true if it must be there, false if it may be there

	Source Source
	Counts map[string]*Count // by sink
}

// Contest describes a row that several items claim. Each of them assumes that it alone claims the row.
type Contest struct {
	Rows  map[string]string   // of each item that requests it in the end, by the dead letter of the change that says so
	Older map[string][]string // likewise, of its changes before that one: one of these stays where the last one is a dead letter
	None  bool                // there may be no row
}

// allows reports whether the row may be stored; "" stands for none.
func (c Contest) allows(row string) bool {
	if row == "" && c.None {
		return true
	}
	for letter, requested := range c.Rows {
		if row == requested || slices.Contains(c.Older[letter], row) {
			return true
		}
	}
	return false
}

// Source holds the counts in the ledger of a source after one run.
type Source struct {
	Read, Routed, Unrouted int64
	Filtered               map[string]int64 // by reason
}

// Count holds the counts in the ledger of a sink after one run.
type Count struct {
	Routed  int64
	Failed  int64            // changes that the sink cannot process
	Collide bool             // dead letters may also come from rows that another item owns
	Idle    int64            // changes without effect on the sink
	ByState bool             // idle changes also depend on the memory of the item: Idle is 0
	Dropped map[string]int64 // by reason
}

// Held is the state that a test found in the stores.
type Held struct {
	Rows, Documents, Archived, Events map[string]string
	Letters                           map[string]string // with their errors
}

// NewHeld returns a Held without content.
func NewHeld() Held {
	return Held{Rows: map[string]string{}, Documents: map[string]string{}, Archived: map[string]string{},
		Events: map[string]string{}, Letters: map[string]string{}}
}

// RowName names a row.
func RowName(table string, row sinktest.Item) string {
	return table + " " + sinktest.Canonical(sinktest.Item{"PK": row["PK"], "SK": row["SK"]})
}

// LetterName names the dead letter of a change.
func LetterName(sink, key, version string) string { return sink + " " + key + " " + version }

// LetterOf names the dead letter of a record.
func LetterOf(sink string, r sinktest.Record) string {
	c := changeOf(r)
	return LetterName(sink, c.key, c.version)
}

// ChangeName names an archived change.
func ChangeName(bucket, key, version string) string { return bucket + " " + key + " " + version }

// ChangeText returns the text that an archive must keep of a record.
func ChangeText(name string, keys, old, new sinktest.Item) string {
	return strings.Join([]string{name, sinktest.Canonical(keys), "old " + sinktest.Canonical(old), "new " + sinktest.Canonical(new)}, " ")
}

// Differences returns a line for each difference between the found and the expected state, or "" if there is none.
func (s State) Differences(h Held) string {
	var lines []string
	report := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for name, must := range s.Letters {
		if _, ok := h.Letters[name]; must && !ok {
			report("dead letter %s is missing", name)
		}
	}
	for name, err := range h.Letters {
		if _, ok := s.Letters[name]; !ok {
			report("dead letter %s should not be there: %s", name, err)
		}
	}
	rows := maps.Clone(h.Rows)
	for name, contest := range s.Contested {
		is := rows[name]
		for letter, row := range contest.Rows {
			if _, hasLetter := h.Letters[letter]; !hasLetter && row != is && s.Letters != nil {
				report("dead letter %s is missing, and its item asks for the row %s", letter, name)
			}
		}
		if !contest.allows(is) {
			report("row %s is\n       %s\n  want one of %s", name, is, strings.Join(slices.Sorted(maps.Values(contest.Rows)), "\n              "))
		}
		delete(rows, name)
	}
	compareTexts("row", s.Rows, rows, report)
	compareTexts("document", s.Documents, h.Documents, report)
	compareTexts("archived change", s.Archived, h.Archived, report)
	compareTexts("event", s.Events, h.Events, report)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// compareTexts reports the differences between texts by name. what says what they are.
func compareTexts(what string, want, got map[string]string, report func(format string, args ...any)) {
	for name, w := range want {
		if is, ok := got[name]; !ok {
			report("%s %s is missing, want %s", what, name, w)
		} else if is != w {
			report("%s %s is\n       %s\n  want %s", what, name, is, w)
		}
	}
	for name, is := range got {
		if _, ok := want[name]; !ok {
			report("%s %s should not be there: %s", what, name, is)
		}
	}
}

func newState() State {
	return State{Rows: map[string]string{}, Contested: map[string]Contest{}, Documents: map[string]string{}, Archived: map[string]string{},
		Events: map[string]string{}, Letters: map[string]bool{}, Counts: map[string]*Count{}}
}

// put adds a row to the state.
func (s State) put(table string, row sinktest.Item) {
	s.Rows[RowName(table, row)] = sinktest.Canonical(row)
}

// requireLetter requires a dead letter, and allowLetter allows one.
func (s State) requireLetter(sink string, c change, count *Count) {
	s.Letters[LetterName(sink, c.key, c.version)] = true
	count.Failed++
}

func (s State) allowLetter(sink string, c change) {
	if name := LetterName(sink, c.key, c.version); !s.Letters[name] {
		s.Letters[name] = false
	}
}

func (s State) add(part State) {
	maps.Copy(s.Rows, part.Rows)
	maps.Copy(s.Contested, part.Contested)
	maps.Copy(s.Documents, part.Documents)
	maps.Copy(s.Archived, part.Archived)
	maps.Copy(s.Events, part.Events)
	maps.Copy(s.Letters, part.Letters)
	maps.Copy(s.Counts, part.Counts)
}
