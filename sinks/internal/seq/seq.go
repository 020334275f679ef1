// Package seq maps, collects, joins and divides sequences of values with errors. The first error ends a sequence.
package seq

import "iter"

// Of yields the values, or err alone if it is not nil.
func Of[T any](values []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Lazy yields the values of the sequence that open returns, or the error of open. It calls open when it is read.
func Lazy[T any](open func() (iter.Seq2[T, error], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		values, err := open()
		if err != nil {
			values = Of[T](nil, err)
		}
		values(yield)
	}
}

// Map yields the result of change for each value. It leaves out a value if change returns false for keep. It also
// yields an error of values or of change. The error ends the sequence.
func Map[T, U any](values iter.Seq2[T, error], change func(T) (u U, keep bool, err error)) iter.Seq2[U, error] {
	return func(yield func(U, error) bool) {
		for v, err := range values {
			var u U
			var keep bool
			if err == nil {
				u, keep, err = change(v)
			}
			if err != nil {
				yield(u, err)
				return
			}
			if keep && !yield(u, nil) {
				return
			}
		}
	}
}

// FlatMap yields the results of change for each value, one after the other. An error of values or of change ends the
// sequence.
func FlatMap[T, U any](values iter.Seq2[T, error], change func(T) ([]U, error)) iter.Seq2[U, error] {
	return func(yield func(U, error) bool) {
		for v, err := range values {
			var results []U
			if err == nil {
				results, err = change(v)
			}
			for u, err := range Of(results, err) {
				if !yield(u, err) || err != nil {
					return
				}
			}
		}
	}
}

// Limit yields the first n values; all values if n is 0. An error ends the sequence.
func Limit[T any](values iter.Seq2[T, error], n int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		yielded := 0
		for v, err := range values {
			yielded++
			if !yield(v, err) || err != nil || yielded == n {
				return
			}
		}
	}
}

// Collect returns the values of a sequence, or its error.
func Collect[T any](values iter.Seq2[T, error]) (all []T, err error) {
	for v, err := range values {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Concat yields the values of all parts, one part after the other. An error ends the sequence.
func Concat[T any](parts ...iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, part := range parts {
			for v, err := range part {
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// Chunk yields the values in slices of length n. The last slice may be shorter. A slice is valid until the next slice.
// An error ends the sequence, and the values since the last slice are lost.
func Chunk[T any](values iter.Seq2[T, error], n int) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		chunk := make([]T, 0, n)
		for v, err := range values {
			if err != nil {
				yield(nil, err)
				return
			}
			chunk = append(chunk, v)
			if len(chunk) < n {
				continue
			}
			if !yield(chunk, nil) {
				return
			}
			chunk = chunk[:0]
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}

// ChunkBy yields the values in slices of consecutive values for which isSame is true. An error ends the sequence, and
// the values of the last slice are lost.
func ChunkBy[T any](values iter.Seq2[T, error], isSame func(a, b T) bool) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var chunk []T
		for v, err := range values {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(chunk) > 0 && !isSame(chunk[0], v) {
				if !yield(chunk, nil) {
					return
				}
				chunk = nil
			}
			chunk = append(chunk, v)
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}
