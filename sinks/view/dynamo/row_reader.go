package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Reader reads view tables, consistently. A service that reads a view needs only a Reader and no state table
// ([NewReader]). view.GroupRows reads aggregates through it.
type Reader struct {
	views *dynamo.DB // DB for the view tables
}

var _ view.Reader = (*Reader)(nil)

// NewReader returns a Reader that uses the client c. The client needs the right to Query and, for reads without a
// partition key, to Scan. NewReader returns an error if c is nil.
func NewReader(c dynamo.Client) (*Reader, error) {
	db, err := dynamo.New(dynamo.Options{Client: c, Table: "none", Pipeline: "none"}) // the table is never used
	if err != nil {
		return nil, err
	}
	return &Reader{views: db}, nil
}

// onlyLiveRows is a filter expression that leaves out tombstones, and items that no sink wrote.
const onlyLiveRows = "attribute_exists(#tw) AND attribute_not_exists(#expires)"

// Rows reads the rows of a partition key page by page. If q has no partition key, Rows scans the whole table. It then
// reads all rows that q selects into memory and sorts them before it yields the first one. A row of 1 KB takes about 2
// KB of memory. t must have the names of its key attributes. SKPrefix requires a table whose sort key is an S.
func (r *Reader) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		if err := q.Check(); err != nil {
			yield(view.Row{}, err)
			return
		}
		rows := r.scan(ctx, t, q)
		if q.PK.Exists() {
			rows = r.query(ctx, t, q)
		}
		for row, err := range seq.Limit(rows, q.Limit) {
			if !yield(row, tableError(t, err)) {
				return
			}
		}
	}
}

// query reads the rows of one partition key, in the order of the sort key. A key condition of DynamoDB can compare the
// sort key only once. If From has the prefix SKPrefix, the condition compares with From, and the read ends at the first
// row without the prefix.
func (r *Reader) query(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	in, isEmpty := queryInput(t, q)
	return func(yield func(view.Row, error) bool) {
		if pk, _ := q.PK.Text(); isEmpty || !strings.HasPrefix(pk, q.PKPrefix) {
			return
		}
		for row, err := range toRows(t, r.views.Query(ctx, in)) {
			sk, _ := row.SK.Text()
			isAfterEnd := !strings.HasPrefix(sk, q.SKPrefix) || q.Ends(row.SK)
			if err == nil && isAfterEnd {
				return
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// queryInput returns a query of one partition key. isEmpty is true if the sort key excludes all rows.
func queryInput(t view.Table, q view.Query) (in *dynamodb.QueryInput, isEmpty bool) {
	in = &dynamodb.QueryInput{
		TableName:                 &t.Name,
		KeyConditionExpression:    aws.String("#pk = :pk"),
		FilterExpression:          aws.String(onlyLiveRows),
		ExpressionAttributeNames:  map[string]string{"#pk": t.PK, "#tw": metaAttribute, "#expires": expiresAttribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": sdkvalue.Of(q.PK)},
	}
	condition, bound, isEmpty := sortKeyCondition(t, q)
	if condition != "" {
		in.KeyConditionExpression = aws.String("#pk = :pk AND " + condition)
		in.ExpressionAttributeNames["#sk"] = t.SK
		in.ExpressionAttributeValues[":sk"] = sdkvalue.Of(bound)
	}
	if q.Reverse {
		in.ScanIndexForward = aws.Bool(false)
	}
	if q.Limit > 0 {
		in.Limit = aws.Int32(int32(min(q.Limit, 1000)))
	}
	return in, isEmpty
}

// sortKeyCondition returns the condition of a query on the sort key (#sk), and its value (:sk). The condition is "" if
// the query does not restrict the sort key. none is true if the query selects nothing.
func sortKeyCondition(t view.Table, q view.Query) (condition string, value item.Value, none bool) {
	isRestricted := q.From.Exists() || q.SKPrefix != ""
	switch {
	case !isRestricted:
		return "", item.Value{}, false
	case t.SK == "": // no row has a sort key
		return "", item.Value{}, true
	case !q.From.Exists():
		return "begins_with(#sk, :sk)", item.StringValue(q.SKPrefix), false
	}

	from, isText := q.From.Text()
	if strings.HasPrefix(from, q.SKPrefix) {
		return "#sk " + fromComparison(q) + " :sk", q.From, false
	}
	rowsAreBeforeFrom := from > q.SKPrefix
	if q.Reverse {
		rowsAreBeforeFrom = from < q.SKPrefix
	}
	if !isText || rowsAreBeforeFrom {
		return "", item.Value{}, true
	}
	return "begins_with(#sk, :sk)", item.StringValue(q.SKPrefix), false // all rows with the prefix are after From
}

// fromComparison returns the operator between the sort key of a row and From, for the rows that the query selects.
func fromComparison(q view.Query) string {
	switch {
	case q.From.Equal(q.To) && !q.After:
		return "="
	case q.Reverse && q.After:
		return "<"
	case q.Reverse:
		return "<="
	case q.After:
		return ">"
	default:
		return ">="
	}
}

// scan reads the rows of all partition keys, and sorts them.
func (r *Reader) scan(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return seq.Lazy(func() (iter.Seq2[view.Row, error], error) {
		if q.SKPrefix != "" && t.SK == "" {
			return seq.Of[view.Row](nil, nil), nil
		}
		sorted, err := r.scanSorted(ctx, t, q)
		return seq.Map(seq.Of(sorted, err), func(s sortedRow) (view.Row, bool, error) { return s.row, true, nil }), nil
	})
}

// sortedRow is a row with the texts that it is sorted by.
type sortedRow struct {
	pk, sk string
	row    view.Row
}

// scanSorted reads the rows of all partition keys into memory, and sorts them.
func (r *Reader) scanSorted(ctx context.Context, t view.Table, q view.Query) (sorted []sortedRow, err error) {
	for row, err := range toRows(t, r.views.Scan(ctx, scanInput(t, q))) {
		if err != nil {
			return nil, err
		}
		pk, _ := state.SortableText(row.PK)
		sk, _ := state.SortableText(row.SK)
		sorted = append(sorted, sortedRow{pk, sk, row})
	}
	slices.SortFunc(sorted, func(a, b sortedRow) int {
		return cmp.Or(strings.Compare(a.pk, b.pk), strings.Compare(a.sk, b.sk))
	})
	if q.Reverse {
		slices.Reverse(sorted)
	}
	return sorted, nil
}

// scanInput returns a scan that filters by PKPrefix and SKPrefix of the query.
func scanInput(t view.Table, q view.Query) *dynamodb.ScanInput {
	in := &dynamodb.ScanInput{
		TableName:                &t.Name,
		ExpressionAttributeNames: map[string]string{"#tw": metaAttribute, "#expires": expiresAttribute},
	}
	filter := onlyLiveRows
	for _, p := range []struct{ name, value, attribute, prefix string }{
		{"#pk", ":pk", t.PK, q.PKPrefix},
		{"#sk", ":sk", t.SK, q.SKPrefix},
	} {
		if p.prefix == "" {
			continue
		}
		if in.ExpressionAttributeValues == nil {
			in.ExpressionAttributeValues = make(map[string]types.AttributeValue)
		}
		filter += " AND begins_with(" + p.name + ", " + p.value + ")"
		in.ExpressionAttributeNames[p.name], in.ExpressionAttributeValues[p.value] = p.attribute, dynamo.S(p.prefix)
	}
	in.FilterExpression = &filter
	return in
}

// toRows yields the rows of items. It leaves out tombstones, and items that no sink wrote.
func toRows(t view.Table, items iter.Seq2[dynamo.Item, error]) iter.Seq2[view.Row, error] {
	return seq.Map(items, func(item dynamo.Item) (view.Row, bool, error) {
		row, ok, err := readerRow(t, item)
		if err != nil {
			err = fmt.Errorf("dynamodb: a row of table %s: %w", t.Name, err)
		}
		return row, ok, err
	})
}
