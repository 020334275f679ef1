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
		return cmp.Or(a.Begun.Compare(b.Begun), strings.Compare(a.Run, b.Run))
	})
}

func (s *State) backfill(image Item) (b state.Backfill, err error) {
	b = state.Backfill{Run: Text(image, attrRun), Sinks: Text(image, attrSinks), Source: Text(image, attrSource)}
	b.Begun, err = timeAt(image, attrBegun)
	if err == nil {
		b.From, err = timeAt(image, attrFrom)
	}
	if err == nil {
		b.Parts, err = strconv.Atoi(Digits(image, attrParts))
	}
	if err != nil {
		err = s.db.Damaged("the backfill "+b.Run, err)
	}
	return b, err
}

// AddBackfill makes one conditional write.
func (s *State) AddBackfill(ctx context.Context, b state.Backfill) (state.Backfill, error) {
	ref := s.backfillRef(b.Run)
	now := with(ref.Key, Item{
		attrRun: S(b.Run), attrSinks: S(b.Sinks), attrSource: S(b.Source), attrBegun: nanoseconds(b.Begun), attrParts: N(strconv.Itoa(b.Parts)),
	})
	if !b.From.IsZero() {
		now[attrFrom] = nanoseconds(b.From)
	}
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
	var batch []Ref
	remove := func() error {
		err := s.db.each(ctx, len(batch), func(i int) error { return s.db.Write(ctx, Delete(batch[i], Condition{})) })
		batch = batch[:0]
		return err
	}
	for image, err := range s.db.Query(ctx, q) {
		if err != nil {
			return err
		}
		if batch = append(batch, Ref{s.db.table, Item{attrPK: image[attrPK], attrSK: image[attrSK]}}); len(batch) < maxKeys {
			continue
		}
		if err := remove(); err != nil {
			return err
		}
	}
	if err := remove(); err != nil {
		return err
	}
	return s.db.Write(ctx, Delete(s.backfillRef(run), Condition{}))
}

// Parts yields the parts page by page.
func (s *State) Parts(ctx context.Context, run string) iter.Seq2[state.Part, error] {
	return parsed(s.db.Query(ctx, s.db.partitionQuery(s.partPartition(run))), s.part)
}

func (s *State) part(image Item) (p state.Part, err error) {
	p = state.Part{
		Run: Text(image, attrRun), ID: Text(image, attrID), Owner: Text(image, attrOwner), Position: Text(image, attrPosition), Done: isTrue(image, attrDone),
	}
	p.Counter, err = strconv.ParseInt(Digits(image, attrCounter), 10, 64)
	if err == nil {
		p.Items, err = strconv.ParseInt(Digits(image, attrItems), 10, 64)
	}
	if err != nil {
		err = s.db.Damaged("the part "+p.ID+" of the backfill "+p.Run, err)
	}
	return p, err
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
	// The condition may have failed on this call's own write, if the first answer was lost.
	stored, err := s.db.getOne(ctx, s.partRef(now))
	if err != nil || stored == nil {
		return false, err
	}
	p, err := s.part(stored)
	return err == nil && p == now, err
}
