package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// maxLost is how many rounds of one Write may be lost to other writers. In each lost round one of them succeeded,
// so only many concurrent writers reach the limit.
const maxLost = 10

// runRounds calls round with the result of next until next returns nothing. After a round that lost writes to other
// writers it calls onLost with these writes and the number of such rounds so far.
func runRounds[T any](next func() []T, round func([]T) (lost []T, err error), onLost func(lost []T, lostRounds int)) error {
	for lostRounds := 0; ; {
		open := next()
		if len(open) == 0 {
			return nil
		}
		lost, err := round(open)
		if err != nil {
			return err
		}
		if len(lost) > 0 {
			lostRounds++
			onLost(lost, lostRounds)
		}
	}
}

// handleResults calls onError or onSuccess for each write ws[i] with the store's result rs[i]. It returns the
// writes that were lost to other writers.
func handleResults[T any](ws []T, rs []Result, what string, onError func(T, error), onSuccess func(T, Result)) (lost []T, err error) {
	if err := checkCount(len(rs), len(ws), what); err != nil {
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

// checkCount returns a fatal error if a store returned another number of results than requested.
func checkCount(got, want int, what string) error {
	if got == want {
		return nil
	}
	return pipeline.Fatal(errs.Errorf("the store answered %d of %d %s", got, want, redact.Safe(what)))
}
