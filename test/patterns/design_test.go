package patterns

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
)

// Every access pattern of the design returns what the items of the table imply.
func TestDesign(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newShop(100 + seed)
			for range 400 {
				s.step()
			}
			r := deliver(t, s, "testdata/design.yaml")
			r.wholeOrdersByStatus(t)
			r.ordersByAmount(t)
			r.linesOfProducts(t)
			r.completedOrders(t)
			deleted := maps.Clone(s.deleted)
			maps.Copy(deleted, s.gone)
			r.deletedItems(t, "b", deleted)
			r.confirmations(t)
		})
	}
}

// wholeOrdersByStatus compares the orders of each status, of ten shards, with all their attributes.
func (r *readers) wholeOrdersByStatus(t *testing.T) {
	t.Helper()
	for _, status := range []string{"pending", "paid", "completed", "none"} {
		var want []string
		for _, o := range r.orders(func(o row) bool { return o["Status"] == status }) {
			items, err := json.Marshal(dynamoValue(o["Items"]))
			check(t, err)
			want = append(want, fmt.Sprintf("%s %s %s %s %s", o.text("SK"), status, exact(total(o)), o.text("CreatedAt"), items))
		}
		slices.Sort(want)
		same(t, "orders "+status, want, r.partition(t, "by_status", "STATUS#"+status+"#", 10, "Status", "Total", "CreatedAt", "Items"))
	}
}

// linesOfProducts compares the lines of each product.
func (r *readers) linesOfProducts(t *testing.T) {
	t.Helper()
	for product := range 5 {
		sku := fmt.Sprintf("p%d", product)
		var want []string
		for _, o := range r.orders(func(o row) bool { return o["Items"].(lines)[sku] > 0 }) {
			want = append(want, fmt.Sprintf("%s#%s %d", orderID(o), sku, o["Items"].(lines)[sku]))
		}
		slices.Sort(want)
		same(t, "lines of "+sku, want, r.rows(t, "lines", pk("SKU#"+sku), "qty"))
	}
}

// completedOrders compares the documents of completed orders.
func (r *readers) completedOrders(t *testing.T) {
	t.Helper()
	var want, got []string
	for _, o := range r.orders(func(o row) bool { return o["Status"] == "completed" }) {
		want = append(want, fmt.Sprintf("%s %s %s %s", o.text("PK"), o.text("SK"), exact(total(o)), o.text("CreatedAt")))
	}
	index, err := searchsqlite.OpenReader(t.Context(), r.stores.Dir().Views())
	check(t, err)
	for d, err := range index.Documents(t.Context(), "orders") {
		check(t, err)
		var doc row
		unmarshal(t, d.Doc, &doc)
		n := total(row{"Total": json.Number(doc.text("Total"))})
		got = append(got, fmt.Sprintf("%s %s %s %s", doc.text("PK"), doc.text("SK"), exact(n), doc.text("CreatedAt")))
	}
	check(t, index.Close())
	slices.Sort(want)
	slices.Sort(got)
	same(t, "completed orders", want, got)
}
