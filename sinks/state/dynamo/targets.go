package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
)

// targetRef is the note that something was written to a target.
func (db *DB) targetRef(t Target) Ref {
	pk := pipeline.AppendEscaped([]byte("targets#"), t.Pipeline)
	sk := append(pipeline.AppendEscaped(nil, t.View), '#')
	sk = append(pipeline.AppendEscaped(sk, t.Birth), '#')
	return db.ref(string(pk), fit(sk, string(pipeline.AppendEscaped(nil, t.Table)), maxSortKey))
}

// Touch notes that a target is about to be written to, once for the life of db; see
// [DB.Untouched]. Items of a target are spread over so many partitions that whether there
// are any could not be asked of them.
func (db *DB) Touch(ctx context.Context, t Target) error {
	if _, done := db.touched.Load(t); done {
		return nil
	}
	err := db.Write(ctx, Action{Put: &types.Put{TableName: aws.String(db.table), Item: db.targetRef(t).Key}})
	if err == nil {
		db.touched.Store(t, nil)
	}
	return err
}

// Untouched tells whether nothing was ever written to a target.
func (db *DB) Untouched(ctx context.Context, t Target) (bool, error) {
	items, err := db.Get(ctx, []Ref{db.targetRef(t)})
	return err == nil && items[0] == nil, err
}
