package configtest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// step is one given change of a case, or the records of a fixture file.
type step struct {
	Old     image     `key:"old"` // absent: the change has no old image
	New     image     `key:"new"`
	Op      string    `key:"op"`
	TTL     bool      `key:"ttl"`
	At      time.Time `key:"at"` // zero: a second after the previous step
	Table   string    `key:"table"`
	Of      []string  `key:"of,single"`
	Fixture string    `key:"fixture"` // path; "": the step is a change
	Lines   string    `key:"lines" is:"scalar"`

	firstLine, lastLine int // lines of the fixture, 1-based; 0, 0: all of it
	op                  record.Operation
	keys                []string // names of the key attributes
}

// Made is called by yamlbind after the mapping is read. It checks that the step is a change or a fixture.
func (s *step) Made(f *yamlbind.File, v *fileValue) {
	if v.Get("fixture") != nil {
		s.checkFixture(f, v)
		return
	}
	if lines := v.Get("lines"); lines != nil {
		f.FailKey(lines, "add `fixture: FILE`", "are lines of no fixture")
	}
	s.setTable(f, v)
	s.setOperation(f, v)
	s.checkKeys(f, v)
	if knownEntities(f, &s.Of) {
		s.checkEntities(f, s.Of)
	}
}

// checkFixture checks the keys of a step that is a fixture, and its path and lines.
func (s *step) checkFixture(f *yamlbind.File, v *fileValue) {
	for _, e := range v.Entries {
		switch e.Name {
		case "fixture", "lines":
		case "of":
			f.FailKey(e, "make two steps of it", "checks the item of a change, and not the records of a fixture")
		default:
			f.FailKey(e, "make two steps of it", "the records of a fixture say this themselves")
		}
	}
	if s.Fixture == "" {
		return
	}
	if !filepath.IsAbs(s.Fixture) {
		s.Fixture = filepath.Join(contextOf(f).dir, s.Fixture)
	}
	if _, err := os.Stat(s.Fixture); err != nil {
		f.Fail(v.Get("fixture"), "a fixture is named from the folder of this file", "%v", err)
	}
	if lines := v.Get("lines"); lines != nil {
		f.FailIf(!s.parseLines(), lines, "write 3, or 3-7", "%s are no lines", yamlbind.Quoted(s.Lines))
	}
}

// parseLines sets the first and the last line from Lines. It returns false if Lines is not valid.
func (s *step) parseLines() bool {
	first, last, isRange := strings.Cut(s.Lines, "-")
	if !isRange {
		last = first
	}
	var errFirst, errLast error
	s.firstLine, errFirst = strconv.Atoi(first)
	s.lastLine, errLast = strconv.Atoi(last)
	isOrdered := 1 <= s.firstLine && s.firstLine <= s.lastLine
	return errFirst == nil && errLast == nil && isOrdered
}

// setTable checks the table of the change. If the source has only one table, this table is the default.
func (s *step) setTable(f *yamlbind.File, v *fileValue) {
	r := contextOf(f)
	table, tables := v.Get("table"), r.cfg.Source.Tables
	isKnown := table != nil && s.Table != "" && r.checkTable(f, table, table.Node, s.Table)
	if isKnown {
		return
	}
	f.FailIf(table == nil && len(tables) > 1, v, "add `table: NAME`",
		"the source has several tables, and the step does not say which")
	if len(tables) > 0 {
		s.Table = tables[0].Name // after a problem, too: the checks of the images need a table
	}
}

// readTime reads a creation time. Records can have times up to the year 9999. The limit 9998 leaves a year for the
// times of later steps.
func readTime(f *yamlbind.File, v *fileValue, _ []yamlbind.Part) any {
	const hint = "write it as 2026-03-01T12:00:00Z"
	t, err := time.Parse(time.RFC3339Nano, v.Source)
	year := t.UTC().Year()
	switch {
	case err != nil:
		f.Fail(v, hint, "%s is not a time", yamlbind.Quoted(v.Source))
	case year < 1970 || year > 9998:
		f.Fail(v, hint, "wants a time from 1970 to 9998, not %s", v.Source)
	}
	return t
}

// image is an image of a step.
type image struct{ item.Image }

// Bind reads an image. If the file has null, the image is absent.
func (m *image) Bind(f *yamlbind.File, at *fileValue) {
	problemsBefore := len(f.Problems)
	v := marked.parse(f, at)
	if len(f.Problems) > problemsBefore {
		return
	}
	switch v.Kind() {
	case item.KindNULL:
		at.Data = *m
	case item.KindM:
		var err error
		if m.Image, err = item.Parse(v.Raw()); err != nil {
			f.Fail(at, "", "is not an item: %v", err)
			return
		}
		at.Data = *m
	default:
		f.Fail(at, "", "an image is a mapping of attributes, not %s", f.Describe(at.Node))
	}
}

// setOperation derives the operation from the images, and checks `op` and `ttl` against it. An invalid image already
// has a problem, so setOperation does not add one for it.
func (s *step) setOperation(f *yamlbind.File, v *fileValue) {
	isInvalid := func(m *image) bool { return f.Has(m) && !f.Sound(m) }
	hasOld, hasNew := s.Old.Exists(), s.New.Exists()
	switch {
	case hasOld && hasNew:
		s.op = record.Modify
	case hasOld:
		s.op = record.Remove
	case hasNew:
		s.op = record.Insert
	case !isInvalid(&s.Old) && !isInvalid(&s.New):
		f.Fail(v, "`new` alone is an insert, `old` alone a removal, both a change",
			"wants an image: old, new or both; or a fixture")
	}
	if s.Op != "" {
		s.checkOp(f)
	}
	f.FailIf(s.TTL && s.op != record.Remove, &s.TTL, "a TTL delete has `old` alone", "only a removal is made by TTL")
}

// checkOp checks `op` against the operation of the images. An insert becomes a snapshot if `op` says so.
func (s *step) checkOp(f *yamlbind.File) {
	operations := []string{"INSERT", "MODIFY", "REMOVE", "SNAPSHOT"}
	switch {
	case !slices.Contains(operations, s.Op):
		f.Fail(&s.Op, yamlbind.Hint(s.Op, operations, "the operations are"), "%s is no operation", yamlbind.Quoted(s.Op))
	case s.Op == s.op.String():
	case s.Op == "SNAPSHOT" && s.op == record.Insert:
		s.op = record.Snapshot
	default:
		f.Fail(&s.Op, "leave it out: it follows from the images", "%s does not have these images", s.Op)
	}
}

// checkKeys checks the key attributes of the images.
func (s *step) checkKeys(f *yamlbind.File, v *fileValue) {
	s.keys = contextOf(f).keys[s.Table]
	f.FailIf(len(s.keys) == 0 && len(f.Problems) == 0, v, "add it there: `"+s.Table+": [PK, SK]`",
		"`keys` does not say which attributes are the key of the table %s", s.Table)
	for _, m := range []*image{&s.Old, &s.New} {
		if !m.Exists() {
			continue
		}
		for _, name := range s.keys {
			s.checkKey(f, name, m)
		}
	}
}

// checkKey checks a key attribute of an image. It must be the same in both images.
func (s *step) checkKey(f *yamlbind.File, name string, m *image) {
	key, exists := m.Get(name)
	at := *f.ValueOf(m)
	if !exists {
		f.Fail(&at, "", "the key attribute %s is missing", name)
		return
	}
	at.Field = yamlbind.Join(at.Field, name)
	old, hasOld := s.Old.Get(name)
	if _, err := item.AppendKeyValue(nil, key); err != nil {
		f.Fail(&at, "", "a key attribute is a text, a number or a $B, and not empty")
	} else if hasOld && !old.Equal(key) {
		f.Fail(&at, "an item that moves to another key is removed and inserted: two steps", "old and new are of two items")
	}
}

// keyValue returns the key attributes as an M.
func (s *step) keyValue() item.Value {
	if s.New.Exists() {
		return pick(s.New.Value(), s.keys)
	}
	return pick(s.Old.Value(), s.keys)
}

// knownEntities reports whether the configuration has all entities in `of`. It adds a problem for the first unknown
// entity.
func knownEntities(f *yamlbind.File, of *[]string) bool {
	for i, name := range *of {
		if _, err := contextOf(f).cfg.ScopeOf(name); err != nil {
			f.Fail(f.ValueOf(of).All()[i], "", "%v", err)
			return false
		}
	}
	return true
}

// checkEntities adds a problem unless the item belongs to one of the entities in of, both before the change and after
// it. If of is empty, it checks nothing.
func (s *step) checkEntities(f *yamlbind.File, of []string) {
	if len(of) == 0 {
		return
	}
	cfg := contextOf(f).cfg
	for _, m := range []*image{&s.Old, &s.New} {
		if !m.Exists() {
			continue
		}
		entity, err := cfg.EntitySet().Of(m.Image)
		switch {
		case err != nil:
			f.Fail(m, "", "the condition of the entity %s fails: %v", entity.Name, err)
		case entity == nil:
			f.Fail(m, "see `key` and `when` of the entity", "the item is of no entity, and not of %s",
				yamlbind.Enumerate(of, "or"))
		case !slices.Contains(of, entity.Name):
			f.Fail(m, "see `key` and `when` of the entities", "the item is of %s, and not of %s", entity.Name,
				yamlbind.Enumerate(of, "or"))
		}
	}
}
