package viewtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// checkStoredRows checks the rows that a [view.Inspector] returns. A store that is not an Inspector passes.
func checkStoredRows(t *testing.T, s Store, target view.Target) {
	in, ok := s.(view.Inspector)
	if !ok {
		return
	}
	apply(t, s, target, putRow(t, "a", "1", 5, "five"), tombstone(t, "a", "2", 6))
	requested := []state.Row{makeRow(t, "a", "2"), makeRow(t, "a", "3"), makeRow(t, "a", "1")}
	found, err := in.StoredRows(t.Context(), target, requested)
	if err != nil || len(found) != len(requested) {
		t.Fatalf("%d results for %d rows, error %v", len(found), len(requested), err)
	}
	var got []string
	for _, st := range found {
		item := ""
		if st.Item.Exists() {
			item = string(st.Item.AppendDynamoDBJSON(nil))
		}
		got = append(got, fmt.Sprint(st.Exists, st.Tombstone, st.Version == version(t, 5), st.Version == version(t, 6),
			st.Source, st.View, st.Pipeline, item))
	}
	checkEqual(t, "stored rows", got, []string{
		fmt.Sprint(true, true, false, true, "source", "one", "test", ""),
		fmt.Sprint(false, false, false, false, "", "", "", ""),
		fmt.Sprint(true, false, true, false, "source", "one", "test", `{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"five"}}`),
	})
	missing := target
	missing.Name = "no such table"
	if _, err := in.StoredRows(t.Context(), missing, requested); !errors.Is(err, view.ErrNoTable) {
		t.Errorf("a table that is not there: %v, want ErrNoTable", err)
	}
}
