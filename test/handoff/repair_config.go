package handoff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// repairable has the kinds of sinks that a repair can restore, by name. The values are their configurations as YAML. W
// stands for the id of the world, and after when: for the condition. A sink that keeps the contributions of expired
// items is missing, because nothing shows which items these were. A sink with on_collision: last is also missing,
// because no item shows which claim is the latest.
var repairable = map[string]string{
	"rows apart":            `apart: {view: {when: W, table: rows, key: {PK: 'W-apart#{Status}', SK: '{@key}'}, attributes: {total: '{Total}', who: '{Status?} {PK}'}}}`,
	"rows in place":         `place: {view: {when: W, table: rows, tombstones: in_place, key: {PK: 'W-place#{Status}', SK: '{@key}'}, attributes: {total: '{Total}', who: '{Status?} {PK}'}}}`,
	"rows that never move":  `fixed: {view: {when: W, table: rows, key: {PK: 'W-fixed#', SK: '{@key}'}, attributes: {total: '{Total}', who: '{Status?} {PK}'}}}`,
	"claims, dead_letter":   `claims-dead_letter: {view: {when: W, table: rows, key: {PK: 'W-claims-dead_letter#{Email}', SK: ROW}, attributes: {total: '{Total}', who: '{Status?} {PK}'}, on_collision: dead_letter}}`,
	"claims, keep_first":    `claims-keep_first: {view: {when: W, table: rows, key: {PK: 'W-claims-keep_first#{Email}', SK: ROW}, attributes: {total: '{Total}', who: '{Status?} {PK}'}, on_collision: keep_first}}`,
	"rows of elements":      `rows-of-elements: {view: {when: W, table: rows, for_each: Lines, key: {PK: 'W-rows-of-elements#', SK: '{@key}#{@each}'}, attributes: {total: '{Total}', who: '{Status?} {PK}'}}}`,
	"aggregate":             `sum: {aggregate: {when: W, table: rows, group: {PK: 'W-sum#{Status}', SK: ALL}, values: {n: count, sum: {sum: Total}, lo: {min: Total}, hi: {max: Total}, distinct: {distinct: Email}}, on_ttl_delete: retract}}`,
	"aggregate of elements": `elements: {aggregate: {when: W, table: rows, group: {PK: 'W-elements#{each.sku}', SK: ALL}, for_each: Lines, shards: 2, values: {n: count, sum: {sum: each.qty}, lo: {min: each.qty}, hi: {max: each.qty}, distinct: {distinct: PK}}, on_ttl_delete: retract}}`,
	"documents":             `docs: {search: {when: W, index: 'W-docs'}}`,
	"documents that move":   `moving: {search: {when: W, index: 'W-moving-{Status}', create: on_demand}}`,
	"documents of elements": `lines: {search: {when: W, index: 'W-lines', for_each: Lines}}`,
}

// openAudit opens the sinks of the world for audits and repairs.
func (w *RepairWorld) openAudit() []audit.Sink {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nname: %s\nsource: {table: %s}\nsinks:\n", pipelineName, sinktest.Table)
	for i := range w.sinks {
		text := strings.ReplaceAll(repairable[w.sinks[i].kind], "when: W", "when: item.Type == 'Order'")
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(text, "W-", w.id+"-"))
	}
	cfg, err := config.Parse("world.yaml", []byte(b.String()), nil)
	if err != nil {
		w.failf("%v\n%s", err, b.String())
	}
	opened, err := audit.Open(w.ctx, cfg, auditStores{w: w}, audit.Options{AllowUnfilled: true, GroupConcurrency: 1})
	if err != nil {
		w.failf("%v", err)
	}
	for i := range w.sinks {
		if a, ok := w.sinks[i].live.(*view.Aggregate); ok {
			w.valuesOf[a.Target().View] = a.Values()
		}
	}
	return opened
}

// rowsOf returns the store of rows, whose calls do not pause.
func (w *RepairWorld) rowsOf() RepairableRows {
	rows, ok := w.stores.rows.(RepairableRows)
	if !ok {
		w.failf("%T cannot be repaired", w.stores.rows)
	}
	return rows
}

func (w *RepairWorld) documentsOf() RepairableDocuments {
	documents, ok := w.stores.documents.(RepairableDocuments)
	if !ok {
		w.failf("%T cannot be repaired", w.stores.documents)
	}
	return documents
}

func (w *RepairWorld) pausedRows() pausedRows { return pausedRows{w.rowsOf(), w} }

func (w *RepairWorld) pausedDocuments(prefix string) pausedDocuments {
	return pausedDocuments{w.documentsOf(), w, prefix}
}

// indexesOf returns the indexes with a prefix.
func (w *RepairWorld) indexesOf(prefix string) []string {
	all := []string{w.id + "-docs", w.id + "-moving-paid", w.id + "-moving-shipped", w.id + "-lines"}
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// newWriter makes another sink of a kind, as another process would.
func (w *RepairWorld) newWriter(name string) planWriter {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	underlying := w.stores
	paused := *w.stores
	paused.rows, paused.documents = w.pausedRows(), w.pausedDocuments("")
	w.stores = &paused
	defer func() { w.stores = underlying }()
	s, err := kinds[i].make(&w.World)
	if err != nil {
		w.failf("%s: %v", name, err)
	}
	return s.live
}
