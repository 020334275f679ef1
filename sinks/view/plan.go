package view

import (
	"cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// Reasons of a change without effect.
const (
	ReasonWhen   = "when"   // neither the old nor the new image matches the condition
	ReasonSparse = "sparse" // the item matches and a value of its row key is missing, NULL or empty
)

// place is where an item's row is by one image. Without a reason it is at key.
type place struct {
	key    rowKey
	reason string // why there is no row: ReasonWhen, ReasonSparse, or gone

	unknown bool // the image does not tell where its row would be
}

// gone is the reason for an item that does not exist: before its insert, or
// after its removal.
const gone = ReasonRemoved

// Plan fills d.Ops with what the store must do. It does no I/O and may be called
// concurrently.
//
// A row that guards itself has one [Op] where it is and one where it was, as the old
// and the new image say; or none, and the outcome is NoEffect with [ReasonWhen] or
// [ReasonSparse]. A row guarded by item has one [ClaimOp], whatever the old image
// says: Write compares it with what is known of the item.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	if g := s.Guard(d.Change); g.ByItem {
		return s.planClaim(d, g)
	}
	return s.planRow(d)
}

// planRow compares the place of the item's row before the change with its place after.
//
// If no row can be made of an image, the change fails with flaw after its tombstone is durable,
// so that it is redriven when the settings are mended:
//
//   - A new image: a void tombstone ([Mutation.Void]) replaces the item's row, also if its key
//     stays the same. The next change would not find that row, since its old image is this one.
//   - An old image: no row was ever made of it, and the row before it was removed then, so the
//     change is planned as if there was no row. If the key of the image's row can be made, a
//     tombstone goes there all the same: the change in dead letters may be redriven and put a
//     row there. If not, this change goes to dead letters too, so that it is redriven after
//     that one.
func (s *Sink) planRow(d *pipeline.Delivery) error {
	c := d.Change
	rooms := s.rooms.get()
	defer s.rooms.put(rooms)
	was, before := s.before(c, &rooms[0])
	if before != nil && !c.Old.Exists() {
		return before
	}
	is, flaw := was, error(nil)
	if !s.stays(c, &was) {
		is, flaw = s.after(c, &rooms[1])
	}
	if flaw == nil {
		flaw = s.move(d, was, is)
	}
	switch {
	case flaw != nil && !c.New.Exists():
		return flaw
	case flaw != nil:
		d.Ops = d.Ops[:0]
		if was.reason == "" {
			s.addTombstone(d, Leave, &was.key)
			d.Ops[0].(*Op).Mutation.Void = true
		}
	case was.unknown:
		flaw = errs.Errorf("the change is written, and the one before it is in dead letters, since no row can be made of its image; it must come again behind that one: redrive both. The image before: %w", before)
	}
	if flaw == nil {
		return nil
	}
	if len(d.Ops) == 0 {
		d.Outcome, d.Reason = pipeline.Written, ""
		return flaw
	}
	d.Ops[0].(*Op).flaw = flaw
	return nil
}

// stays tells whether an item that has a row keeps it, as what its key is made of is
// as it was: so it is with most changes, and the key need not be made again. False
// where that is not certain.
func (s *Sink) stays(c *record.Change, was *place) bool {
	if s.when != nil || was.reason != "" || c.Removed() || !c.Old.Exists() || !c.New.Exists() {
		return false
	}
	for _, p := range s.keyPaths {
		before, _ := c.Old.At(p)
		now, _ := c.New.At(p)
		if !before.Equal(now) {
			return false
		}
	}
	return true
}

// Requires names the new image when anything but {@key} is read, and the old one
// when the row key is made of the item's attributes: rows may then move or go
// sparse, and only the old image says where they were. A row key of {@key} and
// literals never changes, so that such a view needs no old image to find its row, nor
// does one whose rows are guarded by item.
func (s *Sink) Requires() pipeline.Needs {
	if s.decided && s.guard.ByItem {
		return pipeline.Needs{New: s.readsItem}
	}
	return pipeline.Needs{Old: !s.fixedKey, New: s.readsItem}
}

// before is where the item's row was.
func (s *Sink) before(c *record.Change, room *keyRoom) (place, error) {
	switch {
	case c.Old.Exists():
		return s.place(c, c.Old, room)
	case c.Op == record.Insert, c.Op == record.Snapshot, c.Op == record.Unknown:
		return place{reason: gone}, nil
	case s.fixedKey:
		// Whether it was in the view is unknown, where it would be is not.
		k, err := s.key(&template.Scope{Change: c, Item: c.Keys}, room)
		return place{key: k}, err
	default:
		return place{}, lacks(c, "an old", "its row may be at another key", record.NewAndOldImages.String())
	}
}

// after is where the item's row is now.
func (s *Sink) after(c *record.Change, room *keyRoom) (place, error) {
	if c.Removed() {
		return place{reason: gone}, nil
	}
	item, err := s.base.after(c, "its row is made of it")
	if err != nil {
		return place{}, err
	}
	return s.place(c, item, room)
}

// place is where the row of an image is. With an error there is none, and the place is the
// one that a row of it would have, as far as its key can be made.
func (s *Sink) place(c *record.Change, item item.Image, room *keyRoom) (place, error) {
	var flaw error
	if s.when != nil {
		in, err := s.when.Match(item)
		if err == nil && !in {
			return place{reason: ReasonWhen}, nil
		}
		flaw = err
	}
	k, err := s.key(&template.Scope{Change: c, Item: item}, room)
	switch {
	case err != nil:
		return place{reason: ReasonSparse, unknown: true}, cmp.Or(flaw, err)
	case !k.exists():
		return place{reason: ReasonSparse}, flaw
	}
	return place{key: k}, flaw
}
