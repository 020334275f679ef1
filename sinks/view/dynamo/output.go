package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// Output is what a sink has in a view table.
func (s *Store) Output(p state.Place) state.Output { return output{s.views, p} }

type output struct {
	db *dynamo.DB
	state.Place
}

// Identity is that of the table; "" where there is none.
func (o output) Identity(ctx context.Context) (string, error) {
	id, err := o.db.Identity(ctx, o.Name)
	if errors.Is(err, dynamo.ErrNoTable) {
		return "", nil
	}
	return id, err
}

// lookPages is how much of a table a look reads: pages of 1 MB, 2,048 read units.
const lookPages = 16

// Look counts rows and tombstones of the sink, by a scan of the table's beginning. What it does not
// reach, the condition of each write finds.
func (o output) Look(ctx context.Context) (l state.Look, err error) {
	in := &dynamodb.ScanInput{
		TableName:                 &o.Name,
		ConsistentRead:            aws.Bool(true),
		FilterExpression:          aws.String("#tw.#by = :by AND #tw.#view = :view"),
		ProjectionExpression:      aws.String("#tw.#birth, #tw.#by"),
		ExpressionAttributeNames:  map[string]string{"#tw": markAttribute, "#by": markPipeline, "#view": markView, "#birth": markBirth},
		ExpressionAttributeValues: dynamo.Item{":by": str(o.Pipeline), ":view": str(o.Sink)},
	}
	l.Whole, err = o.db.ScanSome(ctx, in, lookPages, func(item dynamo.Item) {
		m, _ := markOf(item)
		l.Add(m.birth, 1)
	})
	if errors.Is(err, dynamo.ErrNoTable) {
		return state.Look{Whole: true}, nil
	}
	return l, err
}

// Renew does nothing: a table remembers nothing of its rows that are gone.
func (output) Renew(context.Context) error { return nil }
