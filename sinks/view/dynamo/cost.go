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

// Cost is the cost of a write in DynamoDB's units. It does not include indexes of the table and failed tries.
type Cost struct {
	// WriteUnits is the number of write units. A standard write uses one for each 1 KB or part of it. A write in a
	// transaction uses two.
	WriteUnits float64
	ReadUnits  float64 // read units: a consistent read uses one for each 4 KB or part of it
	Why        string  // description of the requests

	OtherTombstones float64 // write units if `tombstones` had the other value; 0 if that changes nothing
}

// CostOf returns the cost of the planned ops of a change. It returns false if the ops write no rows. The result is the
// cost of the change alone, without batching. A view always has this cost. An aggregate has a lower cost for a batch
// with several items of a group, because it writes the group's row once.
//
// DynamoDB charges for the larger of the stored item and the new item. CostOf takes the stored item from the old image
// of the change; without an old image nothing is stored. It does not know the rows of groups, and assumes that the
// group has only this item. CostOf makes no requests.
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

// costOfRows returns the cost of rows that guard themselves. Why also names the cost for the other value of
// `tombstones`.
func costOfRows(c *record.Change, ops []pipeline.Op) Cost {
	t := withBirth(*ops[0].(*view.Op).Target)
	var rows []plannedRow
	for _, o := range ops {
		op := o.(*view.Op)
		row := plannedRow{next: &op.Mutation}
		if stored, ok := op.Before(c); ok {
			row.stored = &stored
		}
		rows = append(rows, row)
	}

	inPlace := 0.0
	for _, row := range rows {
		inPlace += writeUnits(max(rowSize(t, row.next), rowSize(t, row.stored)))
	}
	apart, err := apartUnits(t, rows)
	if err != nil {
		return refusedCost(err)
	}

	size := 0 // size of what is put into the table of rows
	for _, row := range rows {
		if t.InPlace || !row.next.Tombstone { // otherwise the tombstone is in the state table
			size += rowSize(t, row.next)
		}
	}
	if t.InPlace {
		return Cost{WriteUnits: inPlace, OtherTombstones: apart,
			Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: apart", plural(len(ops), "conditional put"), size,
				FormatUnits(apart))}
	}
	return Cost{WriteUnits: apart, OtherTombstones: inPlace,
		Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: in_place", requestsApart(rows), size, FormatUnits(inPlace))}
}

// plannedRow is a planned mutation with the row that it replaces.
type plannedRow struct {
	next   *view.Mutation
	stored *view.Mutation // nil if nothing is stored
}

// isUpdate reports whether a row alone is written by one conditional put if tombstones are apart.
func isUpdate(rows []plannedRow) bool {
	return len(rows) == 1 && !rows[0].next.Tombstone && !rows[0].next.LikelyNew
}

// rowSize returns the size of a row, or of a tombstone in place, in bytes; 0 if m is nil.
func rowSize(t view.Target, m *view.Mutation) int {
	if m == nil {
		return 0
	}
	return dynamo.SizeOfItem(tableItem(t, m, m.Version.String(), someTime))
}

// refusedCost returns the cost of a change that can never be written. err is the error of the change.
func refusedCost(err error) Cost {
	return Cost{Why: "the change goes to dead letters: " + err.Error()}
}

// apartUnits returns the write units of rows if tombstones are apart.
func apartUnits(t view.Target, rows []plannedRow) (float64, error) {
	w := newRowWriter(offlineDB(), t)
	storedSizes := make(sizes)
	for _, row := range rows {
		stored := rowWrite{mutation: row.stored}
		if row.stored != nil && w.setActions(&stored) == nil { // if there is an error, the row was never stored
			storedSizes.addPuts(t.Table, stored.actions[:1])
		}
	}

	var actions []dynamo.Action
	for _, row := range rows {
		next := rowWrite{mutation: row.next}
		if err := w.setActions(&next); err != nil {
			return 0, err
		}
		actions = append(actions, next.actions[:]...)
	}
	if isUpdate(rows) {
		return storedSizes.transactionUnits(t.Table, actions[:1]) / 2, nil
	}
	return storedSizes.transactionUnits(t.Table, actions), nil
}

// requestsApart describes the requests that write rows if tombstones are apart.
func requestsApart(rows []plannedRow) string {
	switch {
	case isUpdate(rows):
		return "1 conditional put"
	case len(rows) > 1:
		return "a transaction of both rows, a check and a tombstone"
	case rows[0].next.Tombstone:
		return "a transaction that deletes the row and puts its tombstone"
	default:
		return "a transaction of the row and a check of its tombstone"
	}
}

// FormatUnits formats a number of units with as few digits as possible.
func FormatUnits(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// withBirth returns the target with a placeholder for its birth. All births have the same size.
func withBirth(t view.Target) view.Target {
	t.Birth = someBirth
	return t
}

const someBirth = "birthbirthbirths"

// someRevision is a placeholder for a revision of the claims on a row. All revisions have the same size.
const someRevision = "revisionrevisionrevisionrevision"

// someTime is a placeholder for the expiry of a tombstone. All possible times have the same size.
const someTime = 1_767_323_045

// costOfClaim returns the cost of a claim on a row that no other item claims.
func costOfClaim(c *record.Change, op *view.ClaimOp) Cost {
	if op.Idle() {
		return Cost{ReadUnits: 1, Why: "the guard is read; nothing is written unless the item had a row"}
	}
	t := withBirth(*op.Target)
	storedSizes := make(sizes)
	cost := Cost{ReadUnits: 1} // for the guard
	oldRow, oldActions := oldClaim(t, c, op)
	if oldRow != "" {
		storedSizes.addPuts(t.Table, oldActions)
		ownerRecord, claimItem := oldActions[1].Put.Item, oldActions[2].Put.Item // oldActions[0] puts the guard
		cost.ReadUnits += 1 + readUnits(dynamo.SizeOfItem(ownerRecord)+dynamo.SizeOfItem(claimItem))
	}

	write := state.ItemWrite{Source: op.Claim.Source, Guard: state.Guard{Version: op.Claim.Version, Row: op.Row}}
	if oldRow != "" && oldRow != op.Row {
		write.Rows = append(write.Rows, state.RowClaimsWrite{Row: oldRow})
	}
	if op.Row != "" {
		write.Rows = append(write.Rows, state.RowClaimsWrite{Row: op.Row, Revision: someRevision, Claim: op.Claim,
			Owner: op.Claim})
	}
	if op.Row != "" && op.Row != oldRow {
		cost.ReadUnits += 2
	}
	actions, err := itemActions(t, &write)
	if err != nil {
		return refusedCost(err)
	}
	cost.WriteUnits = storedSizes.transactionUnits(t.Table, actions)
	cost.Why = "a transaction of the guard" + claimedItems(oldRow, op.Row) + ", read before"
	return cost
}

// oldClaim returns the row that the item claimed before the change, and the actions that stored the claim. The row is
// "" if the item claimed none.
func oldClaim(t view.Target, c *record.Change, op *view.ClaimOp) (state.Row, []dynamo.Action) {
	row, claim, ok := op.Before(c)
	if !ok {
		return "", nil
	}
	actions, err := itemActions(t, &state.ItemWrite{
		Source: claim.Source, Guard: state.Guard{Version: claim.Version, Row: row},
		Rows: []state.RowClaimsWrite{{Row: row, Revision: someRevision, Claim: claim, Owner: claim}},
	})
	if err != nil { // the claim was never stored
		return "", nil
	}
	return row, actions
}

// claimedItems describes the items that a claim writes besides the guard. oldRow is the row that the item claimed
// before, and newRow the row that it claims now; "" if it claims none.
func claimedItems(oldRow, newRow state.Row) string {
	switch {
	case oldRow == "" && newRow == "":
		return " alone"
	case newRow == "":
		return ", and of the row, its seat and the claim, which go"
	case oldRow != "" && oldRow != newRow:
		return ", and of both rows, their seats and the claims"
	default:
		return ", the row, its seat and the claim"
	}
}

// itemActions returns the actions of an item's write.
func itemActions(t view.Target, w *state.ItemWrite) ([]dynamo.Action, error) {
	m := offlineDB().NewMergedWrite(t.State())
	m.Add(w)
	actions, _, err := claimActions(t, m)
	return actions, err
}

// costOfGroups returns the cost of updating the groups of an item.
func costOfGroups(t view.Target, c *record.Change, ops []pipeline.Op) Cost {
	write, oldContribution, ok := view.PlannedWrite(c, ops)
	if !ok {
		return Cost{ReadUnits: 1, Why: "the contribution is read; nothing is written unless the item counted before"}
	}
	cost := Cost{ReadUnits: 1}
	writer := groupWriter{Store: &Store{DB: offlineDB()}, target: t, stateTarget: t.State(), write: &write}
	storedSizes := make(sizes)
	if len(oldContribution.Shares) > 0 {
		oldContribution.Version = c.Version // all versions have the same size
		oldWrite := state.ContributionWrite{Source: c.Key, Next: oldContribution}
		if action, err := writer.SetContribution(writer.stateTarget, &oldWrite); err == nil {
			storedSizes.addPuts(t.Table, []dynamo.Action{action})
			cost.ReadUnits = readUnits(dynamo.SizeOfItem(action.Put.Item))
		}
	}

	var actions []dynamo.Action
	for i := range write.Items {
		action, err := writer.SetContribution(writer.stateTarget, &write.Items[i])
		if err != nil {
			return refusedCost(err)
		}
		actions = append(actions, action)
	}
	members := 0
	for i := range write.Groups {
		row := groupRowWrite{GroupChange: &write.Groups[i]}
		put, err := writer.newRow(&row)
		if err != nil {
			return refusedCost(err)
		}
		actions = append(actions, put)
		cost.ReadUnits += groupReadUnits(&row)
		members += len(row.Members)
	}
	cost.WriteUnits = storedSizes.transactionUnits(t.Table, actions) + 2*float64(members)
	cost.Why = "a transaction of the contribution, read before, and " + plural(len(write.Groups), "group row")
	if members > 0 {
		cost.Why += " and " + plural(members, "member") + " of what is a min, a max or a distinct"
	}
	return cost
}

// groupReadUnits returns the read units of a change of a group. The row is read unless the change is added in place,
// and one item is read for each member of a distinct.
func groupReadUnits(g *groupRowWrite) (units float64) {
	if !g.addable() {
		units++
	}
	for _, m := range g.Members {
		if m.Kind == state.Distinct {
			units++
		}
	}
	return units
}

// newRow returns the put of a group's row that has only the change of g.
func (c *groupWriter) newRow(g *groupRowWrite) (dynamo.Action, error) {
	var err error
	if g.ref, err = refOf(c.target.Table, g.Row); err != nil {
		return dynamo.Action{}, err
	}
	row := &groupRow{values: make(dynamo.Item)}
	if err := row.addAmounts(g.GroupChange); err != nil {
		return dynamo.Action{}, err
	}
	for _, m := range g.Members {
		row.epoch = someEpoch
		row.values[m.Name] = dynamo.N("1") // the value of a distinct
		if v, err := state.ParseSortable(m.Value); err == nil && m.Kind != state.Distinct {
			row.values[m.Name] = sdkvalue.Of(v)
		}
	}
	return c.putAction(g, row, g.Shares), nil
}

const someEpoch = "EPOCHEPOCH"

// offlineDB returns a DB that builds actions. It makes no requests.
func offlineDB() *dynamo.DB {
	db, err := dynamo.New(dynamo.Options{Client: noClient{}, Table: "tablewake-state", Pipeline: "p"})
	if err != nil {
		panic(err) // the options are valid
	}
	return db
}

type noClient struct{ dynamo.Client }

// sizes has the sizes of the stored items in bytes, by [dynamo.Ref.ID].
type sizes map[string]int

// refOfItem returns the reference to an item of the table of rows or of the state table.
func refOfItem(t view.Table, table string, item dynamo.Item) dynamo.Ref {
	if table != t.Name {
		return offlineDB().RefOf(item)
	}
	ref := dynamo.Ref{Table: table, Key: dynamo.Item{t.PK: item[t.PK]}}
	if t.SK != "" {
		ref.Key[t.SK] = item[t.SK]
	}
	return ref
}

// addPuts adds the items that the puts of actions store.
func (s sizes) addPuts(t view.Table, actions []dynamo.Action) {
	for i := range actions {
		if put := actions[i].Put; put != nil {
			s[refOfItem(t, *put.TableName, put.Item).ID()] = dynamo.SizeOfItem(put.Item)
		}
	}
}

// transactionUnits returns the write units of a transaction of puts, deletes and checks. Each action costs the units of
// the larger of the stored and the new item.
func (s sizes) transactionUnits(t view.Table, actions []dynamo.Action) float64 {
	units := 0.0
	for i := range actions {
		size := 0
		switch a := &actions[i]; {
		case a.Put != nil:
			size = max(dynamo.SizeOfItem(a.Put.Item), s[refOfItem(t, *a.Put.TableName, a.Put.Item).ID()])
		case a.Delete != nil:
			size = s[dynamo.Ref{Table: *a.Delete.TableName, Key: a.Delete.Key}.ID()]
		}
		units += 2 * writeUnits(size)
	}
	return units
}

// readUnits returns the read units of a consistent read of an item of size bytes.
func readUnits(size int) float64 { return float64(max(1, (size+4095)/4096)) }

// writeUnits returns the write units of a standard write of an item of size bytes.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
