package dynamo

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var (
	_ view.Lister             = (*Reader)(nil)
	_ view.Lister             = (*Rows)(nil)
	_ view.Lister             = (*Store)(nil)
	_ view.GuardLister        = (*Store)(nil)
	_ view.ContributionLister = (*Store)(nil)
)

// ListRows scans the table, so it costs the read units of the table, whoever its rows belong to. A row whose _tw was
// changed by hand has no version.
func (r *Reader) ListRows(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		for image, err := range r.list(ctx, t, l) {
			var row view.Row
			if err == nil {
				if row, _, err = readerRow(t.Table, image); errors.Is(err, errNoVersion) {
					err = nil
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// list yields the items of the live rows of a target, of every birth.
func (r *Reader) list(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[dynamo.Item, error] {
	filter := onlyLiveRows + " AND #tw.#view = :view AND #tw.#by = :by"
	in := &dynamodb.ScanInput{
		TableName:                 &t.Name,
		FilterExpression:          &filter,
		ExpressionAttributeNames:  map[string]string{"#tw": metaAttribute, "#expires": expiresAttribute, "#view": metaView, "#by": metaPipeline},
		ExpressionAttributeValues: map[string]types.AttributeValue{":view": dynamo.S(t.View), ":by": dynamo.S(t.Pipeline)},
	}
	return func(yield func(dynamo.Item, error) bool) {
		for image, err := range r.views.List(ctx, in, l) {
			if !yield(image, tableError(t, err)) || err != nil {
				return
			}
		}
	}
}

// tableError returns err, which is view.ErrNoTable if the table of rows does not exist.
func tableError(t view.Target, err error) error {
	if errors.Is(err, dynamo.ErrNoTable) {
		return fmt.Errorf("dynamodb: %w: %q", view.ErrNoTable, t.Name)
	}
	return err
}

// ListGuards scans the state table, so it costs the read units of the whole table.
func (s *Store) ListGuards(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.ItemGuard, error] {
	return func(yield func(view.ItemGuard, error) bool) {
		for found, err := range s.DB.ListGuards(ctx, t.State(), l) {
			var g view.ItemGuard
			switch {
			case err != nil:
			case found.Claim != nil:
				g = view.ItemGuard{Item: found.Claim.Item, Guard: state.Guard{Row: found.Claim.Row}, Claim: &found.Claim.Claim}
			case found.Owner != nil:
				g = view.ItemGuard{Item: found.Owner.Item, Guard: state.Guard{Row: found.Owner.Row}, Owns: true}
			default:
				g = view.ItemGuard{Item: found.Guard.Item, Guard: found.Guard.Value}
			}
			if !yield(g, err) {
				return
			}
		}
	}
}

// ListContributions scans the state table, so it costs the read units of the whole table.
func (s *Store) ListContributions(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.ItemContribution, error] {
	return func(yield func(view.ItemContribution, error) bool) {
		for c, err := range s.DB.ListContributions(ctx, t.State(), l) {
			if !yield(view.ItemContribution{Item: c.Item, Contribution: c.Value}, err) {
				return
			}
		}
	}
}
