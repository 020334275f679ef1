package dynamo

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
// cost of the change alone, without batching. For a view, batching does not change the cost. For an aggregate, a batch
// with several items of a group costs less, because it writes the group's row once.
//
// DynamoDB charges for the larger of the stored item and the new item. CostOf takes the stored item from the old image
// of the change; without an old image nothing is stored. It does not know the rows of groups, so it assumes that no
// other item counts in the group. CostOf makes no requests.
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
		return costOfGroups(op.Target(), c, ops), true
	}
	return Cost{}, false
}

// refusedCost returns the cost of a change that can never be written. err is the error of the change.
func refusedCost(err error) Cost {
	return Cost{Why: "the change goes to dead letters: " + err.Error()}
}

// FormatUnits formats a number of units with as few digits as possible.
func FormatUnits(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// costOfRows returns the cost of rows that guard themselves. Why also names the cost for the other value of
// `tombstones`.
func costOfRows(c *record.Change, ops []pipeline.Op) Cost {
	e := newEstimate(*ops[0].(*view.Op).Target)
	var rows []*view.Mutation
	unitsInPlace, putBytes := 0.0, 0 // units if tombstones are in place; bytes that are put into the table of rows
	for _, o := range ops {
		op := o.(*view.Op)
		rowSize, storedSize := e.rowSize(&op.Mutation), 0
		if stored, ok := op.Before(c); ok {
			storedSize = e.rowSize(&stored)
			e.addStoredRow(&stored)
		}
		unitsInPlace += writeUnits(max(rowSize, storedSize))
		if e.target.InPlace || !op.Mutation.Tombstone { // otherwise the tombstone is in the state table
			putBytes += rowSize
		}
		rows = append(rows, &op.Mutation)
	}
	unitsApart, requestsApart, err := e.costApart(rows)
	if err != nil {
		return refusedCost(err)
	}
	if e.target.InPlace {
		return Cost{WriteUnits: unitsInPlace, OtherTombstones: unitsApart,
			Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: apart", plural(len(ops), "conditional put"), putBytes,
				FormatUnits(unitsApart))}
	}
	return Cost{WriteUnits: unitsApart, OtherTombstones: unitsInPlace,
		Why: fmt.Sprintf("%s, %d bytes; %s with tombstones: in_place", requestsApart, putBytes,
			FormatUnits(unitsInPlace))}
}

// rowSize returns the size of a row, or of a tombstone in place, in bytes.
func (e *estimate) rowSize(m *view.Mutation) int {
	return dynamo.SizeOfItem(tableItem(e.target, m, m.Version.String(), someTime))
}

// addStoredRow notes that the row of m is stored before the change.
func (e *estimate) addStoredRow(m *view.Mutation) {
	row := rowWrite{mutation: m}
	if newRowWriter(e.db, e.target).setActions(&row) == nil { // if there is an error, the row was never stored
		e.addStored(row.actions[0])
	}
}

// costApart returns the write units of rows if tombstones are apart, and describes the requests.
func (e *estimate) costApart(rows []*view.Mutation) (units float64, requests string, err error) {
	w := newRowWriter(e.db, e.target)
	var actions []dynamo.Action
	for _, m := range rows {
		row := rowWrite{mutation: m}
		if err := w.setActions(&row); err != nil {
			return 0, "", err
		}
		actions = append(actions, row.actions[:]...)
	}
	units = e.transactionUnits(actions)
	switch {
	case len(rows) > 1:
		return units, "a transaction of both rows, a check and a tombstone", nil
	case rows[0].Tombstone:
		return units, "a transaction that deletes the row and puts its tombstone", nil
	case rows[0].LikelyNew:
		return units, "a transaction of the row and a check of its tombstone", nil
	default: // an update is one put, without a transaction
		return e.transactionUnits(actions[:1]) / 2, "1 conditional put", nil
	}
}

// costOfClaim returns the cost of a claim on a row that no other item claims.
func costOfClaim(c *record.Change, op *view.ClaimOp) Cost {
	if op.Idle() {
		return Cost{ReadUnits: 1, Why: "the guard is read; nothing is written unless the item had a row"}
	}
	e := newEstimate(*op.Target)
	cost := Cost{ReadUnits: 1} // for the guard
	oldRow, oldActions := e.oldClaim(c, op)
	if oldRow != "" {
		e.addStored(oldActions...)
		ownerRecord, claimItem := oldActions[1].Put.Item, oldActions[2].Put.Item // oldActions[0] puts the guard
		cost.ReadUnits += 1 + readUnits(dynamo.SizeOfItem(ownerRecord)+dynamo.SizeOfItem(claimItem))
	}

	leavesRow := oldRow != "" && oldRow != op.Row
	claimsNewRow := op.Row != "" && op.Row != oldRow
	var rows []state.RowClaimsWrite
	if leavesRow {
		rows = append(rows, state.RowClaimsWrite{Row: oldRow})
	}
	if op.Row != "" {
		rows = append(rows, ownedRow(op.Row, op.Claim))
	}
	if claimsNewRow {
		cost.ReadUnits += 2 // for the row, which no item claims, and for its claims
	}
	actions, err := e.itemActions(op.Row, op.Claim, rows...)
	if err != nil {
		return refusedCost(err)
	}
	cost.WriteUnits = e.transactionUnits(actions)
	cost.Why = "a transaction of the guard" + claimedItems(oldRow, op.Row) + ", read before"
	return cost
}

// oldClaim returns the row that the item claimed before the change, and the actions that stored the claim. The row is
// "" if the item claimed none.
func (e *estimate) oldClaim(c *record.Change, op *view.ClaimOp) (state.Row, []dynamo.Action) {
	row, claim, ok := op.Before(c)
	if !ok {
		return "", nil
	}
	actions, err := e.itemActions(row, claim, ownedRow(row, claim))
	if err != nil { // the claim was never stored
		return "", nil
	}
	return row, actions
}

// ownedRow returns the write of a row that no other item claims.
func ownedRow(row state.Row, claim state.Claim) state.RowClaimsWrite {
	return state.RowClaimsWrite{Row: row, Revision: someRevision, Claim: claim, Owner: claim}
}

// itemActions returns the actions that write the guard of a claim's item, and the actions that write rows. row is the
// row that the guard gets.
func (e *estimate) itemActions(
	row state.Row, claim state.Claim, rows ...state.RowClaimsWrite,
) ([]dynamo.Action, error) {
	m := e.db.NewMergedWrite(e.target.State())
	m.Add(&state.ItemWrite{Source: claim.Source, Guard: state.Guard{Version: claim.Version, Row: row}, Rows: rows})
	actions, _, err := claimActions(e.target, m)
	return actions, err
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

// costOfGroups returns the cost of updating the groups of an item.
func costOfGroups(t view.Target, c *record.Change, ops []pipeline.Op) Cost {
	write, oldContribution, ok := view.PlannedWrite(c, ops)
	if !ok {
		return Cost{ReadUnits: 1, Why: "the contribution is read; nothing is written unless the item counted before"}
	}
	e := newEstimate(t)
	cost := Cost{ReadUnits: e.addContribution(c, oldContribution)}
	contribution, err := e.db.SetContribution(e.target.State(), &write.Items[0])
	if err != nil {
		return refusedCost(err)
	}
	actions, memberCount := []dynamo.Action{contribution}, 0
	for i := range write.Groups {
		group := groupRowWrite{GroupChange: &write.Groups[i]}
		put, err := e.putAsOnlyItem(&group)
		if err != nil {
			return refusedCost(err)
		}
		actions = append(actions, put)
		cost.ReadUnits += groupReadUnits(&group)
		memberCount += len(group.Members)
	}
	cost.WriteUnits = e.transactionUnits(actions) + 2*float64(memberCount)
	cost.Why = "a transaction of the contribution, read before, and " + plural(len(write.Groups), "group row")
	if memberCount > 0 {
		cost.Why += " and " + plural(memberCount, "member") + " of what is a min, a max or a distinct"
	}
	return cost
}

// addContribution notes that the contribution of an item is stored before the change, unless it has no shares. It
// returns the read units of the contribution.
func (e *estimate) addContribution(c *record.Change, stored state.Contribution) float64 {
	if len(stored.Shares) == 0 {
		return 1
	}
	stored.Version = c.Version // all versions have the same size
	put, err := e.db.SetContribution(e.target.State(), &state.ContributionWrite{Source: c.Key, Next: stored})
	if err != nil { // it was never stored
		return 1
	}
	e.addStored(put)
	return readUnits(dynamo.SizeOfItem(put.Put.Item))
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

// putAsOnlyItem returns the put of a group's row, as if only the item of the change counted in the group.
func (e *estimate) putAsOnlyItem(g *groupRowWrite) (dynamo.Action, error) {
	var err error
	if g.ref, err = refOf(e.target.Table, g.Row); err != nil {
		return dynamo.Action{}, err
	}
	row := &groupRow{values: make(dynamo.Item)}
	if err := row.addAmounts(g.GroupChange); err != nil {
		return dynamo.Action{}, err
	}
	for _, m := range g.Members {
		row.epoch = someEpoch
		value, err := state.ParseSortable(m.Value)
		if err == nil && m.Kind != state.Distinct {
			row.values[m.Name] = sdkvalue.Of(value)
		} else {
			row.values[m.Name] = dynamo.N("1") // the number of different values
		}
	}
	w := groupWriter{target: e.target}
	return w.putAction(g, row, g.Shares), nil
}

// Placeholders for texts that are not known yet. All texts of a kind have the same size.
const (
	someBirth    = "birthbirthbirths"
	someRevision = "revisionrevisionrevisionrevision" // revision of the claims on a row
	someEpoch    = "EPOCHEPOCH"
	someTime     = 1_767_323_045 // expiry of a tombstone
)

// estimate computes the cost of writes to a view table.
type estimate struct {
	db     *dynamo.DB // builds actions; it makes no requests
	target view.Target
	// sizes of the items that are stored before the change, in bytes, by [dynamo.Ref.ID]
	storedSizes map[string]int
}

func newEstimate(t view.Target) *estimate {
	db, err := dynamo.New(dynamo.Options{Client: noClient{}, Table: "tablewake-state", Pipeline: "p"})
	if err != nil {
		panic(err) // the options are valid
	}
	t.Birth = someBirth
	return &estimate{db, t, make(map[string]int)}
}

type noClient struct{ dynamo.Client }

// refOf returns the reference to the item that a put writes.
func (e *estimate) refOf(put *types.Put) dynamo.Ref {
	if *put.TableName != e.target.Name {
		return e.db.RefOf(put.Item)
	}
	ref := dynamo.Ref{Table: *put.TableName, Key: dynamo.Item{e.target.PK: put.Item[e.target.PK]}}
	if e.target.SK != "" {
		ref.Key[e.target.SK] = put.Item[e.target.SK]
	}
	return ref
}

// addStored notes that the items of puts are stored before the change. It ignores other actions.
func (e *estimate) addStored(actions ...dynamo.Action) {
	for _, a := range actions {
		if a.Put != nil {
			e.storedSizes[e.refOf(a.Put).ID()] = dynamo.SizeOfItem(a.Put.Item)
		}
	}
}

// transactionUnits returns the write units of a transaction of puts, deletes and checks. Each action costs the units of
// the larger of the stored and the new item.
func (e *estimate) transactionUnits(actions []dynamo.Action) float64 {
	units := 0.0
	for _, a := range actions {
		size := 0
		switch {
		case a.Put != nil:
			size = max(dynamo.SizeOfItem(a.Put.Item), e.storedSizes[e.refOf(a.Put).ID()])
		case a.Delete != nil:
			size = e.storedSizes[dynamo.Ref{Table: *a.Delete.TableName, Key: a.Delete.Key}.ID()]
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
