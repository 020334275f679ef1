package stream

import "iter"

// Collect returns the values of a sequence that a pulled error ends, such as gaps, births and backfills.
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
