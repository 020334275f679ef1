package audit_test

import "testing"

// Documents.
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
