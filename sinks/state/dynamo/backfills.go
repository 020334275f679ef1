package dynamo

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// The kinds of notes for backfills. Each backfill has a partition of its own for its parts, because it may have 100,000
// parts. The partition key contains the id of the run.
const (
	backfills = "backfills"
	parts     = "parts"
)

func (s *State) backfillRef(run string) Ref { return s.db.noteRef(s.pipeline, backfills, run) }

func (s *State) partPartition(run string) string {
	return cutKey(append([]byte(partition(s.pipeline, parts)), '#'), string(item.AppendEscaped(nil, run)), MaxPartitionKey)
}

// partRef returns the reference to a part. Its sort key is the unescaped ID, so that DynamoDB sorts the parts by ID.
func (s *State) partRef(p state.Part) Ref { return s.db.ref(s.partPartition(p.Run), p.ID) }

// Backfills reads all backfills before it yields the first, to sort them. A pipeline has few backfills.
func (s *State) Backfills(ctx context.Context) iter.Seq2[state.Backfill, error] {
	return sorted(readNotes(ctx, s, backfills, s.backfill), func(a, b state.Backfill) int {
		return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.Run, b.Run))
	})
}

func backfillFields(b *state.Backfill) []field {
	return []field{
		{"run", &b.Run, always}, {"sinks", &b.Sinks, always}, {"source", &b.Source, always},
		{"begun", &b.Start, always}, {"from", &b.From, unlessZero}, {"parts", &b.Parts, always},
	}
}

func (s *State) backfill(image Item) (b state.Backfill, err error) {
	err = parseFields(image, backfillFields(&b))
	return b, s.db.damagedIf(err, "the backfill "+b.Run)
}

// AddBackfill makes one conditional write. If the run is already stored, it returns the stored backfill.
func (s *State) AddBackfill(ctx context.Context, b state.Backfill) (state.Backfill, error) {
	ref := s.backfillRef(b.Run)
	image := withFields(ref.Key, backfillFields(&b))
	if n := SizeOfItem(image); n > MaxItem {
		return b, TooLarge("the description of a backfill", n)
	}
	stored, err := s.db.putIfMissing(ctx, ref, image)
	if err != nil || stored == nil {
		return b, err
	}
	return s.backfill(stored)
}

// RemoveBackfill deletes the parts first, and then the backfill. So if it fails, the backfill is still stored, and a
// second call deletes the remaining parts.
func (s *State) RemoveBackfill(ctx context.Context, run string) error {
	q := s.db.partitionQuery(s.partPartition(run))
	q.ProjectionExpression = aws.String("pk, sk")
	for batch, err := range seq.Chunk(s.db.Query(ctx, q), maxKeys) {
		if err != nil {
			return err
		}
		err = s.db.each(ctx, len(batch), func(i int) error {
			return s.db.Write(ctx, Delete(s.db.RefOf(batch[i]), Condition{}))
		})
		if err != nil {
			return err
		}
	}
	return s.db.Write(ctx, Delete(s.backfillRef(run), Condition{}))
}

// Parts yields the parts page by page.
func (s *State) Parts(ctx context.Context, run string) iter.Seq2[state.Part, error] {
	return parsed(s.db.Query(ctx, s.db.partitionQuery(s.partPartition(run))), s.part)
}

// partFields returns the fields of a part, the [keyFields] first.
func partFields(p *state.Part) []field {
	return []field{
		{"run", &p.Run, always}, {"id", &p.ID, always}, {"owner", &p.Owner, always}, {"counter", &p.Counter, always},
		{"position", &p.Position, always}, {"items", &p.Items, always}, {"done", &p.Done, always},
	}
}

func (s *State) part(image Item) (p state.Part, err error) {
	err = parseFields(image, partFields(&p))
	return p, s.db.damagedIf(err, "the part "+p.ID+" of the backfill "+p.Run)
}

// SetPart makes one write, on condition that the stored part equals expected.
func (s *State) SetPart(ctx context.Context, expected, next state.Part) (bool, error) {
	if err := state.CheckSetPart(expected, next); err != nil {
		return false, err
	}
	image := withFields(s.partRef(next).Key, partFields(&next))
	if n := SizeOfItem(image); n > MaxItem {
		return false, TooLarge("the position of a part of a backfill", n)
	}

	condition := notStored
	if expected != (state.Part{}) {
		condition = fieldsUnchanged(partFields(&expected)[keyFields:])
	}
	if written, err := s.db.writeIf(ctx, Put(s.db.table, image, condition)); written || err != nil {
		return written, err
	}
	return isStored(ctx, s.db, s.partRef(next), next, s.part)
}
