// Package seq maps, joins and divides sequences that an error ends.
package seq

import "iter"

// Map yields what change makes of the values. It leaves out those for which change returns false. An error of the
// sequence or of change is yielded, and ends the result.
func Map[T, U any](values iter.Seq2[T, error], change func(T) (u U, keep bool, err error)) iter.Seq2[U, error] {
	return func(yield func(U, error) bool) {
		for v, err := range values {
			var u U
			keep := true
			if err == nil {
				u, keep, err = change(v)
			}
			if (keep || err != nil) && !yield(u, err) || err != nil {
				return
			}
		}
	}
}

// Concat yields the values of all parts, one after the other. An error ends it.
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

// Chunk yields the values in slices of n, and the rest. A slice is valid until the next one. An error ends it without the rest.
func Chunk[T any](values iter.Seq2[T, error], n int) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		chunk := make([]T, 0, n)
		for v, err := range values {
			if err != nil {
				yield(nil, err)
				return
			}
			if chunk = append(chunk, v); len(chunk) < n {
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
