package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.ItemStore = (*Store)(nil)

// Attributes of guards and seats in the state table.
const (
	guardVersion = "version"
	guardRow     = "row"
	guardVoid    = "void" // BOOL, where it is
	seatRevision = "revision"
	seatHolder   = "holder" // key of the item; "" where nobody holds the row
)

// setVersion puts what is remembered of an item over what was read: over that version, void
// or not as it was.
func setVersion(put *types.Put, was pipeline.Version, wasVoid, void bool) {
	if void {
		put.Item[guardVoid] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if was.IsZero() {
		put.ConditionExpression = aws.String("attribute_not_exists(pk)")
		return
	}
	put.ConditionExpression = aws.String("version = :was AND attribute_not_exists(#void)")
	if wasVoid {
		put.ConditionExpression = aws.String("version = :was AND attribute_exists(#void)")
	}
	put.ExpressionAttributeNames = map[string]string{"#void": guardVoid} // which is a reserved word
	put.ExpressionAttributeValues = dynamo.Item{":was": str(was.String())}
}

// Guards reads what is remembered of items, 100 in a request.
func (s *Store) Guards(ctx context.Context, t view.Target, items []pipeline.Key) ([]state.Guard, error) {
	target := targetOf(t)
	refs := make([]dynamo.Ref, len(items))
	for i, item := range items {
		refs[i] = s.GuardRef(target, item)
	}
	found, err := s.recall(ctx, target, refs)
	if err != nil {
		return nil, err
	}
	gs := make([]state.Guard, len(items))
	for i, item := range found {
		if item == nil {
			continue
		}
		gs[i].Row = state.Row(dynamo.Text(item, guardRow))
		_, gs[i].Void = item[guardVoid]
		if gs[i].Version, err = pipeline.ParseVersion(dynamo.Text(item, guardVersion)); err != nil {
			return nil, s.Damaged("a guard of the view "+t.View, err)
		}
	}
	return gs, nil
}

// RowClaims reads the seats of rows, 100 in a request; then, of those that nobody claims, the
// rows themselves, which may be another sink's; and of the others the claims, a query each.
func (s *Store) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	refs := make([]dynamo.Ref, len(rows))
	for i, r := range rows {
		refs[i] = s.SeatRef(targetOf(t), r)
	}
	found, err := s.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	seats := make([]view.RowClaims, len(rows))
	var free, taken []int // indexes of rows
	for i, item := range found {
		seats[i].Row = rows[i]
		if item == nil {
			free = append(free, i)
		} else {
			taken = append(taken, i)
		}
	}
	if err := s.owners(ctx, t, seats, free); err != nil {
		return nil, err
	}
	errs := make([]error, len(taken))
	s.Each(len(taken), func(n int) {
		i := taken[n]
		errs[n] = s.claims(ctx, t, &seats[i], found[i])
	})
	return seats, errors.Join(errs...)
}

// owners says of the seats that nobody claims whether their rows belong to another sink.
func (s *Store) owners(ctx context.Context, t view.Target, seats []view.RowClaims, free []int) error {
	refs := make([]dynamo.Ref, len(free))
	for n, i := range free {
		var err error
		if refs[n], err = refOf(t.Table, seats[i].Row); err != nil {
			return err
		}
	}
	rows, err := s.Get(ctx, refs)
	if err != nil {
		return err
	}
	for n, i := range free {
		if rows[n] != nil {
			if seats[i].Foreign, err = foreignTo(t, seats[i].Row, rows[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// foreignTo says that a row belongs to another sink; nil where it does not. The error is that of a
// row of another birth.
func foreignTo(t view.Target, row state.Row, item dynamo.Item) (*view.ForeignRowError, error) {
	m, _ := markOf(item)
	switch {
	case m.of(t):
		return nil, nil
	case m.ofSink(t):
		return nil, refused(t, row, m)
	}
	return foreign(t, row, m), nil
}
