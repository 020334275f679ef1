package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// WriteItems applies ws. Writes that build on each other are in one transaction, if they fit into one. Writes that have
// neither an item nor a row in common are written at the same time. If a transaction of several writes is refused, each
// of them is written alone, so that each has its own result.
func (s *Store) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	if len(ws) == 0 {
		return nil, nil
	}
	withRow := witnessesOf(ws, func(w *state.ItemWrite) (item.Key, bool) { return w.Source, w.Guard.Row != "" })
	if err := s.beforeWrite(ctx, t, withRow); err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ws))
	groups := connectedWrites(ws)
	return runParts(s.DB, rs, len(groups), func(i int, streak *failureStreak) {
		s.settleConnected(ctx, t, ws, groups[i], rs, streak)
	})
}

// settleConnected applies connected writes in order, and sets their results in rs. connected has their indexes in ws.
// If DynamoDB does not respond, the remaining writes fail with the error of streak.stopErr.
func (s *Store) settleConnected(
	ctx context.Context, t view.Target, ws []state.ItemWrite, connected []int, rs []view.Result, streak *failureStreak,
) {
	for len(connected) > 0 {
		if err := streak.stopErr(); err != nil {
			for _, i := range connected {
				rs[i].Err = err
			}
			return
		}
		merged, n := s.mergeFirst(t, ws, connected)
		if n == 0 {
			rs[connected[0]].Err = errs.Errorf(
				"dynamodb: an item of the view %s has more to write than the %d actions of a transaction", redact.Safe(t.View),
				dynamo.MaxActions)
			connected = connected[1:]
			continue
		}

		r := s.commit(ctx, t, merged)
		streak.add(r.Err)
		for _, i := range connected[:n] {
			rs[i] = r
		}
		isRefused := r.Lost || state.IsPermanent(r.Err)
		if isRefused && n > 1 { // find the write that is refused
			s.commitEach(ctx, t, ws, connected[:n], rs)
		}
		connected = connected[n:]
	}
}

// commitEach writes each of the connected writes in a transaction of its own, in order, and sets its result.
func (s *Store) commitEach(
	ctx context.Context, t view.Target, ws []state.ItemWrite, connected []int, rs []view.Result,
) {
	for k, i := range connected {
		single, _ := s.mergeFirst(t, ws, connected[k:k+1])
		rs[i] = s.commit(ctx, t, single)
	}
}

// mergeFirst merges as many of the connected writes as fit into one transaction, beginning with the first. It returns
// their number, or 0 if the first write does not fit.
func (s *Store) mergeFirst(t view.Target, ws []state.ItemWrite, connected []int) (m *dynamo.MergedWrite, n int) {
	m = s.NewMergedWrite(t.State())
	for n < len(connected) && m.Add(&ws[connected[n]]) {
		n++
	}
	return m, n
}

// commit writes merged writes in one transaction.
func (s *Store) commit(ctx context.Context, t view.Target, m *dynamo.MergedWrite) view.Result {
	actions, subjects, err := claimActions(t, m)
	if err != nil {
		return view.Result{Err: err}
	}
	err = s.Transact(ctx, actions)
	if unmet, ok := errors.AsType[*dynamo.ConditionError](err); ok {
		return unmetClaimsResult(t, m, len(actions), unmet)
	}
	if e, ok := errors.AsType[*dynamo.Error](err); ok && e.Action >= 0 && errors.Is(e, dynamo.ErrTooLarge) {
		err = pipeline.Permanent(fmt.Errorf("%s of the view %s: %w", subjects[e.Action], t.View, err))
	}
	return view.Result{Err: err}
}

// unmetClaimsResult returns the result of a transaction on claims whose conditions were not met. The transaction is
// lost if a guard or the claims on a row have changed. It is also lost if a row that had no claims belongs to another
// sink by now. The next read of the row then returns the error. Otherwise a row with claims was overwritten by another
// sink or under another birth, and the transaction fails. actions is the number of actions; those on rows come last.
func unmetClaimsResult(t view.Target, m *dynamo.MergedWrite, actions int, unmet *dynamo.ConditionError) view.Result {
	rows := m.Rows()
	firstRow := actions - len(rows)
	for _, u := range unmet.Unmet {
		isClaimedRow := u.ActionIndex >= firstRow && rows[u.ActionIndex-firstRow].Claimed()
		if !isClaimedRow {
			return view.Result{Lost: true}
		}
	}
	first := unmet.Unmet[0]
	stored, _ := metaOf(first.Item)
	return view.Result{Err: notOwned(t, rows[first.ActionIndex-firstRow].Row, stored)}
}

// connectedWrites divides the indexes of ws into groups. Writes of different groups have neither an item nor a row in
// common. The order within a group is that of ws.
func connectedWrites(ws []state.ItemWrite) [][]int {
	sets := make(disjointSets, len(ws))
	lastUse := make(map[string]int, 2*len(ws)) // index of the last write of an item or a row
	for i := range ws {
		sets[i] = i
		names := []string{"item " + string(ws[i].Source)}
		for _, rowWrite := range ws[i].Rows {
			names = append(names, "row "+string(rowWrite.Row))
		}
		for _, name := range names {
			if before, ok := lastUse[name]; ok {
				sets.join(before, i)
			}
			lastUse[name] = i
		}
	}

	return sets.groups()
}

// disjointSets divides numbers into sets (union-find). For each number it has a smaller number of the same set, or the
// number itself if it is the smallest.
type disjointSets []int

// first returns the smallest number of the set of n. It shortens the chain of numbers for later calls.
func (s disjointSets) first(n int) int {
	for s[n] != n {
		s[n] = s[s[n]]
		n = s[n]
	}
	return n
}

// join makes one set of the sets of a and b.
func (s disjointSets) join(a, b int) {
	firstA, firstB := s.first(a), s.first(b)
	s[max(firstA, firstB)] = min(firstA, firstB)
}

// groups returns the numbers of each set, in ascending order.
func (s disjointSets) groups() [][]int {
	groupIndex := make(map[int]int) // index in groups, by the first number of the set
	var groups [][]int
	for n := range s {
		first := s.first(n)
		g, ok := groupIndex[first]
		if !ok {
			g = len(groups)
			groupIndex[first] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], n)
	}
	return groups
}
