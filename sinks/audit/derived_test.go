package audit_test

import "testing"

// The embedded stores derive values from rows, groups and documents for their readers. If such a value was changed, the
// audit finds this, and a repair writes the value again.
func TestDifferencesOfWhatIsDerived(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.sql(1, `UPDATE "_tw_views" SET attributes = '{"total":1}' WHERE source = 'P0' AND view = 'products'`)
	w.sql(1, `UPDATE "_tw_views" SET attributes = NULL WHERE source = 'P1' AND view = 'products'`)
	w.sql(1, `UPDATE "_tw_views" SET attributes = '{}' WHERE source = 'P2' AND view = 'names'`)
	w.sql(1, `UPDATE "_tw_views" SET attributes = '{}' WHERE pk = 'TAG#x'`)
	const seen = `: attributes of the SQL view`
	w.want("products", `wrong row PK="PRODUCTS#S0" SK="P0"`+seen, `wrong row PK="PRODUCTS#S1" SK="P1"`+seen)
	w.want("names", `wrong row PK="NAME#N2" SK="P"`+seen)
	w.want("tags", `wrong group PK="TAG#x" SK="N"`+seen)
	w.repaired("products", "names", "tags")
	if n := w.text(`SELECT count(*) FROM "_tw_views" WHERE attributes IN ('{}', '{"total":1}') OR attributes IS NULL`); n != "0" {
		t.Errorf("readers of SQL see %s other rows", n)
	}

	id := func(item string) string {
		return `(SELECT doc FROM "_tws_documents" WHERE source IS NOT NULL AND id = '` + item + `')`
	}
	const (
		allValues = `SELECT group_concat(path || ' ' || hex(value) || ' ' || doc)
			FROM (SELECT * FROM "_tws_values" ORDER BY path, value, doc)`
		allWords = `SELECT group_concat(id) FROM (SELECT id FROM "_tws_words_docsize" ORDER BY id)`
	)
	values, words := w.text(allValues), w.text(allWords)
	w.sql(1, `DELETE FROM "_tws_values" WHERE doc = `+id("P0"))
	w.sql(1, `UPDATE "_tws_documents" SET entries = x'' WHERE doc = `+id("P1"))
	w.sql(1, `DELETE FROM "_tws_words" WHERE rowid =
		(SELECT min(id) FROM "_tws_words_docsize" WHERE id & 4294967295 = `+id("P2")+`)`)
	const found = `: words and values to search by`
	w.want("documents",
		`wrong document products/P0`+found, `wrong document products/P1`+found, `wrong document products/P2`+found)
	w.repaired("documents")
	if now := w.text(allValues); now != values {
		t.Errorf("after the repair the values are %s, and were %s", now, values)
	}
	if now := w.text(allWords); now != words {
		t.Errorf("after the repair the fields with words are %s, and were %s", now, words)
	}
}

// Tombstones have keys of their own. If someone replaces a row by a tombstone by hand, the audit reports the row as
// missing, and a repair writes the row.
func TestRepairOfBuriedRows(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.sql(1, `UPDATE "_tw_views" SET item = NULL, attributes = NULL WHERE source = 'P0' AND view = 'products'`)
	w.sql(1, `UPDATE "_tw_views" SET item = NULL, attributes = NULL WHERE source = 'P2' AND view = 'names'`)
	w.sql(1, `UPDATE "_tw_views" SET item = NULL, attributes = NULL WHERE pk = 'TAG#x'`)
	w.want("products", `missing row PK="PRODUCTS#S0" SK="P0"`)
	w.want("names", `missing row PK="NAME#N2" SK="P"`)
	w.want("tags", `missing group PK="TAG#x" SK="N"`)
	w.repaired("products", "names", "tags")
}
