package sqlite_test

import (
	"encoding/json"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	statesqlite "github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

func TestRepairs(t *testing.T) {
	viewtest.RunRepairs(t, viewtest.RepairSuite{Open: openAs[viewtest.StateStore], Editor: hand{}})
}

// hand changes table rows whose keys are texts, as a person would.
type hand struct{}

func (hand) exec(t *testing.T, s viewtest.StateStore, query string, args ...any) {
	t.Helper()
	err := s.(*sqlite.Store).Write(t.Context(), func(w *statesqlite.Writer) error { return w.Exec(query, args...) })
	if err != nil {
		t.Fatal(err)
	}
}

// key returns the key columns of a row.
func (hand) key(t *testing.T, row state.Row) (pk, sk string) {
	t.Helper()
	p, s, err := row.Decode()
	if err != nil {
		t.Fatal(err)
	}
	pk, _ = p.Text()
	sk, _ = s.Text()
	return pk, sk
}

func (h hand) Remove(t *testing.T, s viewtest.StateStore, table view.Table, row state.Row) (putBack func()) {
	t.Helper()
	pk, sk := h.key(t, row)
	h.exec(t, s, `CREATE TABLE IF NOT EXISTS "taken" AS SELECT * FROM "_tw_`+table.Name+`" WHERE false`)
	h.exec(t, s, `INSERT INTO "taken" SELECT * FROM "_tw_`+table.Name+`" WHERE pk = ? AND sk = ?`, pk, sk)
	h.exec(t, s, `DELETE FROM "_tw_`+table.Name+`" WHERE pk = ? AND sk = ?`, pk, sk)
	return func() {
		h.exec(t, s, `INSERT OR REPLACE INTO "_tw_`+table.Name+`" SELECT * FROM "taken" WHERE pk = ? AND sk = ?`, pk, sk)
	}
}

func (h hand) Set(t *testing.T, s viewtest.StateStore, table view.Table, row state.Row, name, text string) {
	t.Helper()
	pk, sk := h.key(t, row)
	value, err := json.Marshal(map[string]string{"S": text})
	if err != nil {
		t.Fatal(err)
	}
	h.exec(t, s, `UPDATE "_tw_`+table.Name+`" SET item = json_set(item, '$."`+name+`"', json(?)) WHERE pk = ? AND sk = ?`, string(value), pk, sk)
}

func (h hand) ReplaceByTombstone(t *testing.T, s viewtest.StateStore, table view.Table, row state.Row) {
	t.Helper()
	pk, sk := h.key(t, row)
	h.exec(t, s, `UPDATE "_tw_`+table.Name+`" SET item = NULL, attributes = NULL WHERE pk = ? AND sk = ?`, pk, sk)
}
