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

// Cost is the cost of a write in DynamoDB's units. Indexes of the table and tries that failed cost more.
type Cost struct {
	WriteUnits float64 // a standard write takes one for each 1 KB or part of it, twice that in a transaction
	ReadUnits  float64 // a consistent read takes one for each 4 KB or part of it
	Why        string  // the requests, as text

	OtherTombstones float64 // the write units with the other kind of tombstones; 0: the kind makes no difference
}

// CostOf returns the cost of the planned ops of a change if they are written by themselves; false if they write no
// rows. A view has this cost for each change. DynamoDB charges the larger of the stored item and the new item. The
// stored item is taken from the old image of the change; without an old image nothing is stored. The rows of groups
// are not known: they count as if the group had this item alone. A batch with several items of a group costs less,
// because it writes the group's row once. CostOf makes no requests.
func CostOf(c *record.Change, ops []pipeline.Op) (Cost, bool) {
	if len(ops) == 0 {
		return Cost{}, false
	}
	switch op := ops[0].(type) {
	case *view.Op:
		return costOfRows(c, ops), true
	case *view.ClaimOp:
		return costOfClaim(c, op), true
	case *view.ItemRowsOp:
		return costOfItemRows(c, op), true
	case *view.GroupOp:
		return costOfGroups(withBirth(op.Target()), c, ops), true
	}
	return Cost{}, false
}

// costOfRows is the cost of rows that guard themselves. Why also has the cost with the other kind of tombstones.
func costOfRows(c *record.Change, ops []pipeline.Op) Cost {
	inPlace, totalSize := 0.0, 0
	var rows, before []rowWrite
	var t view.Target
	for _, o := range ops {
		op, ok := o.(*view.Op)
		if !ok {
			continue
		}
		t = withBirth(*op.Target)
		size, storedSize := dynamo.SizeOfItem(tableItem(t, &op.Mutation, op.Mutation.Version.String(), someTime)), 0
		if old, ok := op.Before(c); ok {
			storedSize = dynamo.SizeOfItem(tableItem(t, &old, old.Version.String(), someTime))
			before = append(before, rowWrite{mutation: &old})
		}
		inPlace += writeUnits(max(size, storedSize))
		if op.Mutation.Tombstone && !t.InPlace {
			size = 0 // a tombstone apart is not in the table
		}
		totalSize += size
		rows = append(rows, rowWrite{mutation: &op.Mutation})
	}
	apart, description, err := costApart(t, rows, before)
	if err != nil {
		return refusedCost(err)
	}
	if t.InPlace {
		return Cost{WriteUnits: inPlace, OtherTombstones: apart, Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: apart", plural(len(ops), "conditional put"), totalSize, units(apart))}
	}
	return Cost{WriteUnits: apart, OtherTombstones: inPlace, Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: in_place", description, totalSize, units(inPlace))}
}

// refusedCost is the cost of a change that can never be written: err says why, and what to do.
func refusedCost(err error) Cost {
	return Cost{Why: "the change goes to dead letters: " + err.Error()}
}

// costApart is the cost of rows with tombstones apart, which replace the rows before, and describes the requests.
func costApart(t view.Target, rows, before []rowWrite) (cost float64, description string, err error) {
	w := newRowWriter(offlineDB(), t)
	stored := make(sizes)
	for i := range before {
		if w.setActions(&before[i]) == nil { // otherwise it was never stored
			stored.addPuts(t.Table, before[i].actions[:1])
		}
	}
	var actions []dynamo.Action
	for i := range rows {
		m := rows[i].mutation
		if err := w.setActions(&rows[i]); err != nil {
			return 0, "", err
		}
		if row := rows[i].actions[:1]; row[0].Put != nil && !m.Fresh {
			return stored.transactionUnits(t.Table, row) / 2, "1 conditional put", nil
		}
		actions = append(actions, rows[i].actions[:]...)
	}
	cost = stored.transactionUnits(t.Table, actions)
	if len(rows) > 1 {
		return cost, "a transaction of both rows, a check and a tombstone", nil
	}
	if rows[0].mutation.Tombstone {
		return cost, "a transaction that deletes the row and puts its tombstone", nil
	}
	return cost, "a transaction of the row and a check of its tombstone", nil
}

// units formats a number of units.
func units(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// withBirth returns the target with a birth, for its size: all births have one size.
func withBirth(t view.Target) view.Target {
	t.Birth = someBirth
	return t
}

const someBirth = "birthbirthbirths"

// someRevision is a revision of the claims on a row, for its size: all revisions have one size.
const someRevision = "revisionrevisionrevisionrevision"

// someTime is a time when a tombstone expires, for its size: all times in question have one size.
const someTime = 1_767_323_045

// costOfClaim is the cost of a claim on a row that no other item claims.
func costOfClaim(c *record.Change, op *view.ClaimOp) Cost {
	if op.Idle() {
		return Cost{ReadUnits: 1, Why: "the guard is read; nothing is written unless the item had a row"}
	}
	t := withBirth(*op.Target)
	stored := make(sizes)
	cost := Cost{ReadUnits: 1}
	write := state.ItemWrite{Source: op.Claim.Source, Guard: state.Guard{Version: op.Claim.Version, Row: op.Row}}
	before, claim, claimed := op.Before(c)
	if claimed {
		beforeWrite := state.ItemWrite{Source: claim.Source, Guard: state.Guard{Version: claim.Version, Row: before},
			Rows: []state.RowClaimsWrite{{Row: before, Revision: someRevision, Claim: claim, Owner: claim}}}
		actions, err := itemActions(t, &beforeWrite)
		if claimed = err == nil; claimed { // otherwise it was never stored
			stored.addPuts(t.Table, actions)
			seat, claimItem := actions[1].Put.Item, actions[2].Put.Item // after the guard
			cost.ReadUnits += 1 + readUnits(dynamo.SizeOfItem(seat)+dynamo.SizeOfItem(claimItem))
		}
	}
	if claimed && before != op.Row {
		write.Rows = append(write.Rows, state.RowClaimsWrite{Row: before})
	}
	if op.Row != "" {
		write.Rows = append(write.Rows, state.RowClaimsWrite{Row: op.Row, Revision: someRevision, Claim: op.Claim, Owner: op.Claim})
		if !claimed || before != op.Row {
			cost.ReadUnits += 2
		}
	}
	actions, err := itemActions(t, &write)
	if err != nil {
		return refusedCost(err)
	}
	cost.WriteUnits = stored.transactionUnits(t.Table, actions)
	cost.Why = "a transaction of the guard" + claimedItems(claimed, op.Row, before) + ", read before"
	return cost
}

// claimedItems lists what a claim writes besides the guard. The item claimed the row before if had is true.
func claimedItems(claimed bool, now, before state.Row) string {
	switch {
	case now == "" && !claimed:
		return " alone"
	case now == "":
		return ", and of the row, its seat and the claim, which go"
	case claimed && before != now:
		return ", and of both rows, their seats and the claims"
	default:
		return ", the row, its seat and the claim"
	}
}

// itemActions returns the transaction of one item's write.
func itemActions(t view.Target, w *state.ItemWrite) ([]dynamo.Action, error) {
	m := offlineDB().NewMergedWrite(t.State())
	m.Add(w)
	actions, _, err := claimActions(t, m)
	return actions, err
}

// costOfGroups is the cost of an item that counts in groups.
func costOfGroups(t view.Target, c *record.Change, ops []pipeline.Op) Cost {
	w, before, ok := view.PlannedWrite(c, ops)
	if !ok {
		return Cost{ReadUnits: 1, Why: "the contribution is read; nothing is written unless the item counted before"}
	}
	cost := Cost{ReadUnits: 1}
	writer := groupWriter{Store: &Store{DB: offlineDB()}, target: t, stateTarget: t.State(), write: &w}
	stored := make(sizes)
	if len(before.Shares) > 0 {
		before.Version = c.Version // all versions have one size
		if a, err := writer.SetContribution(writer.stateTarget, &state.ContributionWrite{Source: c.Key, Now: before}); err == nil {
			stored.addPuts(t.Table, []dynamo.Action{a})
			cost.ReadUnits = readUnits(dynamo.SizeOfItem(a.Put.Item))
		}
	}
	var actions []dynamo.Action
	for i := range w.Items {
		a, err := writer.SetContribution(writer.stateTarget, &w.Items[i])
		if err != nil {
			return refusedCost(err)
		}
		actions = append(actions, a)
	}
	members := 0
	for i := range w.Groups {
		g := groupRowWrite{GroupChange: &w.Groups[i]}
		row, err := writer.newRow(&g)
		if err != nil {
			return refusedCost(err)
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
	cost.WriteUnits = stored.transactionUnits(t.Table, actions) + 2*float64(members)
	cost.Why = "a transaction of the contribution, read before, and " + plural(len(w.Groups), "group row")
	if members > 0 {
		cost.Why += " and " + plural(members, "member") + " of what is a min, a max or a distinct"
	}
	return cost
}

// newRow returns the put of a group's row that has only this change.
func (c *groupWriter) newRow(g *groupRowWrite) (dynamo.Action, error) {
	var err error
	if g.ref, err = refOf(c.target.Table, g.Row); err != nil {
		return dynamo.Action{}, err
	}
	r := &groupRow{values: make(dynamo.Item)}
	if err := r.addAmounts(g.GroupChange); err != nil {
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
	return c.putAction(g, r, g.Shares), nil
}

const someEpoch = "EPOCHEPOCH"

// offlineDB returns a DB that builds actions. It makes no requests.
func offlineDB() *dynamo.DB {
	db, err := dynamo.New(dynamo.Options{Client: noClient{}, Table: "tablewake-state", Pipeline: "p"})
	if err != nil {
		panic(err) // the options are right
	}
	return db
}

type noClient struct{ dynamo.Client }

// sizes are the sizes of the stored items, by table and key.
type sizes map[string]int

// itemID returns the table and the key of an item.
func itemID(t view.Table, table *string, item dynamo.Item) string {
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

// addPuts adds the items that the puts of actions store.
func (s sizes) addPuts(t view.Table, actions []dynamo.Action) {
	for i := range actions {
		if put := actions[i].Put; put != nil {
			s[itemID(t, put.TableName, put.Item)] = dynamo.SizeOfItem(put.Item)
		}
	}
}

// transactionUnits returns the write units of a transaction of puts, deletes and checks: each counts the larger of
// the stored and the new item.
func (s sizes) transactionUnits(t view.Table, actions []dynamo.Action) float64 {
	n := 0.0
	for i := range actions {
		size := 0
		switch a := &actions[i]; {
		case a.Put != nil:
			size = max(dynamo.SizeOfItem(a.Put.Item), s[itemID(t, a.Put.TableName, a.Put.Item)])
		case a.Delete != nil:
			size = s[itemID(t, a.Delete.TableName, a.Delete.Key)]
		}
		n += 2 * writeUnits(size)
	}
	return n
}

// readUnits returns the units of a consistent read of an item.
func readUnits(size int) float64 { return float64(max(1, (size+4095)/4096)) }

// writeUnits returns the units of a standard write of an item.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
