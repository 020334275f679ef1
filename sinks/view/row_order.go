package view

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/state"
)

// rowOrder is the place of a row in an order: texts that sort as its key attributes do in DynamoDB.
type rowOrder struct{ pk, sk string }

func (o rowOrder) compare(other rowOrder) int {
	return cmp.Or(strings.Compare(o.pk, other.pk), strings.Compare(o.sk, other.sk))
}

// byKey is the order of partition key and sort key.
func byKey(r Row) rowOrder { return rowOrder{sortText(r.PK), sortText(r.SK)} }

// bySortKey is the order of the sort key alone.
func bySortKey(r Row) rowOrder { return rowOrder{sk: sortText(r.SK)} }

func compareKeys(a, b Row) int { return byKey(a).compare(byKey(b)) }

func sortText(v item.Value) string {
	text, _ := state.SortableText(v)
	return text
}

// pullRows returns the next row of a sequence; false at its end.
type pullRows func() (Row, error, bool)

// mergeRows merges sequences of rows that are each in order, or in reverse order. Of rows at one place those of the
// first sequence come first, or in reverse last. The result ends with the first error.
func mergeRows(sources []pullRows, order func(Row) rowOrder, reverse bool) iter.Seq2[Row, error] {
	type head struct {
		row  Row
		at   rowOrder
		next pullRows // nil: the source has ended
	}
	return func(yield func(Row, error) bool) {
		heads := make([]head, len(sources))
		pull := func(h *head, next pullRows) bool {
			row, err, ok := next()
			if err != nil {
				return yield(Row{}, err) && false
			}
			if *h = (head{}); ok {
				*h = head{row, order(row), next}
			}
			return true
		}
		for i := range heads {
			if !pull(&heads[i], sources[i]) {
				return
			}
		}
		for {
			var first *head
			for i := range heads {
				h := &heads[i]
				if h.next == nil {
					continue
				}
				if first == nil || !reverse && h.at.compare(first.at) < 0 || reverse && h.at.compare(first.at) >= 0 {
					first = h
				}
			}
			if first == nil || !yield(first.row, nil) || !pull(first, first.next) {
				return
			}
		}
	}
}

// pullSlice returns the rows of a slice one by one.
func pullSlice(rows []Row) pullRows {
	return func() (row Row, _ error, ok bool) {
		if len(rows) > 0 {
			row, rows, ok = rows[0], rows[1:], true
		}
		return row, nil, ok
	}
}

// maxParallelReads limits how many shards are read at the same time.
const maxParallelReads = 16

// readAtOnce calls read for each of n shards, several at the same time. It returns the first error by time, which
// cancels the other calls.
func readAtOnce(ctx context.Context, n int, read func(ctx context.Context, shard int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var once sync.Once
	var firstErr error // later ones come from the cancellation
	parallel.Each(n, maxParallelReads, func(i int) error {
		err := read(ctx, i)
		if err != nil {
			once.Do(func() { firstErr = err })
			cancel(err)
		}
		return err
	})
	return firstErr
}
