package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// maxLost is how often a Write reads again because other workers were faster. Each
// time one of them got ahead, so that only many at once can exceed it.
const maxLost = 10

// rounds calls round with what is open until nothing is. raced takes what a round lost to other writers, and how
// many rounds lost anything until then.
func rounds[T any](open func() []T, round func([]T) (lost []T, err error), raced func(lost []T, times int)) error {
	for times := 0; ; {
		turns := open()
		if len(turns) == 0 {
			return nil
		}
		lost, err := round(turns)
		if err != nil {
			return err
		}
		if len(lost) > 0 {
			times++
			raced(lost, times)
		}
	}
}

// judge passes each result of a store to refuse or to hold, with what was written, and returns what was lost to
// other writers.
func judge[T any](of []T, rs []Result, what string, refuse func(T, error), hold func(T, Result)) (lost []T, err error) {
	if err := complete(len(rs), len(of), what); err != nil {
		return nil, err
	}
	for i, r := range rs {
		switch {
		case r.Err != nil:
			refuse(of[i], r.Err)
		case r.Lost:
			lost = append(lost, of[i])
		default:
			hold(of[i], r)
		}
	}
	return lost, nil
}

// complete is a fatal error of a store that answers less than it was asked.
func complete(got, want int, what string) error {
	if got == want {
		return nil
	}
	return pipeline.Fatal(errs.Errorf("the store answered %d of %d %s", got, want, redact.Safe(what)))
}
