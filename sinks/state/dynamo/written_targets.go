package dynamo

import (
	"context"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// targetRef returns the reference to the note of a target that was written to.
func (db *DB) targetRef(t state.Target) Ref {
	return db.noteRef(t.Pipeline, "targets", t.View, t.Birth, t.Table)
}

// attrWitnesses is the attribute with the witnesses of a target: the keys of some items that got rows in it.
const attrWitnesses = "witnesses"

// maxWitnesses is the maximum number of witnesses. A target has several witnesses, because the row of a witness may be
// removed later.
const maxWitnesses = 10

// NoteTarget stores a note that a target is about to be written to. The note also names witnesses, some of the items
// that get rows in the target. For each target, NoteTarget writes the note once in the lifetime of db, or twice if the
// first note had no witnesses. A note without witnesses replaces no stored note. [DB.NeverWritten] and
// [DB.RemembersRows] read the note. They cannot query the items of the target instead, because each item has its own
// partition.
func (db *DB) NoteTarget(ctx context.Context, t state.Target, witnesses iter.Seq[item.Key]) error {
	hasWitnesses, isNoted := db.noted.Load(t)
	if isNoted && hasWitnesses.(bool) {
		return nil
	}

	var keys []types.AttributeValue
	for key := range witnesses {
		keys = append(keys, S(string(key)))
		if len(keys) == maxWitnesses {
			break
		}
	}
	if isNoted && len(keys) == 0 {
		return nil // the note would be the same
	}

	note, condition := db.targetRef(t).Key, notStored // another process may have stored a note with witnesses
	if len(keys) > 0 {
		note[attrWitnesses] = &types.AttributeValueMemberL{Value: keys}
		condition = Condition{}
	}
	if _, err := db.writeIf(ctx, Put(db.table, note, condition)); err != nil {
		return err
	}
	db.noted.Store(t, len(keys) > 0)
	return nil
}

// RemembersRows reports whether the state has a guard with a row, or a contribution with shares, of one of the target's
// witnesses.
func (db *DB) RemembersRows(ctx context.Context, t state.Target) (bool, error) {
	items, err := db.readWitnesses(ctx, t)
	if err != nil || len(items) == 0 {
		return false, err
	}

	guards, err := db.Guards(ctx, t, items)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(guards, func(g state.Guard) bool { return g.Row != "" }) {
		return true, nil
	}

	contributions, err := db.Contributions(ctx, t, items)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(contributions, func(c state.Contribution) bool { return len(c.Shares) > 0 }), nil
}

// readWitnesses returns the keys of some items that got rows in a target.
func (db *DB) readWitnesses(ctx context.Context, t state.Target) (keys []item.Key, err error) {
	image, err := db.getOne(ctx, db.targetRef(t))
	if err != nil {
		return nil, err
	}
	list, ok := image[attrWitnesses].(*types.AttributeValueMemberL)
	if !ok {
		return nil, nil
	}
	for _, v := range list.Value {
		if s, ok := v.(*types.AttributeValueMemberS); ok {
			keys = append(keys, item.Key(s.Value))
		}
	}
	return keys, nil
}

// NeverWritten reports whether no process ever wrote to a target.
func (db *DB) NeverWritten(ctx context.Context, t state.Target) (bool, error) {
	item, err := db.getOne(ctx, db.targetRef(t))
	return err == nil && item == nil, err
}
