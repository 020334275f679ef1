package dynamo

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/internal/seq"
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

// ListRows scans the table, so it costs the read units of the whole table, including the rows of other sinks. If the
// version in _tw was damaged by hand, the row has the zero version.
func (r *Reader) ListRows(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.Row, error] {
	return seq.Map(r.list(ctx, t, l), func(image dynamo.Item) (view.Row, bool, error) {
		row, _, err := readerRow(t.Table, image)
		if errors.Is(err, errNoVersion) {
			err = nil
		}
		return row, true, err
	})
}

// list yields the items of the live rows of a target's sink, whatever their birth.
func (r *Reader) list(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[dynamo.Item, error] {
	filter := onlyLiveRows + " AND #tw.#view = :view AND #tw.#by = :by"
	in := &dynamodb.ScanInput{
		TableName:        &t.Name,
		FilterExpression: &filter,
		ExpressionAttributeNames: map[string]string{"#tw": metaAttribute, "#expires": expiresAttribute, "#view": metaView,
			"#by": metaPipeline},
		ExpressionAttributeValues: map[string]types.AttributeValue{":view": dynamo.S(t.View), ":by": dynamo.S(t.Pipeline)},
	}
	return func(yield func(dynamo.Item, error) bool) {
		for image, err := range r.views.List(ctx, in, l) {
			if !yield(image, tableError(t.Table, err)) || err != nil {
				return
			}
		}
	}
}

// tableError returns an error with view.ErrNoTable if err means that the table of rows does not exist. Otherwise it
// returns err.
func tableError(t view.Table, err error) error {
	if errors.Is(err, dynamo.ErrNoTable) {
		return fmt.Errorf("dynamodb: %w: %q", view.ErrNoTable, t.Name)
	}
	return err
}
