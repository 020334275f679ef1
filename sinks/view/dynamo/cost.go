package dynamo

import (
	"fmt"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
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

// CostOf is what the planned ops of a change cost when they are written by themselves;
// false where they write no rows. A view pays this for each change. A write is charged for the
// larger of what is there and of what comes: what is there is what the change's old image
// says, and nothing where it has none. Of groups nobody knows what stands in their rows: they
// count as with this item alone, and less where a batch has several items of a group, whose
// row is written once. CostOf calls nothing.
func CostOf(c *record.Change, ops []pipeline.Op) (Cost, bool) {
	if len(ops) == 0 {
		return Cost{}, false
	}
	switch op := ops[0].(type) {
	case *view.Op:
		return costOfRows(c, ops), true
	case *view.ClaimOp:
		return costOfClaim(c, op), true
	case *view.GroupOp:
		return costOfGroups(born(op.Target()), c, ops), true
	}
	return Cost{}, false
}

// costOfRows is that of rows that guard themselves, with what the other kind of tombstones
// would take.
func costOfRows(c *record.Change, ops []pipeline.Op) Cost {
	inPlace, bytes := 0.0, 0
	var rows, before []rowWrite
	var t view.Target
	for _, o := range ops {
		op, ok := o.(*view.Op)
		if !ok {
			continue
		}
		t = born(*op.Target)
		n, had := dynamo.SizeOfItem(tableItem(t, &op.Mutation, op.Mutation.Version.String(), someTime)), 0
		if was, ok := op.Before(c); ok {
			had = dynamo.SizeOfItem(tableItem(t, &was, was.Version.String(), someTime))
			before = append(before, rowWrite{m: &was})
		}
		inPlace += writeUnits(max(n, had))
		if op.Mutation.Tombstone && !t.InPlace {
			n = 0 // it is no row
		}
		bytes += n
		rows = append(rows, rowWrite{m: &op.Mutation})
	}
	apart, what := costApart(t, rows, before)
	if t.InPlace {
		return Cost{WriteUnits: inPlace, Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: apart", several(len(ops), "conditional put"), bytes, units(apart))}
	}
	return Cost{WriteUnits: apart, Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: in_place", what, bytes, units(inPlace))}
}

// costApart is that of rows whose tombstones are apart, over what stood there before, and what
// is written.
func costApart(t view.Target, rows, before []rowWrite) (cost float64, what string) {
	w := newWriter(nowhere(), t)
	there := make(sizes)
	for i := range before {
		if w.plan(&before[i]) == nil { // else no item could hold it
			there.put(t.Table, before[i].actions[:1])
		}
	}
	var actions []dynamo.Action
	for i := range rows {
		m := rows[i].m
		if err := w.plan(&rows[i]); err != nil {
			return 0, "nothing is written: " + err.Error()
		}
		if row := rows[i].actions[:1]; row[0].Put != nil && !m.Fresh {
			return there.transactionUnits(t.Table, row) / 2, "1 conditional put"
		}
		actions = append(actions, rows[i].actions[:]...)
	}
	cost = there.transactionUnits(t.Table, actions)
	if len(rows) > 1 {
		return cost, "a transaction of both rows, a check and a tombstone"
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

// someRevision is a revision of the claims on a row: all are of one size.
const someRevision = "revisionrevisionrevisionrevision"

// someTime stands for when a tombstone expires: all times of these centuries are of one size.
const someTime = 1_767_323_045

// costOfClaim is that of a row that is guarded by item, and that no other item claims.
func costOfClaim(c *record.Change, op *view.ClaimOp) Cost {
	if op.Idle() {
		return Cost{ReadUnits: 1, Why: "the guard is read; nothing is written unless the item had a row"}
	}
	t := born(*op.Target)
	there := make(sizes)
	cost := Cost{ReadUnits: 1}
	w := state.ItemWrite{Source: op.Claim.Source, Guard: state.Guard{Version: op.Claim.Version, Row: op.Row}}
	row, claim, had := op.Before(c)
	if had {
		was := state.ItemWrite{Source: claim.Source, Guard: state.Guard{Version: claim.Version, Row: row},
			Rows: []state.RowClaimsWrite{{Row: row, Revision: someRevision, Claim: claim, Owner: claim}}}
		actions, err := actionsOf(t, &was)
		if had = err == nil; had { // else the store refused it
			there.put(t.Table, actions)
			seat, claimed := actions[1].Put.Item, actions[2].Put.Item // behind the guard
			cost.ReadUnits += 1 + readUnits(dynamo.SizeOfItem(seat)+dynamo.SizeOfItem(claimed))
		}
	}
	if had && row != op.Row {
		w.Rows = append(w.Rows, state.RowClaimsWrite{Row: row})
	}
	if op.Row != "" {
		w.Rows = append(w.Rows, state.RowClaimsWrite{Row: op.Row, Revision: someRevision, Claim: op.Claim, Owner: op.Claim})
		if !had || row != op.Row {
			cost.ReadUnits += 2
		}
	}
	actions, err := actionsOf(t, &w)
	if err != nil {
		return Cost{Why: "nothing is written: " + err.Error()}
	}
	cost.WriteUnits = there.transactionUnits(t.Table, actions)
	switch {
	case op.Row == "" && !had:
		cost.Why = "a transaction of the guard alone, read before"
	case op.Row == "":
		cost.Why = "a transaction of the guard, and of the row, its seat and the claim, which go, read before"
	case had && row != op.Row:
		cost.Why = "a transaction of the guard, and of both rows, their seats and the claims, read before"
	default:
		cost.Why = "a transaction of the guard, the row, its seat and the claim, read before"
	}
	return cost
}

// actionsOf is the transaction of one write of an item.
func actionsOf(t view.Target, w *state.ItemWrite) ([]dynamo.Action, error) {
	m := nowhere().NewMergedWrite(t.State())
	m.Add(w)
	actions, _, err := transactionOf(t, m)
	return actions, err
}

// costOfGroups is that of an item that counts in groups.
func costOfGroups(t view.Target, c *record.Change, ops []pipeline.Op) Cost {
	w, before, ok := view.PlannedWrite(c, ops)
	if !ok {
		return Cost{ReadUnits: 1, Why: "the contribution is read; nothing is written unless the item counted before"}
	}
	cost := Cost{ReadUnits: 1}
	s := counting{Store: &Store{DB: nowhere()}, target: t, of: t.State(), write: &w}
	there := make(sizes)
	if len(before.Shares) > 0 {
		before.Version = c.Version // all are of one size
		if a, err := s.SetContribution(s.of, &state.ContributionWrite{Source: c.Key, Now: before}); err == nil {
			there.put(t.Table, []dynamo.Action{a})
			cost.ReadUnits = readUnits(dynamo.SizeOfItem(a.Put.Item))
		}
	}
	var actions []dynamo.Action
	for i := range w.Items {
		a, err := s.SetContribution(s.of, &w.Items[i])
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
			if m.Kind == state.Distinct {
				cost.ReadUnits++
			}
		}
	}
	cost.WriteUnits = there.transactionUnits(t.Table, actions) + 2*float64(members)
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
		if v, err := state.ParseSortable(m.Value); err == nil && m.Kind != state.Distinct {
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
	db, err := dynamo.New(dynamo.Options{Client: noClient{}, Table: "tablewake-state", Pipeline: "p"})
	if err != nil {
		panic(err) // the options are right
	}
	return db
}

type noClient struct{ dynamo.Client }

// sizes are those of items that are there, by table and key.
type sizes map[string]int

// id is the table and the key of an item.
func id(t view.Table, table *string, item dynamo.Item) string {
	pk, sk := "pk", "sk" // of the state table
	if *table == t.Name {
		pk, sk = t.PK, t.SK
	}
	text := *table
	for _, name := range []string{pk, sk} {
		if v, err := sdkvalue.Value(item[name]); err == nil {
			text = string(v.AppendJSON(append([]byte(text), 0)))
		}
	}
	return text
}

// put notes what puts leave there.
func (s sizes) put(t view.Table, actions []dynamo.Action) {
	for i := range actions {
		if put := actions[i].Put; put != nil {
			s[id(t, put.TableName, put.Item)] = dynamo.SizeOfItem(put.Item)
		}
	}
}

// transactionUnits is what a transaction of puts, deletes and checks takes over what is
// there: each counts as the larger of what is there and of what comes.
func (s sizes) transactionUnits(t view.Table, actions []dynamo.Action) float64 {
	n := 0.0
	for i := range actions {
		size := 0
		switch a := &actions[i]; {
		case a.Put != nil:
			size = max(dynamo.SizeOfItem(a.Put.Item), s[id(t, a.Put.TableName, a.Put.Item)])
		case a.Delete != nil:
			size = s[id(t, a.Delete.TableName, a.Delete.Key)]
		}
		n += 2 * writeUnits(size)
	}
	return n
}

// readUnits is what a consistent read takes of an item of so many bytes.
func readUnits(size int) float64 { return float64(max(1, (size+4095)/4096)) }

// writeUnits is what a standard write takes of an item of so many bytes.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
