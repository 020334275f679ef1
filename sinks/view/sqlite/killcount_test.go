package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// countedItems is the number of items that the process counts, in two groups.
const countedItems = 40

var sums = view.Target{Table: view.Table{Name: "sums", PK: "PK"}, View: "revenue", Pipeline: "shop"}

// counting writes the contributions of all items at increasing versions, and prints each version after it is durable.
// It continues from the stored contributions.
func counting(path string) {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	for version := 1; err == nil; version++ {
		if err = countVersion(s, version); err == nil {
			fmt.Println(version)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// countVersion writes the contributions of a version: i x version for item i, in group i % 2. Each call writes ten
// items.
func countVersion(s *sqlite.Store, version int) error {
	ctx := context.Background()
	for first := 0; first < countedItems; first += 10 {
		var keys []item.Key
		for i := first; i < first+10; i++ {
			keys = append(keys, item.Key(fmt.Sprintf("item%d", i)))
		}
		cs, err := s.Contributions(ctx, sums.State(), keys)
		if err != nil {
			return err
		}
		var ws []state.GroupWrite
		for n, was := range cs {
			now := state.Contribution{Version: put("", version).Version}
			if was.Version.Compare(now.Version) >= 0 {
				continue
			}
			i := first + n
			row, err := state.MakeRow(item.StringValue(fmt.Sprintf("group%d", i%2)), item.Value{})
			if err != nil {
				return err
			}
			amount := state.NumberOf(decimal.Of(int64(i * version)))
			now.Shares = []state.Share{{Group: row, Values: []string{amount.String()}}}
			change := state.GroupChange{Row: row, Shares: 1, Version: now.Version}
			if len(was.Shares) > 0 {
				before, err := state.ParseNumber(was.Shares[0].Values[0])
				if err != nil {
					return err
				}
				amount, change.Shares = amount.Add(before.Neg()), 0
			}
			change.Sums = []state.Increment{{Name: "revenue", Amount: amount}}
			ws = append(ws, state.GroupWrite{
				Items:  []state.ContributionWrite{{Source: keys[n], Expected: was, Next: now}},
				Groups: []state.GroupChange{change},
			})
		}
		rs, err := s.Contribute(ctx, sums, ws)
		if err != nil {
			return err
		}
		for _, r := range rs {
			if r != (view.Result{}) {
				return errors.Join(errors.New("a write is lost"), r.Err)
			}
		}
	}
	return nil
}

// After a process is killed, each group is the sum of its items' contributions. All contributions that were reported as
// written are counted.
func TestKilledCounting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	for _, last := range []int{2, 15, 40} {
		told := killed(t, countingEnv, path, last)
		s := open(t, path, sqlite.Options{})
		var keys []item.Key
		for i := range countedItems {
			keys = append(keys, item.Key(fmt.Sprintf("item%d", i)))
		}
		cs, err := s.Contributions(t.Context(), sums.State(), keys)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]state.Number)
		for i, c := range cs {
			if len(c.Shares) != 1 || c.Version.Compare(put("", told).Version) < 0 {
				t.Fatalf("item %d is %+v, and version %d was held", i, c, told)
			}
			amount, err := state.ParseNumber(c.Shares[0].Values[0])
			if err != nil {
				t.Fatal(err)
			}
			group := string(c.Shares[0].Group)
			want[group] = want[group].Add(amount)
		}
		for row, err := range s.Rows(t.Context(), sums.Table, view.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			group, _ := row.PK.Text()
			revenue, _ := row.Item.Get("revenue")
			if got := string(revenue.AppendJSON(nil)); got != want[group].String() {
				t.Errorf("%s is %s, and its items count for %s", group, got, want[group])
			}
			delete(want, group)
		}
		if len(want) > 0 {
			t.Errorf("groups without a row: %v", want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
