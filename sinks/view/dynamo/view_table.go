package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// KeyTypes are the types of a table's key attributes: S, N or B. The zero value means S. Only a template that is
// exactly one placeholder can make another type.
type KeyTypes struct {
	PK, SK types.ScalarAttributeType
}

// Create creates a view table if there is none, and waits until it is active. A new table is billed on demand, and has
// a TTL that deletes tombstones. If the table exists, Create checks that the table has this key, because all views of a
// table have the same key, and enables TTL if it is off. The error is fatal if the table cannot be used.
func (s *Store) Create(ctx context.Context, t view.Table, k KeyTypes) error {
	return s.views.Create(ctx, spec(t, k))
}

// Check returns a fatal error if there is no such table, or if it has another key.
func (s *Store) Check(ctx context.Context, t view.Table, k KeyTypes) error {
	return s.views.Check(ctx, spec(t, k))
}

// Create creates a view table as [Store.Create] does.
func (r *Rows) Create(ctx context.Context, t view.Table, k KeyTypes) error {
	return r.views.Create(ctx, spec(t, k))
}

// Check checks a view table as [Store.Check] does.
func (r *Rows) Check(ctx context.Context, t view.Table, k KeyTypes) error {
	return r.views.Check(ctx, spec(t, k))
}

func spec(t view.Table, k KeyTypes) dynamo.TableSpec {
	keyAttribute := func(name string, attributeType types.ScalarAttributeType) dynamo.KeyAttribute {
		if attributeType == "" && name != "" {
			attributeType = types.ScalarAttributeTypeS
		}
		return dynamo.KeyAttribute{Name: name, Type: attributeType}
	}
	return dynamo.TableSpec{Name: t.Name, PK: keyAttribute(t.PK, k.PK), SK: keyAttribute(t.SK, k.SK),
		TTL: expiresAttribute}
}
