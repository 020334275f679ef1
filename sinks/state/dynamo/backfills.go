package dynamo

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// The kinds of the notes of backfills. The parts of a backfill have a partition of their own, which its
// run names: there may be 100,000 of them.
const (
	backfills = "backfills"
	parts     = "parts"
)

// Attributes of backfills and parts.
const (
	attrSinks    = "sinks"
	attrSource   = "source"
	attrFrom     = "from"
	attrParts    = "parts"
	attrID       = "id"
	attrOwner    = "owner"
	attrCounter  = "counter"
	attrPosition = "position"
	attrItems    = "items"
	attrDone     = "done"
)

func (s *State) backfillRef(run string) Ref { return s.db.noteRef(s.pipeline, backfills, run) }

func (s *State) partPartition(run string) string {
	return fit(append([]byte(partition(s.pipeline, parts)), '#'), string(item.AppendEscaped(nil, run)), MaxPartitionKey)
}

// partRef returns the reference to a part. Its sort key is the ID as it is, so that DynamoDB orders the parts as the
// IDs are ordered.
func (s *State) partRef(p state.Part) Ref { return s.db.ref(s.partPartition(p.Run), p.ID) }

// Backfills reads all backfills before it yields the first, to sort them. A pipeline has few.
func (s *State) Backfills(ctx context.Context) iter.Seq2[state.Backfill, error] {
	return sorted(notes(ctx, s, backfills, s.backfill), func(a, b state.Backfill) int {
		return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.Run, b.Run))
	})
}

func (s *State) backfill(image Item) (state.Backfill, error) {
	a := attributes{item: image}
	b := state.Backfill{
		Run: a.text(attrRun), Sinks: a.text(attrSinks), Source: a.text(attrSource),
		Start: a.time(attrBegun), From: a.time(attrFrom), Parts: int(a.number(attrParts)),
	}
	return b, a.damaged(s.db, "the backfill "+b.Run)
}

// AddBackfill makes one conditional write.
func (s *State) AddBackfill(ctx context.Context, b state.Backfill) (state.Backfill, error) {
	ref := s.backfillRef(b.Run)
	now := with(ref.Key, Item{
		attrRun: S(b.Run), attrSinks: S(b.Sinks), attrSource: S(b.Source), attrBegun: nanoseconds(b.Start), attrParts: N(strconv.Itoa(b.Parts)),
	})
	setTime(now, attrFrom, b.From)
	if n := SizeOfItem(now); n > MaxItem {
		return b, TooLarge("the description of a backfill", n)
	}
	stored, err := s.db.putFirst(ctx, ref, now)
	if err != nil || stored == nil {
		return b, err
	}
	return s.backfill(stored)
}

// RemoveBackfill deletes the parts first. If it fails, the backfill is still there, and a second call finds the
// remaining parts.
func (s *State) RemoveBackfill(ctx context.Context, run string) error {
	q := s.db.partitionQuery(s.partPartition(run))
	q.ProjectionExpression = aws.String("pk, sk")
	err := inBatches(s.db.Query(ctx, q), func(batch []Item) error {
		return s.db.each(ctx, len(batch), func(i int) error { return s.db.Write(ctx, Delete(s.db.refOf(batch[i]), Condition{})) })
	})
	if err != nil {
		return err
	}
	return s.db.Write(ctx, Delete(s.backfillRef(run), Condition{}))
}

// Parts yields the parts page by page.
func (s *State) Parts(ctx context.Context, run string) iter.Seq2[state.Part, error] {
	return parsed(s.db.Query(ctx, s.db.partitionQuery(s.partPartition(run))), s.part)
}

func (s *State) part(image Item) (state.Part, error) {
	a := attributes{item: image}
	p := state.Part{
		Run: a.text(attrRun), ID: a.text(attrID), Owner: a.text(attrOwner), Counter: a.number(attrCounter),
		Position: a.text(attrPosition), Items: a.number(attrItems), Done: a.flag(attrDone),
	}
	return p, a.damaged(s.db, "the part "+p.ID+" of the backfill "+p.Run)
}

func (s *State) partItem(p state.Part) Item {
	return with(s.partRef(p).Key, Item{
		attrRun: S(p.Run), attrID: S(p.ID), attrOwner: S(p.Owner), attrCounter: N(strconv.FormatInt(p.Counter, 10)),
		attrPosition: S(p.Position), attrItems: N(strconv.FormatInt(p.Items, 10)), attrDone: Bool(p.Done),
	})
}

// partAttributes are the attributes of a part that may change.
var partAttributes = []string{attrOwner, attrCounter, attrPosition, attrItems, attrDone}

// SetPart makes one write on the condition that the part is unchanged.
func (s *State) SetPart(ctx context.Context, was, now state.Part) (bool, error) {
	if err := state.CheckSetPart(was, now); err != nil {
		return false, err
	}
	image := s.partItem(now)
	if n := SizeOfItem(image); n > MaxItem {
		return false, TooLarge("the position of a part of a backfill", n)
	}
	condition := Condition{Text: "attribute_not_exists(pk)"}
	if was != (state.Part{}) {
		condition = unchanged(s.partItem(was), partAttributes)
	}
	if done, err := s.db.writeIf(ctx, Put(s.db.table, image, condition)); done || err != nil {
		return done, err
	}
	return isStored(ctx, s.db, s.partRef(now), now, s.part)
}
