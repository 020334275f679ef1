package view

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// ClaimOp is the claim of an item after a change, for rows guarded by item. With its claim, the item requests a row or
// no row. The stored guard of the item has the row that the item requested before.
type ClaimOp struct {
	Target    *Target
	Row       state.Row  // "" if the item requests no row
	PK, SK    item.Value // key of the row; SK is absent if the table has no sort key
	Claim     state.Claim
	GuardMode GuardMode

	sink          *Sink    // the sink that planned the op; nil in tests
	displayKey    string   // key of the row for people, if parts of it are masked; else ""
	displaySource item.Key // key of the item for people
	noRow
}

// noRow says why an item has no rows after a change. It is zero if the item has a row.
type noRow struct {
	reason string // ReasonWhen, ReasonSparse, ReasonRemoved or void
	idle   bool   // by the old image, the item had no row before the change either
	// changeErr is the error if no row can be made of the new image; else nil. The change fails with changeErr after
	// the write is durable.
	changeErr error
}

// void is the reason for no row if no row can be made of the new image.
const void = "void"

// Err returns the error if no row can be made of the item; else nil. The change fails with the error after the write is
// durable.
func (r *noRow) Err() error { return r.changeErr }

// Idle reports whether the item has no row and, by the old image, had none before. Such a change is only written if the
// item has a guard or a contribution.
func (r *noRow) Idle() bool { return r.idle }

func (r *noRow) noEffect() bool         { return r.idle }
func (r *noRow) errAfterWrite() error   { return r.changeErr }
func (r *noRow) noEffectReason() string { return r.reason }

// text returns the reason for people. sparse is the text for [ReasonSparse].
func (r *noRow) text(sparse string) string {
	switch r.reason {
	case ReasonSparse:
		return sparse
	case noItem:
		return "item removed"
	case void:
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
	return string(o.Target.appendKey(nil, o.PK, o.SK))
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
		noRow: noRow{reason: void, changeErr: cause}}
}

// planClaim adds an op to d.Ops. The op has the row that the new image requests. Each change has an op, because only
// the stored guard shows whether the request is new. The old image does not show which row is stored, because the
// change that wrote the old image may never have been delivered. If no row can be made of the new image, the op
// requests no row, and the change fails after the op is durable.
func (s *Sink) planClaim(d *pipeline.Delivery, mode GuardMode) error {
	c := d.Change
	op := &ClaimOp{sink: s, Target: &s.target, Claim: state.Claim{Source: c.Key, Version: c.Version, Time: timeOf(c)},
		GuardMode: mode, displaySource: s.mask.Key(c)}
	if err := s.setRow(d, op); err != nil {
		if !c.New.Exists() {
			return err
		}
		op.Row, op.Claim.Attributes, op.reason, op.changeErr = "", nil, void, err
	}
	op.idle = op.Row == "" && s.hadNoRow(c)
	d.Ops = append(d.Ops, op)
	return nil
}

// setRow sets the row that the new image requests in op, or the reason why the image requests none.
func (s *Sink) setRow(d *pipeline.Delivery, op *ClaimOp) error {
	var buf keyBuffer
	after, err := s.locationAfter(d.Change, &buf)
	if err != nil || after.reason != "" {
		op.reason = after.reason
		return err
	}
	op.PK, op.SK, _ = after.key.attributeValues(d)
	op.displayKey = after.key.displayText
	if op.Row, err = state.MakeRow(op.PK, op.SK); err != nil {
		return err
	}
	op.Claim.Attributes, err = s.columns(nil, &template.Scope{Change: d.Change, Item: itemOf(d.Change)})
	return err
}

// timeOf returns the creation time of a change. A change of a backfill has no creation time. For such a change timeOf
// returns 1970, which every store can hold.
func timeOf(c *record.Change) time.Time {
	if c.Time.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return c.Time
}

// hadNoRow reports whether, by the old image, the item requested no row before the change.
//
// If such a change requests no row either, and the item has no guard, no guard is written. So items that are not in the
// view cost no writes. A guard would only be needed to supersede an earlier change that requests a row and arrives
// later, from dead letters or from a slow consumer. But here the item's preceding change, which wrote the old image,
// requests no row.
func (s *Sink) hadNoRow(c *record.Change) bool {
	if c.Old.Exists() {
		var buf keyBuffer
		before, err := s.locateRow(c, c.Old, &buf)
		return err == nil && before.reason != ""
	}
	return c.FoundNoItem(s.noTTLDeletes)
}
