package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Redelivery is the result of delivering a change to a sink once more.
type Redelivery struct {
	Outcome Outcome // NoEffect if a filter drops the change; not set if Err is not nil
	Reason  string  // reason of NoEffect and Suppressed
	Err     error   // not nil if the delivery failed again
	Untried bool    // not tried, because an earlier change of its key failed; Err is not nil
}

// RouteInfo describes a route for a redrive.
type RouteInfo struct {
	Name       string
	Suppressed bool // deliveries are planned and not written
	Guarded    bool // the sink compares versions, so the order of changes does not matter; see Guarded

	Wrote  time.Time // last success of a Write in a Run or a Redeliver; zero: none yet
	Failed time.Time // last transient failure of such a Write; zero: none yet
}

// Healthy reports whether the sink accepts deliveries, as far as is known. It returns true if no Write has failed
// transiently since the last success.
func (r RouteInfo) Healthy() bool { return r.Failed.IsZero() || r.Wrote.After(r.Failed) }

// Routes describes the routes of the pipeline, in the order of Options.Routes.
func (p *Pipeline) Routes() []RouteInfo {
	infos := make([]RouteInfo, len(p.routes))
	for i, r := range p.routes {
		infos[i] = RouteInfo{Name: r.Name, Suppressed: r.Suppress != "", Guarded: r.guarded}
		infos[i].Wrote, infos[i].Failed = r.health.times()
	}
	return infos
}

// Redeliver delivers changes to one sink once more, as a redrive of dead letters does. The changes pass the filters,
// the detectors, and the Plan and Write of the sink, in batches of the route and at its rate. Redeliver returns a
// result for each change. It blocks until all changes have a result, or ctx is done. It retries nothing. It returns an
// error if there is no such route.
//
// Changes of one key are delivered in the order of cs. After a failed change, the later changes of its key are not
// tried: they fail with a transient error.
//
// Redeliver counts in no ledger and reads no Quarantine. It can run at the same time as a Run if its keys are
// quarantined, because a Run does not write these keys, or if the sink is [Guarded].
func (p *Pipeline) Redeliver(ctx context.Context, route string, cs []*record.Change) ([]Redelivery, error) {
	for _, r := range p.routes {
		if r.Name == route {
			rd := redelivery{p: p, route: r, changes: cs, results: make([]Redelivery, len(cs)),
				failed: map[item.Key]bool{}, batchKeys: map[item.Key]bool{}}
			rd.run(ctx)
			return rd.results, nil
		}
	}
	return nil, errs.Errorf("pipeline %q has no route %q", p.options.Name, route)
}

// redelivery is one call of Redeliver.
type redelivery struct {
	p       *Pipeline
	route   *route
	changes []*record.Change
	results []Redelivery
	failed  map[item.Key]bool // keys with a change that failed

	batch        []Delivery // the next batch
	batchIndexes []int      // indexes of its changes
	batchBytes   int64
	batchKeys    map[item.Key]bool
}

func (rd *redelivery) run(ctx context.Context) {
	for i, c := range rd.changes {
		if !rd.canJoin(c) {
			rd.write(ctx)
		}
		planned, err := rd.planChange(c)
		if err != nil && rd.batchKeys[c.Key] {
			rd.write(ctx) // the earlier changes of the key are written first
		}
		switch {
		case rd.failed[c.Key]: // an earlier change, maybe in the write just now
			rd.setResult(i, planned, errUntried)
		case err != nil || planned.Outcome != Written:
			rd.setResult(i, planned, err)
		default:
			rd.batch = append(rd.batch, planned)
			rd.batchIndexes = append(rd.batchIndexes, i)
			rd.batchBytes += int64(len(c.Raw))
			rd.batchKeys[c.Key] = true
		}
	}
	rd.write(ctx)
}

// canJoin reports whether a change can join the next batch.
func (rd *redelivery) canJoin(c *record.Change) bool {
	limits := &rd.route.Batch
	fits := len(rd.batch) < limits.Count && rd.batchBytes+int64(len(c.Raw)) <= limits.Bytes
	return fits && (rd.route.keepsOrder || !rd.batchKeys[c.Key])
}

// planChange runs the stages before the Write.
func (rd *redelivery) planChange(c *record.Change) (Delivery, error) {
	if err := rd.p.needs.check(c); err != nil {
		return Delivery{}, err
	}
	ev := rd.p.evaluate(c, nil, nil)
	if ev.fatal != nil {
		return Delivery{}, ev.fatal
	}
	if ev.verdict.Drop {
		return Delivery{Change: c, Outcome: NoEffect, Reason: ev.verdict.Reason}, nil
	}
	verdict, fail := rd.route.applyFilters(c, &ev, nil)
	if verdict.Drop {
		return Delivery{Change: c, Outcome: NoEffect, Reason: verdict.Reason}, nil
	}
	planned := Delivery{Change: c, Events: rd.route.events(&ev)}
	if fail == nil {
		fail = rd.route.planDelivery(&planned)
	}
	if fail != nil {
		return Delivery{}, fail.err
	}
	return planned, nil
}

// write writes the next batch.
func (rd *redelivery) write(ctx context.Context) {
	n := len(rd.batch)
	if n == 0 {
		return
	}
	rd.writeDeliveries(ctx, rd.batch, rd.batchIndexes)
	if rd.route.Rate > 0 {
		_ = Sleep(ctx, time.Duration(float64(n)/rd.route.Rate*float64(time.Second)))
	}
	rd.batch, rd.batchIndexes, rd.batchBytes = rd.batch[:0], rd.batchIndexes[:0], 0
	clear(rd.batchKeys)
}

// writeDeliveries writes deliveries of the changes with the indexes. If the Write fails as a whole and one delivery can
// be the cause, each delivery is written once more, alone. A Run does the same.
func (rd *redelivery) writeDeliveries(ctx context.Context, planned []Delivery, indexes []int) {
	n := len(planned)
	written, failures := slices.Clone(planned), make([]error, n)
	err := ctx.Err()
	if err == nil {
		err = rd.route.callWrite(ctx, written, failures)
	}
	mustSplit := err != nil && ctx.Err() == nil && n > 1 && oneMayBeCause(err, n)
	if mustSplit {
		for k := range n {
			if rd.failed[planned[k].Change.Key] {
				rd.setResult(indexes[k], planned[k], errUntried)
			} else {
				rd.writeDeliveries(ctx, planned[k:k+1], indexes[k:k+1])
			}
		}
		return
	}
	for k, i := range indexes {
		rd.setResult(i, written[k], cmp.Or(err, failures[k]))
	}
}

// setResult stores the result of change i. A permanent failure is ignored if the outcome is Superseded: the sink has a
// newer version.
func (rd *redelivery) setResult(i int, delivery Delivery, err error) {
	isPermanent := err != nil && !isTransient(err) && !IsFatal(err)
	if isPermanent && delivery.Outcome == Superseded {
		err = nil
	}
	if err != nil {
		rd.failed[rd.changes[i].Key] = true
		rd.results[i] = Redelivery{Err: err, Untried: errors.Is(err, errUntried)}
		return
	}
	rd.results[i] = Redelivery{Outcome: delivery.Outcome, Reason: delivery.Reason}
}
