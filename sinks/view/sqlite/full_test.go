package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// A full disk is a fatal error. It loses no rows that were reported as written. When there is free space again, writes
// succeed.
func TestFullDiskIsFatal(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "views.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	target := view.Target{Table: view.Table{Name: "t", PK: "id"}, View: "v", Pipeline: "p"}
	write := func(i int) error {
		version, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", i))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Apply(t.Context(), target, []view.Mutation{{
			PK: item.StringValue(fmt.Sprint(i)), Version: version,
			Attributes: []state.Column{{Name: "text", Value: item.StringValue(strings.Repeat("x", 4096))}},
		}})
		return err
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		err := s.Write(t.Context(), func(w *sqlite.Writer) error {
			return w.ExecDDL(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(60)
	held := 1
	for ; ; held++ {
		if err = write(held); err != nil {
			break
		}
	}
	if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "free space") {
		t.Errorf("got %v, want a fatal error that asks for space", err)
	}
	rows := func() (n int) {
		for _, err := range s.Rows(t.Context(), target.Table, view.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if got := rows(); got != held {
		t.Errorf("%d rows after the disk was full, want %d", got, held)
	}
	limit(1000)
	if err := write(held); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if got := rows(); got != held+1 {
		t.Errorf("%d rows, want %d", got, held+1)
	}
}
