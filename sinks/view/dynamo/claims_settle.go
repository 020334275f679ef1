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
	withRow := itemsOf(ws, func(w *state.ItemWrite) (item.Key, bool) { return w.Source, w.Guard.Row != "" })
	if err := s.beforeWrite(ctx, t, withRow); err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ws))
	groups := connectedWrites(ws)
	return runParts(s.DB, rs, len(groups), func(i int, down *outage) {
		s.settleConnected(ctx, t, ws, groups[i], rs, down)
	})
}

// settleConnected applies connected writes in order. connected has their indexes in ws. If outage has ended the call,
// because DynamoDB does not respond, settleConnected sets the error of outage as their result.
func (s *Store) settleConnected(
	ctx context.Context, t view.Target, ws []state.ItemWrite, connected []int, rs []view.Result, down *outage,
) {
	for len(connected) > 0 {
		m := s.NewMergedWrite(t.State())
		n := 0
		for n < len(connected) && m.Add(&ws[connected[n]]) {
			n++
		}
		r := view.Result{Err: down.stopErr()}
		switch {
		case r.Err != nil:
			n = len(connected)
		case n == 0:
			n, r.Err = 1, errs.Errorf("dynamodb: an item of the view %s has more to write than the %d actions of a transaction",
				redact.Safe(t.View), dynamo.MaxActions)
		default:
			r = s.commit(ctx, t, m)
			down.add(r.Err)
		}
		alone := n > 1 && (r.Lost || state.IsPermanent(r.Err))
		for _, i := range connected[:n] {
			rs[i] = r
			if alone {
				single := s.NewMergedWrite(t.State())
				single.Add(&ws[i])
				rs[i] = s.commit(ctx, t, single)
			}
		}
		connected = connected[n:]
	}
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
// sink by now. The next read of the row then returns the error for that. Otherwise another sink or another birth has
// overwritten a row with claims, and the transaction fails.
func unmetClaimsResult(t view.Target, m *dynamo.MergedWrite, actions int, unmet *dynamo.ConditionError) view.Result {
	rows := m.Rows()
	firstRow := actions - len(rows)
	for _, u := range unmet.Unmet {
		if u.ActionIndex < firstRow || !rows[u.ActionIndex-firstRow].Claimed() {
			return view.Result{Lost: true}
		}
	}
	u := unmet.Unmet[0]
	stored, _ := metaOf(u.Item)
	return view.Result{Err: notOwned(t, rows[u.ActionIndex-firstRow].Row, stored)}
}

// connectedWrites divides the indexes of ws into groups. Writes of different groups have neither an item nor a row in
// common. The order within a group is that of ws.
func connectedWrites(ws []state.ItemWrite) [][]int {
	group := make([]int, len(ws)) // union-find: an earlier index of the same group, or the index itself
	find := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	lastUse := make(map[string]int, 2*len(ws))
	for i := range ws {
		group[i] = i
		connect := func(key string) {
			if before, ok := lastUse[key]; ok {
				a, b := find(before), find(i)
				group[max(a, b)] = min(a, b)
			}
			lastUse[key] = i
		}
		connect("item " + string(ws[i].Source))
		for _, rowWrite := range ws[i].Rows {
			connect("row " + string(rowWrite.Row))
		}
	}
	index := make(map[int]int) // index in groups, by root
	var groups [][]int
	for i := range ws {
		root := find(i)
		if _, ok := index[root]; !ok {
			index[root] = len(groups)
			groups = append(groups, nil)
		}
		groups[index[root]] = append(groups[index[root]], i)
	}
	return groups
}
