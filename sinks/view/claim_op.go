package view

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// ClaimOp is the claim that a change results in, for a row guarded by item: the row that the item requests from now
// on, or no row. The row that it had before is in the guard.
type ClaimOp struct {
	Target    *Target
	Row       state.Row  // "": the item requests no row
	PK, SK    item.Value // key of the row; SK is absent if the table has no sort key
	Claim     state.Claim
	GuardMode GuardMode

	sink          *Sink    // the sink that planned it; nil in tests
	displayKey    string   // the row key for people if parts of it are masked
	displaySource item.Key // the item's key for people
	reason        string   // why the item requests no row: ReasonWhen, ReasonSparse, ReasonRemoved or void
	idle          bool     // the item requests no row, and its old image requested none
	changeErr     error    // the change fails with it after the claim is durable: no row can be made of the new image. nil: none
}

// void is the reason if no row can be made of the new image.
const void = "void"

var _ pipeline.Op = (*ClaimOp)(nil)

// String returns a line such as: claim row PK="EMAIL#a@b" SK="USER" (guarded by item: several items may have this
// key).
func (o *ClaimOp) String() string {
	b := make([]byte, 0, 128)
	if o.Row == "" {
		b = append(b, "claim no row ("...)
		b = append(b, o.reasonText()...)
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

// Err returns the error with which the change fails once the claim is durable: no row can be made of the item. nil: none.
func (o *ClaimOp) Err() error { return o.changeErr }

// Idle reports whether the item requests no row and, by the old image, requested none before. Such a change is only
// written if the item has a guard.
func (o *ClaimOp) Idle() bool { return o.idle }

func (o *ClaimOp) reasonText() string {
	return noRowText(o.reason, "a value of its key is missing", o.changeErr)
}

// noRowText says why an item has no row. sparse is the text of [ReasonSparse].
func noRowText(reason, sparse string, changeErr error) string {
	switch reason {
	case ReasonSparse:
		return sparse
	case noItem:
		return "item removed"
	case void:
		return "the change goes to dead letters: " + changeErr.Error()
	default:
		return "the condition is not met"
	}
}

func (o *ClaimOp) orderKey() string        { return string(o.Claim.Source) }
func (o *ClaimOp) version() record.Version { return o.Claim.Version }
func (o *ClaimOp) noEffect() bool          { return o.idle }
func (o *ClaimOp) errAfterWrite() error    { return o.changeErr }
func (o *ClaimOp) noEffectReason() string  { return o.reason }

// removal returns the claim on no row to write if the store refuses the claim permanently; nil if there is no row.
func (o *ClaimOp) removal(cause error) *ClaimOp {
	if o.Row == "" {
		return nil
	}
	removal := &ClaimOp{Target: o.Target, GuardMode: o.GuardMode, displaySource: o.displaySource, reason: void, changeErr: cause}
	removal.Claim.Source, removal.Claim.Version, removal.Claim.Time = o.Claim.Source, o.Claim.Version, o.Claim.Time
	return removal
}

// planClaim fills d.Ops with the row that the new image requests. Each change has an op, because only the guard
// knows whether the request is new. The old image has no influence on the row, because it may belong to a change
// that was never delivered. If no row can be made of the new image, the item requests none, and the change fails
// after that is durable.
func (s *Sink) planClaim(d *pipeline.Delivery, mode GuardMode) error {
	c := d.Change
	op := &ClaimOp{sink: s, Target: &s.target, Claim: state.Claim{Source: c.Key, Version: c.Version, Time: timeOf(c)}, GuardMode: mode, displaySource: s.mask.Key(c)}
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

// setRow fills op with the row that the new image requests, or with the reason why it requests none.
func (s *Sink) setRow(d *pipeline.Delivery, op *ClaimOp) error {
	var buf keyBuffer
	after, err := s.locationAfter(d.Change, &buf)
	if err != nil || after.reason != "" {
		op.reason = after.reason
		return err
	}
	op.PK, op.SK, _ = after.key.values(d)
	op.displayKey = after.key.displayText
	if op.Row, err = state.MakeRow(op.PK, op.SK); err != nil {
		return err
	}
	op.Claim.Attributes, err = s.columns(nil, &template.Scope{Change: d.Change, Item: itemOf(d.Change)})
	return err
}

// timeOf returns the creation time of a change; 1970 if it has none, as in a backfill. Every store can hold that
// time.
func timeOf(c *record.Change) time.Time {
	if c.Time.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return c.Time
}

// hadNoRow reports whether the item, by the change, requested no row before. If the item has no guard, such a
// change that requests no row needs none either: an earlier change that may still come, from dead letters or from a
// slow worker, cannot claim a row after it. So items that are not in the view cost no writes.
func (s *Sink) hadNoRow(c *record.Change) bool {
	if c.Old.Exists() {
		var buf keyBuffer
		before, err := s.locate(c, c.Old, &buf)
		return err == nil && before.reason != ""
	}
	return c.FoundNoItem(s.noTTLDeletes)
}
