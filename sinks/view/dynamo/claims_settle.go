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

// Settle writes the writes that build on each other in one transaction, as far as they fit. Writes that have
// neither an item nor a row in common are written at the same time. If a transaction of several writes is refused,
// each is written by itself, so that each is lost or fails alone.
func (s *Store) Settle(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	if len(ws) == 0 {
		return nil, nil
	}
	withRow := itemsOf(ws, func(w *state.ItemWrite) (item.Key, bool) { return w.Source, w.Guard.Row != "" })
	if err := s.beforeWrite(ctx, t, withRow); err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ws))
	groups := connectedWrites(ws)
	return runParts(s.DB, rs, len(groups), func(i int, down *outage) { s.settleConnected(ctx, t, ws, groups[i], rs, down) })
}

// settleConnected writes the connected writes in order, unless DynamoDB does not respond.
func (s *Store) settleConnected(ctx context.Context, t view.Target, ws []state.ItemWrite, connected []int, rs []view.Result, outage *outage) {
	for len(connected) > 0 {
		m := s.NewMergedWrite(t.State())
		n := 0
		for n < len(connected) && m.Add(&ws[connected[n]]) {
			n++
		}
		r := view.Result{Err: outage.stopErr()}
		switch {
		case r.Err != nil:
			n = len(connected)
		case n == 0:
			n, r.Err = 1, errs.Errorf("dynamodb: an item of the view %s has more to write than the %d actions of a transaction", redact.Safe(t.View), dynamo.MaxActions)
		default:
			r = s.commit(ctx, t, m)
			outage.add(r.Err)
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
		return claimsRefused(t, m, len(actions), unmet)
	}
	if e, ok := errors.AsType[*dynamo.Error](err); ok && e.Action >= 0 && errors.Is(e, dynamo.ErrTooLarge) {
		err = pipeline.Permanent(fmt.Errorf("%s of the view %s: %w", subjects[e.Action], t.View, err))
	}
	return view.Result{Err: err}
}

// claimsRefused returns the result of a transaction on claims whose conditions were not met. It is lost if a guard
// or the claims on a row have changed, or if a row without claims belongs to another sink by now: a new read shows
// that. Otherwise another sink, or another birth, has overwritten a row with claims, and the write fails.
func claimsRefused(t view.Target, m *dynamo.MergedWrite, actions int, unmet *dynamo.ConditionError) view.Result {
	rows := m.Rows()
	firstRow := actions - len(rows)
	for _, u := range unmet.Unmet {
		if u.Action < firstRow || !rows[u.Action-firstRow].Claimed() {
			return view.Result{Lost: true}
		}
	}
	u := unmet.Unmet[0]
	stored, _ := metaOf(u.Item)
	return view.Result{Err: notOwned(t, rows[u.Action-firstRow].Row, stored)}
}

// connectedWrites splits the indexes of ws into groups, in order. Writes of different groups have neither an item
// nor a row in common.
func connectedWrites(ws []state.ItemWrite) [][]int {
	group := make([]int, len(ws)) // union-find: an earlier index of the same group, or the index itself
	find := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	last := make(map[string]int, 2*len(ws))
	for i := range ws {
		group[i] = i
		connect := func(key string) {
			if before, ok := last[key]; ok {
				a, b := find(before), find(i)
				group[max(a, b)] = min(a, b)
			}
			last[key] = i
		}
		connect("item " + string(ws[i].Source))
		for _, sw := range ws[i].Rows {
			connect("row " + string(sw.Row))
		}
	}
	index := make(map[int]int) // indexes of groups, by root
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
