package audit_test

import "testing"

// The audit finds documents that are missing, wrong or too many. Another spelling of the same number is no difference.
func TestDifferencesOfDocuments(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.sql(1, `DELETE FROM "_tws_documents" WHERE id = 'P0'`)
	w.sql(1, `UPDATE "_tws_documents" SET source = replace(source, '10.5', '1.051e1') WHERE id = 'P1'`)
	w.sql(1, `UPDATE "_tws_documents" SET source = replace(source, '20.5', '2.05e1') WHERE id = 'P2'`) // the same number
	w.sql(1, `UPDATE "_tws_documents" SET id = 'P99' WHERE id = 'P3'`)
	w.change("P8", "")
	w.want("documents",
		`missing document products/P0`,
		`wrong document products/P1: Price`,
		`missing document products/P3`,
		`extra document products/P8`,
		`extra document products/P99`,
	)
	w.repaired("documents")
}

// lineIndex has two sinks with a document for each line of an item. The first has one index, and the second has an
// index for each name.
const lineIndex = `
version: 1
name: shop
source: {table: shop}
sinks:
  lines: {search: {index: lines, for_each: {path: Lines, by: sku}, when: each.qty > 0}}
  named: {search: {index: 'lines-{Name|index_name}', create: on_demand, max_indexes: 9, for_each: {path: Lines, by: sku}, fields: {include: [Lines.sku]}}}
`

// The output of a search sink with for_each has no differences. The audit finds and repairs each document that was
// changed by hand or misses a change.
func TestDifferencesOfElementDocuments(t *testing.T) {
	w := newWorld(t, lineIndex)
	w.put("P0", order("zero", "x", "y"))
	w.put("P1", order("one", "x", "y", "z"))
	w.put("P1", order("one", "y", "x"))
	w.put("P2", order("two", "x"))
	w.put("P3", order("three", "x"))
	w.put("P3", "")
	w.want("lines")
	w.want("named")

	w.sql(1, `DELETE FROM "_tws_documents" WHERE id = 'P0::x' AND "index" = (SELECT id FROM "_tws_indexes" WHERE name = 'lines')`)
	w.sql(1, `UPDATE "_tws_documents" SET source = replace(source, '"one"', '"uno"') WHERE id = 'P1::x' AND "index" = (SELECT id FROM "_tws_indexes" WHERE name = 'lines')`)
	w.change("P0", order("zero", "x", "y", "v")) // the sink missed the new line
	w.change("P2", "")
	w.want("lines",
		`missing document lines/P0::x`,
		`missing document lines/P0::v`,
		`wrong document lines/P1::x: Name`,
		`extra document lines/P2::x`,
	)
	w.want("named", `missing document lines-zero/P0::v`, `extra document lines-two/P2::x`)
	w.repaired("lines", "named")
	w.put("P0", order("zero", "w"))
	w.want("lines")
	w.want("named")
}

// If a change arrives between the audit and the repair, the repair writes nothing, and the output is that of the
// change.
func TestDifferencesOfElementDocuments_MovedBeforeTheirRepair(t *testing.T) {
	w := newWorld(t, lineIndex)
	w.put("P0", order("zero", "x"))
	w.sql(1, `UPDATE "_tws_documents" SET source = replace(source, '"zero"', '"null"') WHERE id = 'P0::x' AND "index" = (SELECT id FROM "_tws_indexes" WHERE name = 'lines')`)
	w.movesBeforeRepair("lines", func() { w.put("P0", order("zero", "y")) })
	w.want("lines")
}
