package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// hot returns an aggregate that counts all items in one group.
func hot(t testing.TB, s *dynamo.Store, shards int, values ...view.Value) *view.Aggregate {
	t.Helper()
	a, err := view.NewAggregate(view.AggregateOptions{
		Name: "sums", Pipeline: "shop", Table: "views", PK: attribute(t, "PK", "ALL"), SK: attribute(t, "SK", "ALL"), Values: values, Shards: shards, Store: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// deliver writes changes again until all are written, like a pipeline.
func deliver(t testing.TB, a *view.Aggregate, cs []*record.Change) error {
	ds := make([]pipeline.Delivery, len(cs))
	for i, c := range cs {
		ds[i].Change = c
		if err := a.Plan(&ds[i]); err != nil {
			return err
		}
	}
	for tries := 0; ; tries++ {
		err := a.Write(t.Context(), ds)
		if err == nil {
			return nil
		}
		partial, ok := errors.AsType[*pipeline.BatchError](err)
		var left []pipeline.Delivery
		for i := range ds {
			if !ok {
				left = append(left, pipeline.Delivery{Change: ds[i].Change, Ops: ds[i].Ops})
			} else if why := partial.Failed[i]; why != nil {
				if _, again := pipeline.Retryable(why); !again {
					return why
				}
				left = append(left, pipeline.Delivery{Change: ds[i].Change, Ops: ds[i].Ops})
			}
		}
		if _, again := pipeline.Retryable(err); !ok && !again || tries == 50 {
			return err
		}
		ds = left
	}
}

// Many workers of several processes count in one group at the same time. Their transactions have conflicts, throttles
// and lost answers. The group is exact to the last digit.
func TestHotGroup(t *testing.T) {
	const workers, each = 6, 12
	for name, values := range map[string][]view.Value{
		"sums":    {{Name: "n", Kind: "count"}, {Name: "sum", Kind: "sum", Path: "amount"}},
		"members": {{Name: "n", Kind: "count"}, {Name: "lo", Kind: "min", Path: "amount"}, {Name: "d", Kind: "distinct", Path: "kind"}},
	} {
		for _, shards := range []int{1, 4} {
			t.Run(fmt.Sprint(name, shards), func(t *testing.T) {
				faults := new(dynamotest.Faults)
				server := dynamotest.Open(t)
				first, err := open(t.Context(), statedynamo.Options{Client: server.Client("", nil)})
				if err == nil {
					err = first.Create(t.Context(), sums.Table, dynamo.KeyTypes{})
				}
				if err != nil {
					t.Fatal(err)
				}
				var processes []*dynamo.Store
				for range workers {
					s, err := open(t.Context(), statedynamo.Options{Client: server.Client("", faults)})
					if err != nil {
						t.Fatal(err)
					}
					processes = append(processes, s)
				}
				faults.Randomly(7, 0.15, dynamotest.Conflict(), dynamotest.Throttle(), dynamotest.Lost(), dynamotest.Cut(1), dynamotest.Reset(), dynamotest.Unprocessed(0))
				var items []sinktest.Item
				large := "1" + strings.Repeat("0", 50)
				for i := range workers * each {
					items = append(items, sinktest.Item{"amount": {"N": fmt.Sprintf("%d.25", i)}, "kind": {"S": fmt.Sprint(i % 7)}})
				}
				items = append(items, sinktest.Item{"amount": {"N": large}, "kind": {"S": "0"}})
				all := inserted(t, items...)
				errs := make([]error, workers)
				var wg sync.WaitGroup
				for w := range workers {
					a := hot(t, processes[w], shards, values...)
					wg.Go(func() {
						mine := all[w*each : (w+1)*each]
						for len(mine) > 0 && errs[w] == nil {
							n := min(5, len(mine))
							errs[w] = deliver(t, a, mine[:n])
							mine = mine[n:]
						}
						if w == 0 && errs[w] == nil {
							errs[w] = deliver(t, a, all[len(all)-1:])
						}
						if errs[w] == nil {
							errs[w] = deliver(t, a, all[w*each:(w+1)*each]) // a late replay
						}
					})
				}
				wg.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				row, ok, err := hot(t, first, shards, values...).Groups().Get(t.Context(), first, item.StringValue("ALL"), item.StringValue("ALL"))
				if err != nil || !ok {
					t.Fatalf("%t, %v", ok, err)
				}
				want := `{"PK":"ALL","SK":"ALL","n":73,"sum":"` + fmt.Sprintf("1%050d", 72*71/2+18) + `"}`
				if name == "members" {
					want = `{"PK":"ALL","SK":"ALL","n":73,"lo":0.25,"d":7}`
				}
				got, err := sinktest.CanonicalJSON(row.Item.AppendJSON(nil))
				if err != nil {
					t.Fatal(err)
				}
				if want, _ = sinktest.CanonicalJSON([]byte(want)); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}
