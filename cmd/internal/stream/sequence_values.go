package stream

import "iter"

// Collect returns the values of a sequence, such as gaps and backfills. If the sequence yields an error, Collect
// returns only that error.
func Collect[T any](all iter.Seq2[T, error]) ([]T, error) {
	var values []T
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}
