package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// KeyTypes are the types of a table's key attributes: S, N or B. The zero value of each is S, the type of all
// templates but a single {path}.
type KeyTypes struct {
	PK, SK types.ScalarAttributeType
}

// Create creates a view table if there is none, billed on demand, with a TTL that deletes tombstones, and waits
// until the table is active. For an existing table it checks the key, and enables TTL if that is off; all views of
// a table have the same key. The error is fatal if the table cannot be used.
func (s *Store) Create(ctx context.Context, t view.Table, k KeyTypes) error {
	return s.views.Create(ctx, spec(t, k))
}

// Check returns a fatal error if there is no such table, or if it has another key.
func (s *Store) Check(ctx context.Context, t view.Table, k KeyTypes) error {
	return s.views.Check(ctx, spec(t, k))
}

// Create is [Store.Create].
func (r *Rows) Create(ctx context.Context, t view.Table, k KeyTypes) error {
	return r.views.Create(ctx, spec(t, k))
}

// Check is [Store.Check].
func (r *Rows) Check(ctx context.Context, t view.Table, k KeyTypes) error {
	return r.views.Check(ctx, spec(t, k))
}

func spec(t view.Table, k KeyTypes) dynamo.TableSpec {
	typed := func(name string, as types.ScalarAttributeType) dynamo.KeyAttribute {
		if as == "" && name != "" {
			as = types.ScalarAttributeTypeS
		}
		return dynamo.KeyAttribute{Name: name, Type: as}
	}
	return dynamo.TableSpec{Name: t.Name, PK: typed(t.PK, k.PK), SK: typed(t.SK, k.SK), TTL: expiresAttribute}
}
