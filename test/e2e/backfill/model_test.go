package backfill

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	viewsqlite "github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

// model returns the contents that each sink must have for these items, as text by key.
func model(items map[string]shop.Item) map[string]map[string]string {
	orders, statuses, places, emails, documents := make(map[string]string), make(map[string]string), make(map[string]string), make(map[string]string), make(map[string]string)
	groups := make(map[string]*group)
	for _, pk := range slices.Sorted(maps.Keys(items)) {
		it := items[pk]
		key := strings.ReplaceAll(pk, "#", "%23") + ",order"
		write := fmt.Sprintf("write=%d", it.Write)
		orders[key] = fmt.Sprintf("status=%s total=%s %s", it.Status, number(it.Total), write)
		statuses["STATUS#"+it.Status+" "+key] = write
		places[it.Customer+" "+key] = write
		if emails[it.Email] == "" { // the smallest key has the row
			emails[it.Email] = "who=" + pk + " " + write
		}
		documents[key] = fmt.Sprintf("%s %s %s %s %d", it.Status, it.Customer, it.Email, number(it.Total), it.Write)
		g := groups[it.Customer]
		if g == nil {
			g = &group{emails: make(map[string]bool)}
			groups[it.Customer] = g
		}
		g.add(it)
	}
	customers := make(map[string]string)
	for name, g := range groups {
		customers[name] = fmt.Sprintf("n=%d sum=%s lo=%s hi=%s emails=%d", g.n, g.sum.RatString(), g.lo.RatString(), g.hi.RatString(), len(g.emails))
	}
	return map[string]map[string]string{
		"orders": orders, "by_status": statuses, "in_place": places, "by_email": emails, "per_customer": customers, "documents": documents,
	}
}

// group is a group of the aggregate.
type group struct {
	n      int
	sum    big.Rat
	lo, hi *big.Rat
	emails map[string]bool
}

func (g *group) add(it shop.Item) {
	total, _ := new(big.Rat).SetString(it.Total)
	g.n++
	g.sum.Add(&g.sum, total)
	if g.lo == nil || total.Cmp(g.lo) < 0 {
		g.lo = total
	}
	if g.hi == nil || total.Cmp(g.hi) > 0 {
		g.hi = total
	}
	g.emails[it.Email] = true
}

// number returns a decimal in one spelling, so that equal numbers are equal strings.
func number(s string) string {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return s
	}
	return r.RatString()
}

// attributes has the attributes of the rows of each sink, in the order of the model.
var attributes = map[string][]string{
	"orders": {"status", "total", "write"}, "by_status": {"write"}, "in_place": {"write"}, "by_email": {"who", "write"}, "per_customer": {"n", "sum", "lo", "hi", "emails"},
}

// differences returns the differences of each sink from the model. It has no entry for a sink without a difference.
func (w *world) differences(t *testing.T) map[string][]string {
	t.Helper()
	want, wrong := model(w.shop.Items()), make(map[string][]string)
	for _, s := range w.cfg.Sinks {
		got := w.stored(t, s)
		ds := compare(want[s.Name], got)
		if len(ds) > 0 {
			wrong[s.Name] = ds
		}
		t.Logf("%s: %d of %d are right", s.Name, len(want[s.Name])-len(ds), len(want[s.Name]))
	}
	return wrong
}

func compare(want, got map[string]string) (ds []string) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			ds = append(ds, fmt.Sprintf("%s is %q, want %q", key, got[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			ds = append(ds, fmt.Sprintf("%s is %q, want none", key, got[key]))
		}
	}
	return ds
}

// stored reads the contents of a sink, as text by key.
func (w *world) stored(t *testing.T, s config.Sink) map[string]string {
	t.Helper()
	got := make(map[string]string)
	if s.Search != nil {
		store, err := w.stores.Search(t.Context(), w.cfg, s)
		check(t, err)
		for d, err := range store.(*searchsqlite.Store).Documents(t.Context(), "documents") {
			check(t, err)
			var doc struct {
				Status, Customer, Email string
				Total, Write            json.Number
			}
			check(t, json.Unmarshal(d.Doc, &doc))
			got[d.ID] = fmt.Sprintf("%s %s %s %s %s", doc.Status, doc.Customer, doc.Email, number(doc.Total.String()), doc.Write)
		}
		return got
	}
	table, key := view.Table{PK: "PK"}, s.View
	if key != nil {
		table.Name = s.View.Table.Name
		if len(s.View.Key) > 1 {
			table.SK = "SK"
		}
	} else {
		table.Name = s.Aggregate.Table.Name
	}
	var store any
	var err error
	if s.View != nil {
		store, err = w.stores.View(t.Context(), w.cfg, s)
	} else {
		store, err = w.stores.Aggregate(t.Context(), w.cfg, s)
	}
	check(t, err)
	for r, err := range store.(*viewsqlite.Store).Rows(t.Context(), table, view.Query{}) {
		check(t, err)
		key := text(r.PK)
		if table.SK != "" {
			key += " " + text(r.SK)
		}
		var all []string
		for _, name := range attributes[s.Name] {
			v, _ := r.Item.Get(name)
			all = append(all, name+"="+text(v))
		}
		got[key] = strings.Join(all, " ")
	}
	return got
}

// text returns a value as text.
func text(v item.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	return number(string(v.AppendJSON(nil)))
}
