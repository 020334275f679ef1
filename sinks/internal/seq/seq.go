// Package seq maps sequences whose values may be errors.
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
