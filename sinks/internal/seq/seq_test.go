package seq_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/tablewake/tablewake/sinks/internal/seq"
)

var errEnd = errors.New("end")

// numbers yields the numbers below n, and then an error.
func numbers(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		yield(0, errEnd)
	}
}

// text is what a sequence yields, up to most values.
func text[T any](values iter.Seq2[T, error], most int) (s string) {
	for v, err := range values {
		if err != nil {
			s += err.Error()
		} else {
			s += fmt.Sprint(v, " ")
		}
		if most--; most == 0 {
			break
		}
	}
	return s
}

func TestSequences(t *testing.T) {
	whole := func(yield func(int, error) bool) {
		for i := 0; i < 3 && yield(i, nil); i++ {
			continue
		}
	}
	odd := func(n int) (int, bool, error) {
		if n == 5 {
			return 0, false, errors.New("five")
		}
		return n * 10, n%2 == 1, nil
	}
	sameHalf := func(a, b int) bool { return a/2 == b/2 }
	twice := func(n int) ([]int, error) {
		if n == 5 {
			return []int{n}, errors.New("five")
		}
		return []int{n, n}[:2*min(n, 1)], nil
	}
	refused := seq.Lazy(func() (iter.Seq2[int, error], error) { return nil, errEnd })
	opened := seq.Lazy(func() (iter.Seq2[int, error], error) { return whole, nil })
	for want, got := range map[string]string{
		"end ":                 text(seq.Concat(refused, whole), 9) + " ",
		"0 1 2 0 ":             text(seq.Concat(opened, whole), 4),
		"10 30 end":            text(seq.Map(numbers(4), odd), 9),
		"10 30 five":           text(seq.Map(numbers(9), odd), 9),
		"10 ":                  text(seq.Map(numbers(9), odd), 1),
		"10 30 ":               text(seq.Limit(seq.Map(numbers(9), odd), 2), 9),
		"0 1 2 ":               text(seq.Limit(whole, 0), 9),
		"0 1 end":              text(seq.Concat(numbers(2), numbers(3)), 9),
		"0 ":                   text(seq.Concat(numbers(2), numbers(3)), 1),
		"[0 1] [2 3] end":      text(seq.Chunk(numbers(5), 2), 9),
		"[0 1] ":               text(seq.Chunk(numbers(5), 2), 1),
		"[0 1] [2] ":           text(seq.Chunk(whole, 2), 9),
		"[0 1] [2 3] ":         text(seq.ChunkBy(numbers(9), sameHalf), 2),
		"[0 1] [2] [] ":        text(seq.Concat(seq.ChunkBy(whole, sameHalf), seq.Of([][]int{{}}, nil)), 9),
		"1 1 2 2 end":          text(seq.FlatMap(numbers(3), twice), 9),
		"1 1 2 ":               text(seq.FlatMap(numbers(3), twice), 3),
		"1 1 2 2 3 3 4 4 five": text(seq.FlatMap(numbers(9), twice), 9),
		"end":                  text(seq.Of([]int{1}, errEnd), 9),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
