package dynamo

import (
	"fmt"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Cost is what a write costs in DynamoDB's units. An index of the table costs more, and
// so does each try that was in vain.
type Cost struct {
	WriteUnits float64 // a standard write takes one for each KB that is begun, in a transaction two
	ReadUnits  float64 // a consistent read takes one for each 4 KB that are begun
	Why        string  // what is written and read, in words
}

// CostOf is what the planned ops of a change cost when they are written by themselves,
// and nothing is known of the item and of its row yet; false where they write no rows. A
// view pays this for each change. Where tombstones are apart, a row of more than 1 KB takes two
// write units for each KB more to be deleted. A row that is guarded by item costs three writes more in
// the same transaction where the item leaves another row; an aggregate the rows that the
// item counted in before, unless they are the same, and less where a batch has several
// items of a group, whose row is written once. CostOf calls nothing.
func CostOf(c *pipeline.Change, ops []pipeline.Op) (Cost, bool) {
	if len(ops) == 0 {
		return Cost{}, false
	}
	switch op := ops[0].(type) {
	case *view.Op:
		return costOfRows(ops), true
	case *view.ClaimOp:
		return costOfClaim(op), true
	case *view.GroupOp:
		return costOfGroups(born(op.Target()), c, ops), true
	}
	return Cost{}, false
}

// costOfRows is that of rows that guard themselves, with what the other kind of tombstones
// would take.
func costOfRows(ops []pipeline.Op) Cost {
	inPlace, bytes := 0.0, 0
	var rows []rowWrite
	var t view.Target
	for _, o := range ops {
		op, ok := o.(*view.Op)
		if !ok {
			continue
		}
		t = born(*op.Target)
		n := sizeOfItem(item(t, &op.Mutation, op.Mutation.Version.String(), someTime))
		if op.Mutation.Tombstone && !t.InPlace {
			n = 0 // it is no row
		}
		bytes += n
		inPlace += writeUnits(n)
		rows = append(rows, rowWrite{m: &op.Mutation})
	}
	apart, what := costApart(t, rows)
	if t.InPlace {
		return Cost{WriteUnits: inPlace, Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: apart", several(len(ops), "conditional put"), bytes, units(apart))}
	}
	return Cost{WriteUnits: apart, Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: in_place", what, bytes, units(inPlace))}
}

// costApart is that of rows whose tombstones are apart, and what is written. What the row
// weighed that is deleted nothing tells: it counts as the new one, and as 1 KB where there is none.
func costApart(t view.Target, rows []rowWrite) (cost float64, what string) {
	w := newWriter(nowhere(), t)
	var actions []dynamo.Action
	size := 0
	for i := range rows {
		m := rows[i].m
		if err := w.plan(&rows[i]); err != nil {
			return 0, "nothing is written: " + err.Error()
		}
		if put := rows[i].actions[0].Put; put != nil {
			size = sizeOfItem(put.Item)
			if !m.Fresh {
				return writeUnits(size), "1 conditional put"
			}
		}
		actions = append(actions, rows[i].actions[:]...)
	}
	cost = transactionUnits(actions)
	if len(rows) > 1 {
		return cost + 2*(writeUnits(size)-1), "a transaction of both rows, a check and a tombstone"
	}
	if rows[0].m.Tombstone {
		return cost, "a transaction that deletes the row and puts its tombstone"
	}
	return cost, "a transaction of the row and a check of its tombstone"
}

// units is a number of units without digits that mean nothing.
func units(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// born is a target with a birth: all are of one size.
func born(t view.Target) view.Target {
	t.Birth = someBirth
	return t
}

const someBirth = "birthbirthbirths"

// someTime stands for when a tombstone expires: all times of these centuries are of one size.
const someTime = 1_767_323_045

// costOfClaim is that of a row that is guarded by item.
func costOfClaim(op *view.ClaimOp) Cost {
	if op.Idle() {
		return Cost{ReadUnits: 1, Why: "the guard is read; nothing is written unless the item had a row"}
	}
	w := view.ItemWrite{Source: op.Claim.Source, Guard: state.Guard{Version: op.Claim.Version, Row: op.Row}}
	if op.Row != "" {
		w.Seats = []view.SeatWrite{{Row: op.Row, Revision: op.Claim.Version.String(), Claim: op.Claim, Holder: op.Claim}}
	}
	db := nowhere()
	m := newMerger(db, born(*op.Target))
	m.add(&w)
	actions, _, err := m.actions()
	if err != nil {
		return Cost{Why: "nothing is written: " + err.Error()}
	}
	cost := Cost{WriteUnits: transactionUnits(actions), ReadUnits: 1}
	cost.Why = "a transaction of the guard alone, read before; 6 write units more where the item had a row"
	if op.Row != "" {
		cost.ReadUnits += 2
		cost.Why = "a transaction of the guard, the row, its seat and the claim, read before"
	}
	return cost
}

// costOfGroups is that of an item that counts in groups.
func costOfGroups(t view.Target, c *pipeline.Change, ops []pipeline.Op) Cost {
	w, ok := view.FirstWrite(c, ops)
	if !ok {
		return Cost{ReadUnits: 1, Why: "the contribution is read; nothing is written unless the item counted before"}
	}
	cost := Cost{ReadUnits: 1}
	s := counting{Store: &Store{DB: nowhere()}, target: t, of: targetOf(t), write: &w}
	var actions []dynamo.Action
	for i := range w.Items {
		a, err := s.contribution(s.of, &w.Items[i])
		if err != nil {
			return Cost{Why: "nothing is written: " + err.Error()}
		}
		actions = append(actions, a)
	}
	members := 0
	for i := range w.Groups {
		g := groupWrite{GroupChange: &w.Groups[i]}
		row, err := s.newRow(&g)
		if err != nil {
			return Cost{Why: "nothing is written: " + err.Error()}
		}
		actions = append(actions, row)
		if !g.addable() {
			cost.ReadUnits++
		}
		for _, m := range g.Members {
			members++
			if m.Kind == view.Distinct {
				cost.ReadUnits++
			}
		}
	}
	cost.WriteUnits = transactionUnits(actions) + 2*float64(members)
	cost.Why = "a transaction of the contribution, read before, and " + several(len(w.Groups), "group row")
	if members > 0 {
		cost.Why += " and " + several(members, "member") + " of what is a min, a max or a distinct"
	}
	return cost
}

// newRow is the action that would put the first row of a group.
func (c *counting) newRow(g *groupWrite) (dynamo.Action, error) {
	var err error
	if g.ref, err = refOf(c.target.Table, g.Row); err != nil {
		return dynamo.Action{}, err
	}
	r := &groupRow{values: make(dynamo.Item)}
	if err := r.reckon(g.GroupChange); err != nil {
		return dynamo.Action{}, err
	}
	for _, m := range g.Members {
		if v, err := state.Unsorted(m.Value); err == nil && m.Kind != view.Distinct {
			r.values[m.Name] = sdkvalue.Of(v)
		} else {
			r.values[m.Name] = dynamo.N("1")
		}
		r.epoch = someEpoch
	}
	return c.put(g, r, g.Shares), nil
}

const someEpoch = "EPOCHEPOCH"

// nowhere is a DB to name items by. It is never called.
func nowhere() *dynamo.DB {
	db, err := dynamo.New(dynamo.Options{Client: noClient{}, Table: "tablewake-state"})
	if err != nil {
		panic(err) // the options are right
	}
	return db
}

type noClient struct{ dynamo.Client }

// transactionUnits is what a transaction of puts and deletes takes.
func transactionUnits(actions []dynamo.Action) float64 {
	n := 0.0
	for i := range actions {
		size := 0
		if put := actions[i].Put; put != nil {
			size = sizeOfItem(put.Item)
		}
		n += 2 * writeUnits(size)
	}
	return n
}

// writeUnits is what a standard write takes of an item of so many bytes.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
