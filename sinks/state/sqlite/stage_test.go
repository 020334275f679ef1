package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// If a birth has an unknown stage, Births returns an error and does not treat the birth as live.
func TestUnknownStage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.State("p")
	if _, err := s.RecordBirth(t.Context(), state.NewBirth("orders", "table a", time.Unix(1000, 0))); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `UPDATE "_tws_births" SET stage = 'frozen'`); err != nil {
		t.Fatal(err)
	}
	for b, err := range s.Births(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "newer tablewake") {
			t.Errorf("%+v, %v", b, err)
		}
	}
}
