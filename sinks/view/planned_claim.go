package view

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// ClaimOp writes which row an item requests after a change, or that it requests none. It is the op for rows guarded by
// item. The stored guard of the item has the row that the item requested before.
type ClaimOp struct {
	Target    *Target
	Row       state.Row  // "" if the item requests no row
	PK, SK    item.Value // key of the row; SK is absent if the table has no sort key
	Claim     state.Claim
	GuardMode GuardMode

	sink          *Sink    // the sink that planned the op; nil in tests
	displayKey    string   // key of the row for people, if parts of it are masked; else ""
	displaySource item.Key // key of the item for people
	rowAbsence
}

// rowAbsence says why an item has no rows after a change. It is the zero value if the item has a row.
type rowAbsence struct {
	reason string // ReasonWhen, ReasonSparse, ReasonRemoved or reasonVoid
	idle   bool   // the item had no row before the change either, as its old image shows
	// changeErr is the error if no row can be made of the new image; else nil. The change fails with changeErr after
	// the write is durable.
	changeErr error
}

// reasonVoid is the reason for no row if no row can be made of the new image.
const reasonVoid = "void"

// Err returns the error if no row can be made of the item; else nil. The change fails with it once its write is
// durable.
func (r *rowAbsence) Err() error { return r.changeErr }

// Idle reports whether the item has no row and, by the old image, had none before. Such a change is only written if the
// item has a guard or a contribution.
func (r *rowAbsence) Idle() bool { return r.idle }

func (r *rowAbsence) noEffectReason() string { return r.reason }

// text returns the reason for people. sparse is the text for [ReasonSparse].
func (r *rowAbsence) text(sparse string) string {
	switch r.reason {
	case ReasonSparse:
		return sparse
	case noItem:
		return "item removed"
	case reasonVoid:
		return "the change goes to dead letters: " + r.changeErr.Error()
	default:
		return "the condition is not met"
	}
}

var _ pipeline.Op = (*ClaimOp)(nil)

// String returns a line such as: claim row PK="EMAIL#a@b" SK="USER" (guarded by item: several items may have this
// key).
func (o *ClaimOp) String() string {
	b := make([]byte, 0, 128)
	if o.Row == "" {
		b = append(b, "claim no row ("...)
		b = append(b, o.text("a value of its key is missing")...)
		b = append(b, "; "...)
	} else {
		b = append(b, "claim row "...)
		b = append(b, o.KeyText()...)
		b = append(b, " ("...)
	}
	b = append(b, "guarded by item: "...)
	b = append(b, o.GuardMode.Why...)
	return string(append(b, ')'))
}

// KeyText returns the key of the row with masked parts, for people; "" if the item requests no row.
func (o *ClaimOp) KeyText() string {
	if o.Row == "" {
		return ""
	}
	if o.displayKey != "" {
		return o.displayKey
	}
	return o.Target.keyText(o.PK, o.SK)
}

func (o *ClaimOp) orderKey() string        { return string(o.Claim.Source) }
func (o *ClaimOp) version() record.Version { return o.Claim.Version }

// removalOp returns the op that requests no row instead. It is written if the store refuses the claim permanently.
// removalOp returns nil if the claim requests no row already.
func (o *ClaimOp) removalOp(cause error) *ClaimOp {
	if o.Row == "" {
		return nil
	}
	claim := state.Claim{Source: o.Claim.Source, Version: o.Claim.Version, Time: o.Claim.Time}
	return &ClaimOp{Target: o.Target, Claim: claim, GuardMode: o.GuardMode, displaySource: o.displaySource,
		rowAbsence: rowAbsence{reason: reasonVoid, changeErr: cause}}
}

// planClaim adds the op of a change to d.Ops, which requests the row of the new image. A change has an op even if both
// images request the same row. The row may not be stored, because the change that wrote the old image may never have
// been delivered: only the stored guard shows it. If no row can be made of the new image, the op requests no row, and
// the change fails after the op is durable.
func (s *Sink) planClaim(d *pipeline.Delivery, mode GuardMode) error {
	c := d.Change
	op := &ClaimOp{sink: s, Target: &s.target, Claim: state.Claim{Source: c.Key, Version: c.Version, Time: timeOf(c)},
		GuardMode: mode, displaySource: s.mask.Key(c)}
	if err := s.setRow(d, op); err != nil {
		if !c.New.Exists() { // the stream lacks the image
			return err
		}
		op.reason, op.changeErr = reasonVoid, err
	}
	op.idle = op.Row == "" && s.hadNoRow(c)
	d.Ops = append(d.Ops, op)
	return nil
}

// setRow sets the row that the new image requests, or why it requests none. If no row can be made of the new image, it
// returns an error, and op.Row stays empty.
func (s *Sink) setRow(d *pipeline.Delivery, op *ClaimOp) error {
	var buf keyBuffer
	location, err := s.locationAfter(d.Change, &buf)
	if err != nil {
		return err
	}
	if !location.hasRow() {
		op.reason = location.reason
		return nil
	}
	op.PK, op.SK, _ = location.key.attributeValues(d)
	op.displayKey = location.key.displayText
	row, err := state.MakeRow(op.PK, op.SK)
	if err != nil {
		return err
	}
	columns, err := s.columns(nil, &template.Scope{Change: d.Change, Item: itemOf(d.Change)})
	if err != nil {
		return err
	}
	op.Row, op.Claim.Attributes = row, columns
	return nil
}

// timeOf returns the creation time of a change. A change of a backfill has no creation time. For such a change timeOf
// returns 1970, which every store can hold.
func timeOf(c *record.Change) time.Time {
	if c.Time.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return c.Time
}

// hadNoRow reports whether the old image shows that the item requested no row before. If in doubt, it returns false.
//
// If the item requested no row before and requests none now, no guard is written for it. So items that are not in the
// view cost no writes. The item needs no guard: a guard supersedes earlier changes that arrive later, from dead letters
// or from a slow consumer, and the change before this one requests no row.
func (s *Sink) hadNoRow(c *record.Change) bool {
	if c.Old.Exists() {
		var buf keyBuffer
		before, err := s.locateRow(c, c.Old, &buf)
		return err == nil && !before.hasRow()
	}
	return c.FoundNoItem(s.noTTLDeletes)
}
