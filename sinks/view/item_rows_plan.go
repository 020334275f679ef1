package view

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// planItemRows fills d.Ops with the rows of the new image's elements. The old image has no influence, because the
// contribution of the item has its stored rows. If no rows can be made of the new image, the op removes all rows of the
// item. The change fails after the removal is durable.
func (s *Sink) planItemRows(d *pipeline.Delivery) error {
	c := d.Change
	if err := s.checkItemInKey(c); err != nil {
		return err
	}
	rows, reason, err := s.elementRowsAfter(c)
	if err != nil {
		if !c.New.Exists() { // the stream lacks the image
			return err
		}
		rows, reason = nil, reasonVoid
	}
	op := &ItemRowsOp{sink: s, change: c, Target: &s.target, Source: c.Key, Version: c.Version, Rows: rows,
		rowAbsence: rowAbsence{reason: reason, changeErr: err}}
	op.idle = len(op.Rows) == 0 && s.hadNoElementRows(c)

	d.Ops = append(d.Ops, op)
	for _, r := range op.Rows {
		d.Ops = append(d.Ops, r)
	}
	return nil
}

// checkItemInKey returns an error if the row key does not identify the item of a change, because it escapes only some
// of the key attributes. The result is the same for all items of a table.
func (s *Sink) checkItemInKey(c *record.Change) error {
	if s.escapedKeys == nil {
		return nil
	}
	switch mode, missing := s.escapedKeysMode(c); mode {
	case severalTables:
		return pipeline.Fatal(
			errs.Errorf(
				"view %s: for_each needs the item in the row key, and items of several tables have the same key attributes: put {@key} into it", redact.Safe(s.target.View)))
	case keyPartsMissing:
		return pipeline.Fatal(
			errs.Errorf(
				"view %s: for_each needs the item in the row key, and the key attribute %s is not there: put {@key} or {%s|esc} into it",
				redact.Safe(s.target.View), redact.Field(missing), redact.Field(missing)))
	}
	return nil
}

// elementRowsAfter returns the rows of the item after the change, and the reason if there are none.
func (s *Sink) elementRowsAfter(c *record.Change) (rows []*ElementRowOp, reason string, err error) {
	if c.Removed() {
		return nil, noItem, nil
	}
	image, err := s.newImage(c, "its rows are made of it")
	if err != nil {
		return nil, "", err
	}
	return s.elementRows(c, image)
}

// hadNoElementRows reports whether the item had no rows before the change, by the old image. See hadNoRow.
func (s *Sink) hadNoElementRows(c *record.Change) bool {
	if c.Old.Exists() {
		rows, _, err := s.elementRows(c, c.Old)
		return err == nil && len(rows) == 0
	}
	return c.FoundNoItem(s.noTTLDeletes)
}

// elementRows returns the rows of an image's elements, and the reason if there are none. An element has no row if it
// does not match the condition, or if a part of its row key is missing.
func (s *Sink) elementRows(c *record.Change, image item.Image) (rows []*ElementRowOp, reason string, err error) {
	itemCondition, elementCondition := pipeline.SplitCondition(s.when)
	if itemCondition != nil {
		if matches, err := itemCondition.Match(image); err != nil || !matches {
			return nil, ReasonWhen, err
		}
	}
	all, err := s.forEach.Of(nil, image)
	if err != nil {
		return nil, "", err
	}

	eachOf := s.forEach.Pattern(image)
	scope := template.Scope{Change: c, Item: image, Shards: s.shards, EachOf: eachOf, IDOf: s.forEach.IDPath(eachOf)}
	reason = ReasonSparse // unless an element does not match the condition
	for i := range all {
		element := &all[i]
		if element.ID == "" {
			continue
		}
		scope.Each, scope.ID = element.Value, element.ID
		row, elementReason, err := s.elementRow(&scope, elementCondition)
		switch {
		case err != nil:
			return nil, "", errs.Errorf("element %d of %s: %w", element.Position, redact.Field(s.forEach.Path.String()), err)
		case row != nil:
			row.Position = element.Position
			rows = append(rows, row)
		case elementReason == ReasonWhen:
			reason = ReasonWhen
		}
	}
	if len(rows) == 0 {
		return nil, reason, nil
	}
	return rows, "", s.checkDistinctRows(rows)
}

// elementRow returns the row of one element. If the element has no row, it returns nil and the reason: ReasonWhen if
// the element does not match the condition, or ReasonSparse if a part of its row key is missing. condition may be nil.
func (s *Sink) elementRow(
	scope *template.Scope, condition pipeline.ElementCondition,
) (row *ElementRowOp, reason string, err error) {
	if condition != nil {
		if matches, err := condition.MatchElement(scope.Item, scope.Each); err != nil || !matches {
			return nil, ReasonWhen, err
		}
	}
	var buf keyBuffer
	k, err := s.buildRowKey(scope, &buf)
	if err != nil || !k.exists() {
		return nil, ReasonSparse, err
	}

	row = &ElementRowOp{target: &s.target, displayKey: k.displayText}
	row.PK, row.SK, _ = k.attributeValues(&pipeline.Delivery{})
	if row.Row, err = state.MakeRow(row.PK, row.SK); err != nil {
		return nil, "", err
	}
	columns, err := s.columns(nil, scope)
	if err != nil {
		return nil, "", err
	}
	row.SetAttributes(columns)
	return row, "", nil
}

// checkDistinctRows returns an error if two elements have the same row. This happens if parts of the row key are not
// separated.
func (s *Sink) checkDistinctRows(rows []*ElementRowOp) error {
	positions := make(map[state.Row]int, len(rows))
	for _, r := range rows {
		if before, taken := positions[r.Row]; taken {
			return errs.Errorf("the elements %d and %d of %s have one row: parts of its key run together, so separate them",
				before, r.Position, redact.Field(s.forEach.Path.String()))
		}
		positions[r.Row] = r.Position
	}
	return nil
}

// rowDigestFormat is the number of the format that digestOf hashes. It is the first hashed byte.
const rowDigestFormat = 1

// digestOf returns the digest of a row's attributes and their size in bytes. The order of columns has no influence.
func digestOf(columns []state.Column) (digest string, size int) {
	sorted := columns
	byName := func(a, b state.Column) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(columns, byName) {
		sorted = slices.SortedFunc(slices.Values(columns), byName)
	}
	b := []byte{rowDigestFormat}
	for i := range sorted {
		b = binary.AppendUvarint(b, uint64(len(sorted[i].Name)))
		b = sorted[i].Value.AppendCanonical(append(b, sorted[i].Name...))
	}
	sum := sha256.Sum256(b)
	return string(sum[:16]), len(b)
}
