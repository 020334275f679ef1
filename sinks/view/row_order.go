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

// sortableKey is the key of a row as two texts. The texts sort as DynamoDB sorts the key attributes.
type sortableKey struct{ pk, sk string }

func (o sortableKey) compare(other sortableKey) int {
	return cmp.Or(strings.Compare(o.pk, other.pk), strings.Compare(o.sk, other.sk))
}

// byKey returns the key for sorting rows by partition key, then sort key.
func byKey(r Row) sortableKey { return sortableKey{sortText(r.PK), sortText(r.SK)} }

// bySortKey returns the key for sorting rows only by sort key.
func bySortKey(r Row) sortableKey { return sortableKey{sk: sortText(r.SK)} }

func compareKeys(a, b Row) int { return byKey(a).compare(byKey(b)) }

func sortText(v item.Value) string {
	text, _ := state.SortableText(v)
	return text
}

// pullRows returns the next row of a sequence; false at its end.
type pullRows func() (Row, error, bool)

// mergeRows merges sequences of rows. Each sequence must be sorted by keyOf; if reverse is set, in reverse. If rows
// have the same key, the row of the first sequence comes first; if reverse is set, last. The result ends with the first
// error.
func mergeRows(sources []pullRows, keyOf func(Row) sortableKey, reverse bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		heads := make([]sourceHead, len(sources))
		for i := range heads {
			heads[i].pull = sources[i]
			if err := heads[i].advance(keyOf); err != nil {
				yield(Row{}, err)
				return
			}
		}

		for first := firstHead(heads, reverse); first != nil; first = firstHead(heads, reverse) {
			if !yield(first.row, nil) {
				return
			}
			if err := first.advance(keyOf); err != nil {
				yield(Row{}, err)
				return
			}
		}
	}
}

// sourceHead is the next row of a source.
type sourceHead struct {
	row  Row
	key  sortableKey
	pull pullRows // nil if the source has ended
}

// advance replaces the row by the next one of the source. At the end of the source it sets the zero sourceHead.
func (h *sourceHead) advance(keyOf func(Row) sortableKey) error {
	row, err, ok := h.pull()
	if err != nil {
		return err
	}
	if !ok {
		*h = sourceHead{}
		return nil
	}
	h.row, h.key = row, keyOf(row)
	return nil
}

// firstHead returns the head whose row comes first; nil if all sources have ended.
func firstHead(heads []sourceHead, reverse bool) (first *sourceHead) {
	for i := range heads {
		h := &heads[i]
		if h.pull == nil {
			continue
		}
		if first == nil || h.comesBefore(first, reverse) {
			first = h
		}
	}
	return first
}

// comesBefore reports whether the row of h comes before the row of earlier, which is the head of an earlier source. If
// their keys are equal, the row of earlier comes first; in reverse order it comes last.
func (h *sourceHead) comesBefore(earlier *sourceHead, reverse bool) bool {
	order := h.key.compare(earlier.key)
	if reverse {
		return order >= 0
	}
	return order < 0
}

// pullSlice returns the rows of a slice one by one.
func pullSlice(rows []Row) pullRows {
	next := 0
	return func() (Row, error, bool) {
		if next == len(rows) {
			return Row{}, nil, false
		}
		next++
		return rows[next-1], nil, true
	}
}

// maxParallelReads is the maximum number of shards that are read at the same time.
const maxParallelReads = 16

// readInParallel calls read for each of n shards, several at the same time. The first error cancels the other calls,
// and readInParallel returns it.
func readInParallel(ctx context.Context, n int, read func(ctx context.Context, shard int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var once sync.Once
	var firstErr error // later errors come from the cancellation
	parallel.Each(n, maxParallelReads, func(shard int) error {
		err := read(ctx, shard)
		if err != nil {
			once.Do(func() { firstErr = err })
			cancel(err)
		}
		return err
	})
	return firstErr
}
