package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// compareAgain compares the place of f again, and returns the present finding. b is the base of the sink s. If
// the place needs no repair, the outcome has a Result: the place is equal now, was changed since f was found, or cannot
// be repaired. Otherwise the Result is "".
func (b *base) compareAgain(ctx context.Context, s Sink, known *ItemState, f *Finding) (Finding, Outcome, error) {
	findings, err := s.Compare(ctx, known, []Entry{{Kind: f.Kind, Place: f.Place}})
	if err != nil {
		return Finding{}, Outcome{}, err
	}
	i := slices.IndexFunc(findings, func(present Finding) bool {
		isAboutItem := present.Place == ""
		return isAboutItem || present.Kind == f.Kind && present.Place == f.Place
	})
	if i < 0 {
		return Finding{}, Outcome{Result: AlreadyEqual}, nil
	}

	present := findings[i]
	switch {
	case present.Verdict == Held || present.Verdict == Skipped:
		return present, Outcome{Result: Refused, Reason: present.Reason}, nil
	case !present.Verdict.Differs():
		return present, Outcome{Result: AlreadyEqual}, nil
	case !known.isFoundOrRepaired(f.Version, present.Version) || !known.isFoundOrRepaired(f.Guard, present.Guard):
		return present, Outcome{Result: ChangedMeanwhile}, nil
	}
	return present, Outcome{}, nil
}

// singleResult returns the result of a call that made one write. rs and err are what the call returned.
func singleResult(rs []view.Result, err error) (view.Result, error) {
	switch {
	case err != nil:
		return view.Result{}, err
	case len(rs) != 1:
		return view.Result{}, pipeline.Fatal(errs.Errorf("the store answered %d of 1 writes", len(rs)))
	}
	return rs[0], nil
}

// errForeign refuses the repair of a row that another sink wrote.
var errForeign = errs.New("the row belongs to another sink")

// refusedRepair returns the outcome Refused, with the reason.
func refusedRepair(why error) (Outcome, error) {
	return Outcome{Result: Refused, Reason: why.Error()}, nil
}

// outcome returns the outcome of a write. The text writeText describes the write.
func (b *base) outcome(r view.Result, err error, writeText string) (Outcome, error) {
	if lost, ok := errors.AsType[*state.LostError](cmp.Or(err, r.Err)); ok {
		// The entry has another birth: another output of the sink wrote it. Other places can still be repaired.
		return refusedRepair(lost)
	}
	switch {
	case err != nil:
		return Outcome{}, fmt.Errorf("%s: %w", b.spec.Name, err)
	case state.IsPermanent(r.Err):
		return refusedRepair(r.Err)
	case r.Err != nil:
		return Outcome{}, fmt.Errorf("%s: %w", b.spec.Name, r.Err)
	case r.Lost || r.Superseded:
		return Outcome{Result: ChangedMeanwhile, Overtaken: true}, nil
	}
	return Outcome{Result: Repaired, WriteText: writeText}, nil
}
