package view

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// maxLostRounds is the maximum number of rounds of one Write that may be lost to other writers. A round reads what is
// stored and writes the changes that are still open. In each lost round another writer succeeded, so only many
// concurrent writers reach the limit.
const maxLostRounds = 10

// runRounds calls round with the result of next, until next returns nothing. After each round that lost writes to other
// writers, it calls onLost with these writes and the number of lost rounds so far. onLost must fail the writes after
// maxLostRounds, or the rounds never end. It may be nil if no write can be lost.
func runRounds[T any](
	ctx context.Context, next func() []T, round func(context.Context, []T) (lost []T, err error),
	onLost func(lost []T, lostRounds int),
) error {
	for lostRounds := 0; ; {
		open := next()
		if len(open) == 0 {
			return nil
		}
		lost, err := round(ctx, open)
		if err != nil {
			return err
		}
		if len(lost) > 0 {
			lostRounds++
			onLost(lost, lostRounds)
		}
	}
}

// handleResults handles the results of one call of a store, which wrote ws. It calls onError for each write that
// failed, and onSuccess for each write that succeeded. It returns the writes that were lost to other writers. callErr
// is the error of the whole call; if it is not nil, handleResults only returns it.
func handleResults[T any](
	ws []T, rs []Result, callErr error, onError func(T, error), onSuccess func(T, Result),
) (lost []T, _ error) {
	if err := checkCount(callErr, len(rs), len(ws), "writes"); err != nil {
		return nil, err
	}
	for i, r := range rs {
		switch {
		case r.Err != nil:
			onError(ws[i], r.Err)
		case r.Lost:
			lost = append(lost, ws[i])
		default:
			onSuccess(ws[i], r)
		}
	}
	return lost, nil
}

// checkCount returns callErr, the error of a call of a store. If the call succeeded but returned got values instead of
// want values, checkCount returns a fatal error. plural names the values in this error, such as "guards".
func checkCount(callErr error, got, want int, plural string) error {
	if callErr == nil && got != want {
		return pipeline.Fatal(errs.Errorf("the store answered %d of %d %s", got, want, redact.Safe(plural)))
	}
	return callErr
}

// keysOf returns the key of each value.
func keysOf[T any](all []T, key func(T) item.Key) []item.Key {
	keys := make([]item.Key, len(all))
	for i, v := range all {
		keys[i] = key(v)
	}
	return keys
}
