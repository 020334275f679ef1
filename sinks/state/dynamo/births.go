package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// Attributes of births.
const (
	attrTarget = "target"
	attrBirth  = "birth"
	attrState  = "state"
	attrStore  = "store"
	attrBegun  = "begun"
	attrFresh  = "fresh"

	attrStage     = "stage"
	attrFloor     = "floor"
	attrStream    = "stream"
	attrRun       = "run"
	attrReadUntil = "read_until"

	attrLeftOut = "left_out"
)

func (s *State) birthRef(b state.Birth) Ref {
	return s.db.noteRef(s.pipeline, "births", b.Sink, b.Target)
}

// Births yields the births of a pipeline's sinks, including those of former targets.
func (s *State) Births(ctx context.Context) iter.Seq2[state.Birth, error] {
	return notes(ctx, s, "births", s.birth)
}

func (s *State) birth(item Item) (b state.Birth, err error) {
	a := attributes{item: item}
	b = state.Birth{
		Sink: a.text(attrSink), Target: a.text(attrTarget), ID: a.text(attrBirth), Made: a.time(attrBorn),
		State: a.text(attrState), Store: a.text(attrStore), Begun: a.flag(attrBegun), Fresh: a.flag(attrFresh),
		Floor: a.time(attrFloor), Stream: a.text(attrStream), Run: a.text(attrRun), ReadUntil: a.time(attrReadUntil),
		LeftOut: a.time(attrLeftOut),
	}
	if b.Stage, err = state.ParseStage(a.text(attrStage)); err != nil {
		return b, pipeline.Fatal(errs.Errorf("dynamodb: the birth of the sink %s in the table %s: %w", redact.Safe(b.Sink), redact.Safe(s.db.table), err))
	}
	if b.ID == "" {
		a.note(errs.New("it has no birth"))
	}
	if err := a.damaged(s.db, "the birth of the sink "+b.Sink); err != nil {
		return b, err
	}
	s.noteBirth(b)
	return b, nil
}

func (s *State) birthItem(b state.Birth) Item {
	item := with(s.birthRef(b).Key, Item{
		attrSink: S(b.Sink), attrTarget: S(b.Target), attrBirth: S(b.ID), attrState: S(b.State), attrStore: S(b.Store),
		attrBorn: nanoseconds(b.Made), attrBegun: Bool(b.Begun),
	})
	setText(item, attrStage, string(b.Stage))
	setText(item, attrStream, b.Stream)
	setText(item, attrRun, b.Run)
	setTime(item, attrFloor, b.Floor)
	setTime(item, attrReadUntil, b.ReadUntil)
	setTime(item, attrLeftOut, b.LeftOut)
	if b.Fresh {
		item[attrFresh] = Bool(true)
	}
	return item
}

// birthAttributes are the attributes of a birth that may change.
var birthAttributes = []string{attrBirth, attrState, attrStore, attrBorn, attrBegun, attrFresh, attrStage, attrFloor, attrStream, attrRun, attrReadUntil, attrLeftOut}

// RecordBirth makes one conditional write, and reads the stored birth if another process was first.
func (s *State) RecordBirth(ctx context.Context, b state.Birth) (state.Birth, error) {
	stored, err := s.db.putFirst(ctx, s.birthRef(b), s.birthItem(b))
	if err != nil {
		return b, err
	}
	if stored != nil {
		return s.birth(stored)
	}
	s.noteBirth(b)
	return b, nil
}

// SetBirth makes one write on the condition that the birth is unchanged.
func (s *State) SetBirth(ctx context.Context, was, now state.Birth) (bool, error) {
	condition := unchanged(s.birthItem(was), birthAttributes)
	a := Put(s.db.table, s.birthItem(now), condition)
	if now == (state.Birth{}) {
		a = Delete(s.birthRef(was), condition)
	}
	if done, err := s.db.writeIf(ctx, a); done || err != nil {
		return done, err
	}
	return isStored(ctx, s.db, s.birthRef(was), now, s.birth)
}

// Identity returns the identity of the state table.
func (s *State) Identity(ctx context.Context) (string, error) { return s.db.Identity(ctx, s.db.table) }

// Identity returns the ARN of a table and its table id, which differs if the table is recreated under the same
// name. A server without table ids is asked for the creation time instead.
func (db *DB) Identity(ctx context.Context, table string) (string, error) {
	id, err := db.identity(ctx, table)
	if err == nil {
		db.accepted.identities.Store(table, id) // CheckTables compares with it
	}
	return id, err
}

func (db *DB) identity(ctx context.Context, table string) (string, error) {
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
