package view

import (
	"cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// The reasons of a change without effect.
const (
	ReasonWhen   = "when"   // neither image matches the condition
	ReasonSparse = "sparse" // the item matches the condition, but a value of its row key is missing, NULL or empty
)

// rowLocation is the row key of an image of an item, or the reason why the image has no row.
type rowLocation struct {
	key    rowKey
	reason string // reason for no row: ReasonWhen, ReasonSparse or noItem; "" if there is a row

	keyUnknown bool // no row key can be made of the image
}

// hasRow reports whether the image has a row.
func (l *rowLocation) hasRow() bool { return l.reason == "" }

// noItem is the reason for no row if the item does not exist: before its insert or after its removal.
const noItem = ReasonRemoved

// Plan fills d.Ops with the writes that the change requires. It does no I/O and may be called concurrently.
//
//   - If rows guard themselves, there is an [Op] at the row key of the new image and one at that of the old image. If
//     neither image has a row, the outcome is NoEffect with [ReasonWhen] or [ReasonSparse].
//   - If rows are guarded by item, there is one [ClaimOp], whatever the old image is. Write compares the ClaimOp with
//     the item's guard.
//   - With ForEach there is one [ItemRowsOp], and an [ElementRowOp] for each row.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	if s.forEach != nil {
		return s.planItemRows(d)
	}
	if mode := s.GuardMode(d.Change); mode.ByItem {
		return s.planClaim(d, mode)
	}
	return s.planRow(d)
}

// planRow compares the location of the item's row before the change with its location after the change. If the stream
// lacks an image that the plan needs, planRow returns an error, and nothing is written. If no row can be made of an
// image that exists, the change is dead-lettered, and it is redriven after the settings are corrected.
func (s *Sink) planRow(d *pipeline.Delivery) error {
	c := d.Change
	buffers := s.keyBuffers.get()
	defer s.keyBuffers.put(buffers)
	before, oldErr := s.locationBefore(c, &buffers[0])
	if oldErr != nil && !c.Old.Exists() {
		return oldErr
	}
	newErr := s.planRowAfter(d, &before, &buffers[1])
	if newErr != nil {
		if !c.New.Exists() {
			return newErr
		}
		return s.planVoid(d, &before, newErr)
	}
	if oldErr != nil {
		return planWithoutOld(d, &before, oldErr)
	}
	return nil
}

// planVoid replaces the item's row by a void tombstone ([Mutation.Void]), because no row can be made of the new image.
// It does so even if the row key stays the same: the next change cannot remove the row, because its old image is this
// new image. The change fails with err after the tombstone is durable.
func (s *Sink) planVoid(d *pipeline.Delivery, before *rowLocation, err error) error {
	d.Ops = d.Ops[:0]
	if before.hasRow() {
		s.addTombstone(d, Leave, &before.key)
		d.Ops[0].(*Op).Mutation.Void = true
	}
	return failAfterWrite(d, err)
}

// planWithoutOld ends the plan of a change if no row can be made of its old image. The change that wrote this image
// removed the row then, and is in the dead letters. If the row key of the old image is known, the plan has a tombstone
// at this key: without it, a redrive of the earlier change would put a row there that nothing removes. If the key is
// unknown, this change fails with err after its ops are durable, so that it is redriven after the earlier change.
func planWithoutOld(d *pipeline.Delivery, before *rowLocation, err error) error {
	if !before.keyUnknown {
		return nil
	}
	return failAfterWrite(d, errs.Errorf("the change is written, and the one before it is in dead letters, since no row can "+
		"be made of its image; it must come again after that one: redrive both. The image before: %w", err))
}

// planRowAfter plans the ops that move the item's row from its location before the change to its location after the
// change. The error means that no row can be made of the new image; some ops may have been added already.
func (s *Sink) planRowAfter(d *pipeline.Delivery, before *rowLocation, buf *keyBuffer) error {
	after := *before
	if !s.keepsKey(d.Change, before) {
		var err error
		if after, err = s.locationAfter(d.Change, buf); err != nil {
			return err
		}
	}
	return s.planOps(d, *before, after)
}

// failAfterWrite makes the change fail with err after its ops are durable. If there are no ops, nothing has to be
// written, and the change fails at once.
func failAfterWrite(d *pipeline.Delivery, err error) error {
	if len(d.Ops) == 0 {
		d.Outcome, d.Reason = pipeline.Written, ""
		return err
	}
	d.Ops[0].(*Op).changeErr = err
	return nil
}

// keepsKey reports whether the item's row certainly keeps its key, because the attributes that the key reads did not
// change. Most changes keep the key, and then the key is not built a second time.
func (s *Sink) keepsKey(c *record.Change, before *rowLocation) bool {
	hadRow := before.hasRow() && c.Old.Exists()
	hasItem := !c.Removed() && c.New.Exists()
	dependsOnKeyPaths := hadRow && hasItem && s.when == nil
	if !dependsOnKeyPaths {
		return false
	}
	for _, path := range s.keyPaths {
		oldValue, _ := c.Old.At(path)
		newValue, _ := c.New.At(path)
		if !oldValue.Equal(newValue) {
			return false
		}
	}
	return true
}

// Requires returns the images that the sink needs. It needs the new image if it reads any attribute except {@key}. If
// the row key reads attributes, it also needs the old image, because only the old image shows the former row key. If
// rows are guarded by item, it needs no old image, because the guard has the former row.
func (s *Sink) Requires() pipeline.Needs {
	if s.guardModeFixed && s.guardMode.ByItem {
		return pipeline.Needs{New: s.readsItem}
	}
	return pipeline.Needs{Old: !s.fixedKey, New: s.readsItem}
}

// locationBefore returns the location of the item's row before the change.
func (s *Sink) locationBefore(c *record.Change, buf *keyBuffer) (rowLocation, error) {
	switch {
	case c.Old.Exists():
		return s.locateRow(c, c.Old, buf)
	case c.FoundNoItem(s.noTTLDeletes), c.InsertedAndRemoved():
		return rowLocation{reason: noItem}, nil
	case s.fixedKey:
		// The row may not exist, but its key is known.
		key, err := s.buildRowKey(&template.Scope{Change: c, Item: c.Keys, Shards: s.shards}, buf)
		if err != nil && c.Inserted() {
			return rowLocation{reason: noItem}, nil // if an item with this key expired before, it had no row either
		}
		return rowLocation{key: key}, err
	case c.Inserted():
		return rowLocation{reason: noItem}, nil // if an item with this key expired before, its row key is unknown
	default:
		return rowLocation{}, missingImageError(c, "an old", "its row may be at another key", record.NewAndOldImages.String())
	}
}

// locationAfter returns the location of the item's row after the change.
func (s *Sink) locationAfter(c *record.Change, buf *keyBuffer) (rowLocation, error) {
	if c.Removed() {
		return rowLocation{reason: noItem}, nil
	}
	image, err := s.newImage(c, "its row is made of it")
	if err != nil {
		return rowLocation{}, err
	}
	return s.locateRow(c, image, buf)
}

// locateRow returns the location of an image's row. If the condition cannot be evaluated, or no row key can be made,
// locateRow returns an error. The location has the row key whenever one can be made, also with an error.
func (s *Sink) locateRow(c *record.Change, image item.Image, buf *keyBuffer) (rowLocation, error) {
	matches, conditionErr := true, error(nil)
	if s.when != nil {
		matches, conditionErr = s.when.Match(image)
	}
	if conditionErr == nil && !matches {
		return rowLocation{reason: ReasonWhen}, nil
	}

	key, keyErr := s.buildRowKey(&template.Scope{Change: c, Item: image, Shards: s.shards}, buf)
	switch {
	case keyErr != nil:
		return rowLocation{reason: ReasonSparse, keyUnknown: true}, cmp.Or(conditionErr, keyErr)
	case !key.exists():
		return rowLocation{reason: ReasonSparse}, conditionErr
	default:
		return rowLocation{key: key}, conditionErr
	}
}
