package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// targetRef is the note that something was written to a target.
func (db *DB) targetRef(t state.Target) Ref {
	return db.noteRef(t.Pipeline, "targets", t.View, t.Birth, t.Table)
}

// attrWitnesses are keys of items that the state remembers rows of.
const attrWitnesses = "witnesses"

// maxWitnesses is how many of them are kept: some of their rows may be left later.
const maxWitnesses = 10

// Touch notes that a target is about to be written to, and some of the items that come to have
// rows there, once for the life of db; see [DB.Untouched] and [DB.Witnesses]. Items of a target are
// spread over so many partitions that whether there are any could not be asked of them.
func (db *DB) Touch(ctx context.Context, t state.Target, witnesses iter.Seq[item.Key]) error {
	had, done := db.touched.Load(t)
	if done && had == true {
		return nil
	}
	item := db.targetRef(t).Key
	var keys []types.AttributeValue
	for key := range witnesses {
		if keys = append(keys, S(string(key))); len(keys) == maxWitnesses {
			break
		}
	}
	if done && len(keys) == 0 {
		return nil
	}
	if len(keys) > 0 {
		item[attrWitnesses] = &types.AttributeValueMemberL{Value: keys}
	}
	err := db.Write(ctx, Put(db.table, item, Condition{}))
	if err == nil {
		db.touched.Store(t, len(keys) > 0)
	}
	return err
}

// Witnesses are some of the items that came to have rows at a target.
func (db *DB) Witnesses(ctx context.Context, t state.Target) (keys []item.Key, err error) {
	image, err := db.one(ctx, db.targetRef(t))
	list, ok := image[attrWitnesses].(*types.AttributeValueMemberL)
	if err != nil || !ok {
		return nil, err
	}
	for _, v := range list.Value {
		if s, ok := v.(*types.AttributeValueMemberS); ok {
			keys = append(keys, item.Key(s.Value))
		}
	}
	return keys, nil
}

// Untouched tells whether nothing was ever written to a target.
func (db *DB) Untouched(ctx context.Context, t state.Target) (bool, error) {
	item, err := db.one(ctx, db.targetRef(t))
	return err == nil && item == nil, err
}
