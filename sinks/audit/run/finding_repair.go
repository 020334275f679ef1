package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/state"
)

// RepairOptions configure a [Repairer].
type RepairOptions struct {
	Sinks       []audit.Sink
	Lookup      Lookup
	Concurrency int     // number of concurrent repairs. Default: 16
	Budget      *Budget // limits the rate; a throttled repair lowers the rate. Default: no limit

	// Done is called after each finding, in the order of Add, by one goroutine at a time. Required.
	Done func(sink int, f *audit.Finding, o audit.Outcome)
}

// DefaultRepairConcurrency is the default number of concurrent repairs.
const DefaultRepairConcurrency = 16

const (
	repairsInBatch = 100 // number of findings that are kept in memory; their items are read together
	maxRepairTries = 4   // number of tries of a repair that loses against other writes
)

// Repairer repairs findings, several of them concurrently. One goroutine calls Add for each finding, and Flush at the
// end.
//
// The order of repairs: two findings of one sink are related if they are about the same item or the same place. Related
// findings are repaired one after the other, in the order of Add. Other findings have no order. A repair may also write
// rows and groups that its finding does not name, such as the row that an item leaves. The sink orders the writers of a
// row or a group, so that no two repairs write it at the same time.
//
// A repair can lose against another write between its read and its own write. Then it reads the place again, a few
// times: it repairs the remaining difference, or finds that another write changed the place. A throttled repair waits
// and tries again, and for some time fewer repairs run concurrently. The repair of a damaged entry is refused, and this
// is not an error. After any other error no new repair begins; the running repairs end, and then the error is returned.
//
// If an item changes after it was read, a repair may write an old state of the item into an empty place. An empty place
// has no version that would reveal this, and the record of the change may be lost. So the Repairer reads the items
// again after the writes. A place that differs from the plan of the changed item is reported as moved.
type Repairer struct {
	o     RepairOptions
	batch []repairedFinding
	gate  *gate
}

// repairedFinding is a finding and the result of its repair.
type repairedFinding struct {
	sink    int
	finding audit.Finding
	item    *Item // nil if the item is unknown
	outcome audit.Outcome
	done    bool
}

// NewRepairer returns a Repairer without findings.
func NewRepairer(o RepairOptions) *Repairer {
	o.Concurrency = cmp.Or(o.Concurrency, DefaultRepairConcurrency)
	if o.Budget == nil {
		o.Budget = NewBudget(0)
	}
	return &Repairer{o: o, gate: newGate(o.Concurrency)}
}

// Add adds a finding whose verdict is a difference. Its kind must not be Group. If the batch is full, Add repairs it,
// and blocks meanwhile. After an error the Repairer must not be used any more.
func (r *Repairer) Add(ctx context.Context, sink int, f *audit.Finding) error {
	r.batch = append(r.batch, repairedFinding{sink: sink, finding: *f})
	if len(r.batch) < repairsInBatch {
		return nil
	}
	return r.Flush(ctx)
}

// Flush repairs the remaining findings. It returns after all repairs have ended. It returns the first error, or the
// cause of ctx. After an error no new repair begins.
func (r *Repairer) Flush(ctx context.Context) error {
	defer func() { r.batch = r.batch[:0] }()
	if err := r.readItems(ctx); err != nil {
		return fmt.Errorf("read items: %w", err)
	}

	chains := relatedFindings(r.batch)
	var failed atomic.Bool
	failures := parallel.Each(len(chains), r.o.Concurrency, func(n int) error {
		return r.repairChain(ctx, chains[n], &failed)
	})
	err := cmp.Or(cmp.Or(failures...), context.Cause(ctx))
	if err == nil {
		err = r.findChanged(ctx)
	}

	for i := range r.batch {
		if b := &r.batch[i]; b.done {
			r.o.Done(b.sink, &b.finding, b.outcome)
		}
	}
	return err
}

// repairChain repairs the findings with the given indexes in the batch, one after the other. It sets failed after an
// error, and repairs nothing more once failed is set.
func (r *Repairer) repairChain(ctx context.Context, chain []int, failed *atomic.Bool) error {
	for _, i := range chain {
		if failed.Load() {
			return nil
		}
		if err := r.repairFinding(ctx, &r.batch[i]); err != nil {
			failed.Store(true)
			return err
		}
		r.batch[i].done = true
	}
	return nil
}

// readItems reads the items of the batch, and sets the item of each finding.
func (r *Repairer) readItems(ctx context.Context) error {
	var keys []item.Key
	for i := range r.batch {
		keys = append(keys, r.batch[i].finding.Item)
	}
	items, err := r.lookUp(ctx, keys)
	for i := range r.batch {
		r.batch[i].item = items[r.batch[i].finding.Item]
	}
	return err
}

// lookUp reads the items with the given keys. It skips the key "", and reads an item only once.
func (r *Repairer) lookUp(ctx context.Context, keys []item.Key) (map[item.Key]*Item, error) {
	unique := slices.Compact(slices.Sorted(slices.Values(keys)))
	unique = slices.DeleteFunc(unique, func(key item.Key) bool { return key == "" })
	if len(unique) == 0 {
		return nil, nil
	}
	read, err := r.o.Lookup.Read(ctx, unique)
	if err != nil {
		return nil, err
	}
	items := make(map[item.Key]*Item, len(unique))
	for i, key := range unique {
		items[key] = &read[i]
	}
	return items, nil
}

// findChanged finds the repairs whose items changed since they were read. If the place of such a repair differs from
// the plan of the changed item, its outcome becomes ChangedMeanwhile. Another audit compares the place again.
func (r *Repairer) findChanged(ctx context.Context) error {
	var repaired []*repairedFinding
	var keys []item.Key
	for i := range r.batch {
		if b := &r.batch[i]; b.done && b.outcome.Result == audit.Repaired {
			repaired = append(repaired, b)
			keys = append(keys, b.finding.Item)
		}
	}
	items, err := r.lookUp(ctx, keys)
	if err != nil {
		return fmt.Errorf("read the items of repairs again: %w", err)
	}
	for _, b := range repaired {
		current := items[b.finding.Item]
		if current == nil || current.sameAs(&b.item.Change) {
			continue
		}
		equal, err := r.isEqual(ctx, b, current)
		if err != nil {
			return err
		}
		if !equal {
			b.outcome = audit.Outcome{Result: audit.ChangedMeanwhile, Reason: "the item changed during the repair"}
		}
	}
	return nil
}

// isEqual reports whether the place of a finding equals the plan of an item. It returns false for an undecodable item,
// which has no plan.
func (r *Repairer) isEqual(ctx context.Context, b *repairedFinding, current *Item) (equal bool, err error) {
	if current.Err != nil {
		return false, nil //nolint:nilerr // an undecodable item has no plan
	}
	sink, f := r.o.Sinks[b.sink], &b.finding
	var found []audit.Finding
	err = r.o.Budget.retryThrottled(ctx, func() (err error) {
		found, err = sink.Compare(ctx, &current.ItemState, []audit.Entry{{Kind: f.Kind, Place: f.Place}})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("%s: %s: %w", sink.Name(), f.PlaceText, err)
	}
	differs := slices.ContainsFunc(found, func(present audit.Finding) bool {
		return present.Verdict.Differs() && present.Kind == f.Kind && present.Place == f.Place
	})
	return !differs, nil
}

// isRelated reports whether two findings of a sink are about the same item or the same place.
func (b *repairedFinding) isRelated(other *repairedFinding) bool {
	f, g := &b.finding, &other.finding
	sameItem := f.Item != "" && f.Item == g.Item
	samePlace := placeKind(f.Kind) == placeKind(g.Kind) && placeOf(f) == placeOf(g)
	return b.sink == other.sink && (sameItem || samePlace)
}

// relatedFindings groups the findings of a batch into chains, and returns the indexes of each chain's findings. The
// findings of a chain are repaired one after the other. No item and no place of a sink is in two chains.
func relatedFindings(batch []repairedFinding) (chains [][]int) {
	for i := range batch {
		isRelated := func(k int) bool { return batch[i].isRelated(&batch[k]) }
		joined, others := []int{i}, chains[:0] // i joins the chains that are related to it into one
		for _, chain := range chains {
			if slices.ContainsFunc(chain, isRelated) {
				joined = append(joined, chain...)
			} else {
				others = append(others, chain)
			}
		}
		slices.Sort(joined)
		others = append(others, joined)
		chains = others
	}
	slices.SortFunc(chains, func(a, b []int) int { return a[0] - b[0] })
	return chains
}

// placeKind returns the kind of an entry as a text. For a claim and an owner it returns "row", because both are about a
// row.
func placeKind(k audit.Kind) string {
	if k == audit.Claim || k == audit.Owner {
		return string(audit.Row)
	}
	return string(k)
}

// placeOf returns the place of a finding. The place of a claim has a row and an item's key: of these, placeOf returns
// the row.
func placeOf(f *audit.Finding) string {
	if placeKind(f.Kind) != string(audit.Row) {
		return f.Place
	}
	row, _, _ := strings.Cut(f.Place, " ")
	return row
}

// refusal returns the reason why a finding cannot be repaired; "" if its item is known and can be decoded.
func (b *repairedFinding) refusal() string {
	switch {
	case b.item == nil:
		return "it is unknown which item it was made from"
	case b.item.Err != nil:
		return "the item cannot be decoded: " + b.item.Err.Error()
	}
	return ""
}

// repairFinding repairs one finding, and sets its outcome. An error ends all repairs.
func (r *Repairer) repairFinding(ctx context.Context, b *repairedFinding) error {
	if why := b.refusal(); why != "" {
		b.outcome = audit.Outcome{Result: audit.Refused, Reason: why}
		return nil
	}
	sink := r.o.Sinks[b.sink]
	for try := 1; ; try++ {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		outcome, err := r.repairOnce(ctx, sink, b)
		if _, isDamaged := errors.AsType[*state.DamagedError](err); isDamaged { // other entries can still be read
			b.outcome = audit.Outcome{Result: audit.Refused, Reason: err.Error()}
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", sink.Name(), b.finding.PlaceText, err)
		}
		if !outcome.Overtaken || try == maxRepairTries {
			b.outcome = outcome
			return nil
		}
	}
}

// repairOnce calls Repair of a sink until the call is not throttled.
func (r *Repairer) repairOnce(
	ctx context.Context, sink audit.Sink, b *repairedFinding,
) (outcome audit.Outcome, err error) {
	err = r.o.Budget.retryThrottled(ctx, func() (err error) {
		halvings := r.gate.enter()
		outcome, err = sink.Repair(ctx, &b.item.ItemState, b.finding)
		r.gate.leave(halvings, audit.IsThrottled(err))
		return err
	})
	return outcome, err
}
