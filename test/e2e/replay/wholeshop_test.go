package replay

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// wholeShop is the configuration beside the fixture.
var wholeShop = pipelineFile{path: fixture + "tablewake.yaml", rows: "shop-views", index: "products", bucket: "shop-archive", log: "changes/"}

// shopAggregates are the aggregates of wholeShop in plain Go.
var shopAggregates = []aggregate{
	{
		prefix: "REVENUE#", shards: 4, keep: true, of: map[string]string{"revenue": "sum", "orders": "count"},
		counts: func(it oracleItem) []portion {
			status, currency, day := text(it["Status"]), text(it["Currency"]), day(it["CreatedAt"])
			if text(it["Type"]) != "Order" || status != "paid" && status != "shipped" && status != "completed" || currency == "" || day == "" {
				return nil
			}
			return []portion{{"REVENUE#" + currency, str(day), map[string]any{"revenue": it["Total"]}}}
		},
	},
	{
		prefix: "PRODUCT#", keep: true, of: map[string]string{"units": "sum"},
		counts: func(it oracleItem) []portion {
			if text(it["Type"]) != "Order" || text(it["Status"]) != "completed" {
				return nil
			}
			var all []portion
			_, lines := untag(it["Lines"])
			for _, e := range lines.([]any) {
				_, line := untag(e)
				m := line.(map[string]any)
				if sku := text(m["sku"]); sku != "" {
					all = append(all, portion{"PRODUCT#" + sku, str("SOLD"), map[string]any{"units": m["qty"]}})
				}
			}
			return all
		},
	},
}

// checkShop compares a folder with everything that wholeShop must produce.
func checkShop(t *testing.T, out string, arrived []change) {
	t.Helper()
	want, got := wantShop(arrived), look(t, wholeShop, out)
	may := shopRows(arrived)
	for name, row := range counted(shopAggregates, arrived) {
		may[name] = append(may[name], row)
	}
	checkRows(t, out, wholeShop.rows, shopAggregates, may)
	delete(want, rows)
	want[deleted], got[deleted] = deletedItems(arrived), deletedObjects(t, filepath.Join(out, "archive", wholeShop.bucket))
	want[completed], got[completed] = completedOrders(arrived), storedDocuments(t, out, "orders")
	same(t, got, want)
}

// completed is the part of a state that has the documents of completed orders.
const completed = "completed orders"

// mask matches a value that replaces a sensitive value.
var mask = regexp.MustCompile(`"masked-[0-9a-f]{12}"`)

// The whole shop ends as after one clean pass, however its stream is delivered.
func TestWholeShop(t *testing.T) {
	t.Parallel()
	lines := shopStream(t)
	for name, redeliver := range redeliveries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := redeliver(random(t), lines)
			out := t.TempDir()
			replayed(t, 0, wholeShop, out, saved(t, "s.jsonl", joined(again)))
			checkShop(t, out, understood(t, again))
		})
	}
}

// A replay of the whole shop may be killed at any moment. The next replay leaves the same result as one clean pass.
func TestWholeShopKilled(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := shopStream(t)
	out := t.TempDir()
	for range 5 {
		p := start(t, wholeShop, out)
		p.feed(t, joined(lines[:200+rng.IntN(len(lines)-200)]))
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond) // the kill may come at any moment
		p.signal(t, os.Kill)
		if code := p.wait(t).code; code != -1 {
			t.Fatalf("exit code %d of a killed process", code)
		}
	}
	replayed(t, 0, wholeShop, out, fixture+"stream.jsonl")
	checkShop(t, out, understood(t, lines))
}
