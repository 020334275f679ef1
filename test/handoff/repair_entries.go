package handoff

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// anyRow returns a stored row of a target; false if there is none.
func (w *RepairWorld) anyRow(t view.Target) (view.Row, bool) {
	var rows []view.Row
	for r, err := range w.rowsOf().ListRows(w.ctx, t, state.Listing{}) {
		if err != nil {
			w.failf("%v", err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return view.Row{}, false
	}
	return rows[w.rand.IntN(len(rows))], true
}

// The damages of a row, in the order in which they are drawn. Most sinks draw one of the first four.
const (
	changeRow = iota
	removeRow
	moveRow
	alsoMoveRow // a row is moved twice as often
	removeGuard
	changeGuard
	rowDamages
)

// damageRows damages a row, or something that belongs to a row. It returns what it did; "" if it did nothing.
func (w *RepairWorld) damageRows(s *sink, t view.Target) string {
	r, ok := w.anyRow(t)
	if !ok {
		return ""
	}
	pk, _ := r.PK.Text()
	sk, _ := r.SK.Text()
	claims := slices.Contains([]string{"claims, dead_letter", "claims, keep_first"}, s.kind)
	choice := w.rand.IntN(removeGuard)
	switch {
	case claims && w.rules.Repair.Guards:
		choice = w.rand.IntN(rowDamages)
	case claims && w.stores.byHand != nil && w.rand.IntN(2) == 0:
		return w.damageClaim(t)
	}
	if w.shape == changed || w.stores.byHand == nil {
		choice = changeRow
	}
	switch choice {
	case changeRow:
		w.changeRow(t, r)
		return "a row was changed"
	case removeRow:
		w.byHand(`DELETE FROM "_tw_rows" WHERE pk = ? AND sk = ?`, pk, sk)
		return "a row was removed"
	case moveRow, alsoMoveRow:
		other := w.otherRow(s, pk)
		if w.byHand(`UPDATE OR IGNORE "_tw_rows" SET pk = ?1, item = json_set(item, '$.PK.S', ?1) WHERE pk = ?2 AND sk = ?3`, other, pk, sk) == 0 {
			return ""
		}
		return "a row was moved"
	case removeGuard:
		if w.byHand(`DELETE FROM "_tws_guards" WHERE item = ? AND target = (SELECT id FROM "_tws_targets" WHERE view = ? AND birth = ?)`, string(r.Source), t.View, w.id) == 0 {
			return ""
		}
		return "a guard was removed"
	default:
		other := item.StringValue(w.otherRow(s, pk))
		row, err := state.MakeRow(other, r.SK)
		if err != nil {
			w.failf("%v", err)
		}
		if w.byHand(`UPDATE "_tws_guards" SET row = ? WHERE item = ? AND target = (SELECT id FROM "_tws_targets" WHERE view = ? AND birth = ?)`, string(row), string(r.Source), t.View, w.id) == 0 {
			return ""
		}
		return "a guard was changed"
	}
}

// changeRow changes the content of a row, and keeps its version.
func (w *RepairWorld) changeRow(t view.Target, r view.Row) {
	row, err := state.MakeRow(r.PK, r.SK)
	if err != nil {
		w.failf("%v", err)
	}
	stored, err := w.rowsOf().StoredRows(w.ctx, t, []state.Row{row})
	if err != nil {
		w.failf("%v", err)
	}
	m := view.Mutation{PK: r.PK, SK: r.SK, Source: r.Source, Version: r.Version}
	m.Attributes = []state.Column{{Name: "total", Value: item.StringValue("?")}}
	w.mustChange(w.rowsOf().RepairRows(w.ctx, t, []view.RowRepair{{Expected: stored[0], Next: m}}))
}

// damageClaim removes or changes claims on the rows of a view, or their owners. The rows themselves do not change.
func (w *RepairWorld) damageClaim(t view.Target) string {
	const waits = ` WHERE target = (SELECT id FROM "_tws_targets" WHERE view = ? AND birth = ?)
AND item <> (SELECT holder FROM "_tws_seats" s WHERE s.target = "_tws_claims".target AND s.row = "_tws_claims".row)`
	const owns = ` WHERE target = (SELECT id FROM "_tws_targets" WHERE view = ? AND birth = ?)
AND item = (SELECT holder FROM "_tws_seats" s WHERE s.target = "_tws_claims".target AND s.row = "_tws_claims".row)`
	const seats = ` WHERE target = (SELECT id FROM "_tws_targets" WHERE view = ? AND birth = ?)`
	damages := []struct{ what, sql string }{
		{"a claim that waits was removed", `DELETE FROM "_tws_claims"` + waits},
		{"a claim that waits was changed", `UPDATE "_tws_claims" SET attributes = json_set(attributes, '$.who.S', '?')` + waits},
		{"the claim of an owner was removed", `DELETE FROM "_tws_claims"` + owns},
		{"a seat was removed", `DELETE FROM "_tws_seats"` + seats},
		{"a seat was changed", `UPDATE "_tws_seats" SET holder = ''` + seats},
	}
	if d := damages[w.rand.IntN(len(damages))]; w.byHand(d.sql, t.View, w.id) > 0 {
		return d.what
	}
	return ""
}

// otherRow returns the partition key of another row that an item could have.
func (w *RepairWorld) otherRow(s *sink, pk string) string {
	values := []string{"paid", "shipped"}
	if s.kind == "claims, dead_letter" || s.kind == "claims, keep_first" {
		values = []string{"x", "y"}
	}
	if other := w.prefix(s.name) + values[w.rand.IntN(2)]; other != pk && s.kind != "rows that never move" {
		return other
	}
	return w.prefix(s.name) + "elsewhere"
}

func (w *RepairWorld) mustChange(rs []view.Result, err error) {
	if err != nil || rs[0] != (view.Result{}) {
		w.failf("what damages a sink fails: %+v, %v", rs, err)
	}
}

// damageAggregate damages a contribution or a group of an aggregate. It never makes a group hold less than the
// contributions of its items. If it did, a change of the stream could subtract more than the group holds. Such a change
// fails until the group is repaired.
func (w *RepairWorld) damageAggregate(a *view.Aggregate) string {
	rows, t := w.rowsOf(), a.Target()
	choice := w.rand.IntN(6) // the first three change, the others remove, and the third of each is about a group
	if w.stores.byHand == nil || w.shape == changed {
		choice = w.rand.IntN(3)
	}
	removes, isOfGroup := choice > 2, choice%3 == 2
	if isOfGroup {
		return w.damageGroup(a, removes)
	}
	var all []state.ItemContribution
	for c, err := range rows.ListContributions(w.ctx, t.State(), state.Listing{}) {
		if err != nil {
			w.failf("%v", err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return ""
	}
	c := all[w.rand.IntN(len(all))]
	if removes {
		if w.byHand(`DELETE FROM "_tws_contributions" WHERE item = ? AND target = (SELECT id FROM "_tws_targets" WHERE view = ? AND birth = ?)`, string(c.Item), t.View, w.id) == 0 {
			return ""
		}
		return "a contribution was removed"
	}
	now := c.Contribution
	now.Shares = now.Shares[:w.rand.IntN(len(now.Shares))]
	write := state.ContributionWrite{Source: c.Item, Expected: c.Contribution, Next: now}
	w.mustChange(rows.Contribute(w.ctx, t, []state.GroupWrite{{Items: []state.ContributionWrite{write}}}))
	return "a contribution was changed"
}

func (w *RepairWorld) damageGroup(a *view.Aggregate, remove bool) string {
	rows, t := w.rowsOf(), a.Target()
	var all []view.Group
	for g, err := range rows.ListGroups(w.ctx, t, a.Values(), state.Listing{}) {
		if err != nil {
			w.failf("%v", err)
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		return ""
	}
	g := all[w.rand.IntN(len(all))]
	if remove {
		pk, sk, err := g.Row.Decode()
		if err != nil {
			w.failf("%v", err)
		}
		p, _ := pk.Text()
		s, _ := sk.Text()
		w.byHand(`DELETE FROM "_tw_rows" WHERE pk = ? AND sk = ?`, p, s)
		return "a group was removed"
	}
	now := g
	now.Shares++
	now.Sums = slices.Clone(g.Sums)
	for i := range now.Sums {
		now.Sums[i].Amount = now.Sums[i].Amount.Add(now.Sums[i].Amount)
	}
	now.Members = slices.Clone(g.Members)
	if len(now.Members) > 0 {
		now.Members[0].ID += "?"
		now.Members = append(now.Members, g.Members[0])
	}
	w.mustChange(rows.RepairGroups(w.ctx, t, []view.GroupRepair{{Expected: g, Next: now}}))
	return "a group was changed"
}

func (w *RepairWorld) damageDocuments(s *sink) string {
	documents := w.documentsOf()
	type found struct {
		index string
		search.ListedDocument
	}
	var all []found
	for _, index := range w.indexesOf(s.name) {
		for d, err := range documents.ListDocuments(w.ctx, index, state.Listing{}) {
			if errors.Is(err, search.ErrNoIndex) {
				break
			}
			if err != nil {
				w.failf("%v", err)
			}
			all = append(all, found{index, d})
		}
	}
	if len(all) == 0 {
		return ""
	}
	d := all[w.rand.IntN(len(all))]
	m := search.Mutation{Birth: w.id, Index: d.index, ID: d.ID, Routing: d.Routing, Version: d.Version}
	m.Doc = fmt.Appendf(nil, `{"_tw":{"version":%q,"birth":%q},"Total":9}`, d.Version, w.id)
	done := "a document was changed"
	switch choice := w.rand.IntN(3); {
	case choice == 1 && w.shape == damaged:
		m, done = search.Tombstone(pipelineName, w.id, d.index, d.ID, d.Routing, d.Version), "a document was removed"
	case choice == 2 && w.shape == damaged && w.stores.byHand != nil:
		w.deleteDocument(d.index, d.ID)
		return "a document was deleted"
	}
	rs, err := documents.RepairDocuments(w.ctx, []search.DocumentRepair{{Expected: d.StoredDocument, Next: m}})
	if err != nil || rs[0].Err != nil || rs[0].Overtaken {
		w.failf("what damages a document fails: %+v, %v", rs, err)
	}
	return done
}

// deleteDocument deletes a document, with its version.
func (w *RepairWorld) deleteDocument(index, id string) {
	const of = `doc = (SELECT d.doc FROM "_tws_documents" d JOIN "_tws_indexes" i ON i.id = d."index" WHERE i.name = ? AND d.id = ?)`
	for _, statement := range []string{
		`DELETE FROM "_tws_values" WHERE ` + of,
		`DELETE FROM "_tws_words" WHERE rowid & 4294967295 ` + of[len("doc "):],
		`DELETE FROM "_tws_documents" WHERE ` + of,
	} {
		if _, err := w.stores.byHand[1].ExecContext(w.ctx, statement, index, id); err != nil {
			w.failf("%s: %v", statement, err)
		}
	}
}
