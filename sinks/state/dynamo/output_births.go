package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

const attrBirth = "birth"

func (s *State) birthRef(b state.Birth) Ref {
	return s.db.noteRef(s.pipeline, "births", b.Sink, b.Target)
}

// Births yields the births of the pipeline's sinks, including the births at former targets.
func (s *State) Births(ctx context.Context) iter.Seq2[state.Birth, error] {
	return readNotes(ctx, s, "births", s.birth)
}

// birthFields returns the fields of a birth, the [keyFields] first. A birth is the recorded identity of one output.
func birthFields(b *state.Birth) []field {
	return []field{
		{"sink", &b.Sink, always}, {"target", &b.Target, always}, {attrBirth, &b.ID, always}, {attrBorn, &b.Made, always},
		{"state", &b.State, always}, {"store", &b.Store, always}, {"begun", &b.Begun, always},
		{"fresh", &b.Fresh, unlessZero},
		{"stage", &b.Stage, unlessZero}, {"floor", &b.Floor, unlessZero}, {"stream", &b.Stream, unlessZero},
		{"run", &b.Run, unlessZero}, {"read_until", &b.ReadUntil, unlessZero}, {"left_out", &b.LeftOut, unlessZero},
	}
}

// birth returns the birth of a stored item, and notes it for CheckState.
func (s *State) birth(item Item) (b state.Birth, err error) {
	damaged := parseFields(item, birthFields(&b))
	// An unknown stage is reported first: a newer program wrote it, and may also have changed other fields.
	if _, err = state.ParseStage(string(b.Stage)); err != nil {
		return b, pipeline.Fatal(errs.Errorf("dynamodb: the birth of the sink %s in the table %s: %w", redact.Safe(b.Sink),
			redact.Safe(s.db.table), err))
	}

	if damaged == nil && b.ID == "" {
		damaged = errs.New("it has no birth")
	}
	if damaged != nil {
		return b, s.db.Damaged("the birth of the sink "+b.Sink, damaged)
	}
	s.noteBirth(b)
	return b, nil
}

func (s *State) birthItem(b state.Birth) Item { return withFields(s.birthRef(b).Key, birthFields(&b)) }

// RecordBirth makes one conditional write, and reads the stored birth if another process was first.
func (s *State) RecordBirth(ctx context.Context, b state.Birth) (state.Birth, error) {
	stored, err := s.db.putIfMissing(ctx, s.birthRef(b), s.birthItem(b))
	if err != nil {
		return b, err
	}
	if stored != nil {
		return s.birth(stored)
	}
	s.noteBirth(b)
	return b, nil
}

// SetBirth makes one write, on condition that the stored birth equals expected.
func (s *State) SetBirth(ctx context.Context, expected, next state.Birth) (bool, error) {
	condition := fieldsUnchanged(birthFields(&expected)[keyFields:])
	action := Put(s.db.table, s.birthItem(next), condition)
	if next == (state.Birth{}) {
		action = Delete(s.birthRef(expected), condition)
	}

	if written, err := s.db.writeIf(ctx, action); written || err != nil {
		return written, err
	}
	return isStored(ctx, s.db, s.birthRef(expected), next, s.birth)
}

// Identity returns the identity of the state table.
func (s *State) Identity(ctx context.Context) (string, error) { return s.db.Identity(ctx, s.db.table) }

// Identity returns the ARN of a table and its table id. The id changes if the table is recreated under the same name.
// If the server has no table ids, Identity returns the creation time instead of the id.
func (db *DB) Identity(ctx context.Context, table string) (string, error) {
	id, err := db.readIdentity(ctx, table)
	if err == nil {
		db.accepted.identities.Store(table, id) // for CheckTables
	}
	return id, err
}

func (db *DB) readIdentity(ctx context.Context, table string) (string, error) {
	d, err := db.describe(ctx, table)
	if err != nil {
		return "", err
	}
	id := aws.ToString(d.TableId)
	if id == "" {
		id = aws.ToTime(d.CreationDateTime).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return aws.ToString(d.TableArn) + " " + id, nil
}
