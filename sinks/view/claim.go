package view

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// ClaimOp is what a change means for a row that is guarded by item: the row that
// the item asks for from now on, or none. What it had is the guard's to know.
type ClaimOp struct {
	Target *Target
	Row    state.Row  // "": the item asks for no row
	PK, SK item.Value // of the row; SK is absent where the table has none
	Claim  state.Claim
	Guard  Guard

	sink   *Sink    // that planned it; nil: none did
	shown  string   // the row's key as people are shown it, where a mask decides
	source item.Key // the item's key as they are shown it
	none   string   // why the item asks for no row: ReasonWhen, ReasonSparse, ReasonRemoved or void
	idle   bool     // nor did it before this change
	flaw   error    // no row can be made of the new image: once the claim on none is durable the change fails with it; nil: none
}

// void is why an item asks for no row whose new image no row can be made of.
const void = "void"

var _ pipeline.Op = (*ClaimOp)(nil)

// String is a line such as: claim row PK="EMAIL#a@b" SK="USER" (guarded by item: several items may have this key).
func (o *ClaimOp) String() string {
	b := make([]byte, 0, 128)
	if o.Row == "" {
		b = append(b, "claim no row ("...)
		b = append(b, o.why()...)
		b = append(b, "; "...)
	} else {
		b = append(b, "claim row "...)
		b = append(b, o.KeyText()...)
		b = append(b, " ("...)
	}
	b = append(b, "guarded by item: "...)
	b = append(b, o.Guard.Why...)
	return string(append(b, ')'))
}

// KeyText is the key of the row as people are shown it, with what is hidden masked;
// "" where the item asks for none.
func (o *ClaimOp) KeyText() string {
	if o.Row == "" {
		return ""
	}
	if o.shown != "" {
		return o.shown
	}
	return string(o.Target.appendKey(nil, o.PK, o.SK))
}

// Idle tells whether the item asks for no row and, as the change shows it, asked for
// none before: nothing is written of it, unless something is known of it.
func (o *ClaimOp) Idle() bool { return o.idle }

func (o *ClaimOp) why() string {
	switch o.none {
	case ReasonSparse:
		return "a value of its key is missing"
	case gone:
		return "item removed"
	case void:
		return "the change goes to dead letters: " + o.flaw.Error()
	default:
		return "the condition is not met"
	}
}

func (o *ClaimOp) line() string            { return string(o.Claim.Source) }
func (o *ClaimOp) version() record.Version { return o.Claim.Version }
func (o *ClaimOp) quiet() bool             { return o.idle }
func (o *ClaimOp) refused() error          { return o.flaw }
func (o *ClaimOp) reason() string          { return o.none }

// vacated is the claim on no row in place of one that the store refused for good.
func (o *ClaimOp) vacated(flaw error) *ClaimOp {
	if o.Row == "" {
		return nil
	}
	v := &ClaimOp{Target: o.Target, Guard: o.Guard, source: o.source, none: void, flaw: flaw}
	v.Claim.Source, v.Claim.Version, v.Claim.Time = o.Claim.Source, o.Claim.Version, o.Claim.Time
	return v
}

// planClaim fills d.Ops with the row that the new image asks for. Whether that is
// any news only the guard knows, so that every change has an op. The old image has
// no say in what the row becomes: it may be of a change that was never delivered. Of a
// new image that no row can be made of, the item asks for none, and the change fails
// once that is durable.
func (s *Sink) planClaim(d *pipeline.Delivery, g Guard) error {
	c := d.Change
	op := &ClaimOp{sink: s, Target: &s.target, Claim: state.Claim{Source: c.Key, Version: c.Version, Time: timeOf(c)}, Guard: g, source: s.mask.Key(c)}
	if err := s.claim(d, op); err != nil {
		if !c.New.Exists() {
			return err
		}
		op.Row, op.Claim.Attributes, op.none, op.flaw = "", nil, void, err
	}
	op.idle = op.Row == "" && s.idle(c)
	d.Ops = append(d.Ops, op)
	return nil
}

// claim fills op with the row that the new image asks for, or why it asks for none.
func (s *Sink) claim(d *pipeline.Delivery, op *ClaimOp) error {
	var room keyRoom
	is, err := s.after(d.Change, &room)
	if err != nil || is.reason != "" {
		op.none = is.reason
		return err
	}
	op.PK, op.SK, _ = is.key.values(d)
	op.shown = is.key.shown
	if op.Row, err = state.MakeRow(op.PK, op.SK); err != nil {
		return err
	}
	op.Claim.Attributes, err = s.columns(nil, &template.Scope{Change: d.Change, Item: itemOf(d.Change)})
	return err
}

// timeOf is the creation time of a change, and 1970 of one that has none, as a
// backfilled state: every store holds that time as it is.
func timeOf(c *record.Change) time.Time {
	if c.Time.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return c.Time
}

// idle tells whether the item, as the change shows it, asked for no row before
// either. Of an item that nothing is known of, such a change needs no guard: no
// earlier change that may still come, from dead letters or from a worker that
// lags, would claim a row behind it. Most items of a table are no view's, and cost
// nothing for it.
func (s *Sink) idle(c *record.Change) bool {
	if c.Old.Exists() {
		var room keyRoom
		was, err := s.place(c, c.Old, &room)
		return err == nil && was.reason != ""
	}
	return c.Op != record.Modify && c.Op != record.Remove
}
