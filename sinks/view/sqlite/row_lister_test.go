package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// Changes by hand do not stop a listing. A changed row or group is still listed, without the values that cannot be
// read.
func TestListers_ChangedByHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	version, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", 1))
	if err != nil {
		t.Fatal(err)
	}
	sums := view.Target{Table: view.Table{Name: "t", PK: "id"}, View: "sums", Pipeline: "p"}
	for _, id := range []string{"whole", "changed", "removed", "taken"} {
		row, err := state.MakeRow(item.StringValue(id), item.Value{})
		if err != nil {
			t.Fatal(err)
		}
		c := state.GroupChange{Row: row, Shares: 2, Version: version, Counts: []state.Increment{{Name: "n", Amount: state.NumberOf(decimal.Of(2))}}}
		rs, err := s.Contribute(t.Context(), sums, []state.GroupWrite{{Groups: []state.GroupChange{c}, Items: []state.ContributionWrite{
			{Source: item.Key(id), Next: state.Contribution{Version: version, Shares: []state.Share{{Group: row}}}},
		}}})
		if err != nil || rs[0] != (view.Result{}) {
			t.Fatal(rs, err)
		}
	}
	execute(t, path,
		`UPDATE "_tw_t" SET version = 'none' WHERE pk = 'changed'`,
		`UPDATE "_tws_groups" SET version = 'none', totals = 'none' WHERE row = 'changed'`,
		`UPDATE "_tws_contributions" SET shares = x'63' WHERE item = 'changed'`,
		`DELETE FROM "_tw_t" WHERE pk = 'removed'`,
		`DELETE FROM "_tws_contributions" WHERE item = 'removed'`,
		`UPDATE "_tw_t" SET view = 'others' WHERE pk = 'taken'`,
		`INSERT INTO "_tw_t" SELECT 'added', sk, version, void, pipeline, view, birth, source, attributes, '{"id":{"S":"added"}}' FROM "_tw_t" WHERE pk = 'whole'`,
	).Close()
	want := func(what string, got []string, want ...string) {
		t.Helper()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", what, got, want)
		}
	}
	var rows, groups, contributions []string
	for r, err := range s.ListRows(t.Context(), sums, state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		id, _ := r.PK.Text()
		rows = append(rows, fmt.Sprint(id, " ", r.Version.IsZero()))
	}
	want("rows", rows, "added false", "changed true", "whole false")
	for r, err := range s.Rows(t.Context(), sums.Table, view.Query{PK: item.StringValue("changed")}) {
		if err == nil || r.Source != "" || r.View != "" || r.PK.Exists() || r.Item.Exists() {
			t.Errorf("the changed row is read as %+v with the error %v, want an error alone", r, err)
		}
	}
	for g, err := range s.ListGroups(t.Context(), sums, []view.Value{{Name: "n", Kind: "count"}}, state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, fmt.Sprint(g.Row, " ", g.Shares, g.Counts, g.Version.IsZero(), g.Revision != "", g.Item.Exists()))
	}
	want("groups", groups, "added 0 [] true false true", "changed 2 [] true true true", "removed 2 [{n 2}] false true false", "whole 2 [{n 2}] false true true")
	for c, err := range s.ListContributions(t.Context(), sums.State(), state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		contributions = append(contributions, fmt.Sprint(c.Item, " ", len(c.Shares)))
	}
	want("contributions", contributions, "changed 0", "taken 1", "whole 1")
}

// A page of a listing ends after a thousand rows or a megabyte.
func TestListers_Pages(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "views.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	target := view.Target{Table: view.Table{Name: "t", PK: "id", SK: "n"}, View: "v", Pipeline: "p"}
	version, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", 1))
	if err != nil {
		t.Fatal(err)
	}
	var ms []view.Mutation
	for i := range 5000 {
		m := view.Mutation{PK: item.StringValue(fmt.Sprint("p", i%7)), SK: item.NumberValue(decimal.Of(int64(i))), Version: version}
		if i%2 == 1 {
			m.PK = item.BinaryValue([]byte{byte(i % 5)})
		}
		if i%1000 == 0 {
			m.Attributes = []state.Column{{Name: "long", Value: item.StringValue(strings.Repeat("x", 390<<10))}}
		}
		ms = append(ms, m)
	}
	if _, err := s.Apply(t.Context(), target, ms); err != nil {
		t.Fatal(err)
	}
	for _, segments := range []int{1, 3} {
		seen := make(map[string]bool)
		for segment := range segments {
			n := 0
			for r, err := range s.ListRows(t.Context(), target, state.Listing{Segment: segment, Segments: segments}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				key := r.PK.String() + r.SK.String()
				if seen[key] {
					t.Fatalf("row %s is listed twice", key)
				}
				seen[key] = true
			}
			if mean := len(ms) / segments; n < mean*9/10 || n > mean*11/10 {
				t.Errorf("segment %d of %d has %d of %d rows", segment, segments, n, len(ms))
			}
		}
		if len(seen) != len(ms) {
			t.Errorf("%d of %d rows are listed", len(seen), len(ms))
		}
	}
}

// If the key columns of a row were changed by hand, the row is listed under the changed key. Readers find it there too.
func TestListRows_ByTheirKeyColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	version, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", 1))
	if err != nil {
		t.Fatal(err)
	}
	orders := view.Target{Table: view.Table{Name: "t", PK: "PK", SK: "SK"}, View: "orders", Pipeline: "p"}
	var ms []view.Mutation
	for _, key := range []string{"kept", "moved", `with "quotes"`} {
		row := item.StringValue(key)
		ms = append(ms, view.Mutation{PK: row, SK: row, Version: version, Source: item.Key(key)})
	}
	if rs, err := s.Apply(t.Context(), orders, ms); err != nil || rs[0] != (view.Result{}) {
		t.Fatal(rs, err)
	}
	execute(t, path, `UPDATE "_tw_t" SET pk = 'elsewhere' WHERE pk = 'moved'`).Close()
	var got []string
	for r, err := range s.ListRows(t.Context(), orders, state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		pk, _ := r.PK.Text()
		sk, _ := r.SK.Text()
		got = append(got, pk+" "+sk)
	}
	slices.Sort(got)
	if want := []string{"elsewhere moved", "kept kept", `with "quotes" with "quotes"`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
