package patterns

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/view"
)

// orders returns the orders of the table that have a property.
func (s *shop) orders(has func(row) bool) (orders []row) {
	for _, key := range slices.Sorted(maps.Keys(s.items)) {
		if it := s.items[key]; it.of("USER#", "ORDER#") && has(it) {
			orders = append(orders, it)
		}
	}
	return orders
}

func orderID(r row) string { return r.text("SK")[len("ORDER#2026-03-26#"):] }

func createdAt(r row) time.Time {
	at, err := time.Parse(time.RFC3339, r.text("CreatedAt"))
	if err != nil {
		panic(err)
	}
	return at
}

func total(r row) *big.Rat {
	n, _ := new(big.Rat).SetString(r.text("Total"))
	return n
}

// exact returns a number as text without redundant zeros.
func exact(n *big.Rat) string {
	text := n.FloatString(10)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func pk(text string) view.Query { return view.Query{PK: item.StringValue(text)} }

// same compares a reader's result with the expected one from the table.
func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// ordersByStatus compares the newest orders with a status, from one partition and from one that is spread over eight
// shards.
func (r *readers) ordersByStatus(t *testing.T) {
	t.Helper()
	for _, status := range []string{"pending", "paid", "completed", "none"} {
		orders := r.orders(func(o row) bool { return o["Status"] == status })
		slices.SortFunc(orders, func(a, b row) int {
			if c := createdAt(b).Compare(createdAt(a)); c != 0 {
				return c
			}
			return strings.Compare(orderID(b), orderID(a))
		})
		var want []string
		for _, o := range orders[:min(5, len(orders))] {
			at := createdAt(o).UTC().Format("2006-01-02T15:04:05.000")
			want = append(want, at+"#"+orderID(o)+" "+exact(total(o))+" "+o.text("CreatedAt"))
		}
		q := pk("STATUS#" + status)
		q.Limit, q.Reverse = 5, true
		same(t, "newest "+status, want, r.rows(t, "by_status", q, "Total", "CreatedAt"))
		r.hot(t, status)
	}
}

// hot compares the partition of a status that is spread over shards.
func (r *readers) hot(t *testing.T, status string) {
	t.Helper()
	var want []string
	for _, o := range r.orders(func(o row) bool { return o["Status"] == status }) {
		want = append(want, strings.TrimPrefix(o.text("SK"), "ORDER#")+" "+exact(total(o)))
	}
	slices.Sort(want)
	same(t, "all "+status, want, r.partition(t, "hot", "STATUS#"+status+"#", 8, "Total"))
}

// partition reads a partition that is spread over shards, in pages of three rows.
func (r *readers) partition(t *testing.T, sink, before string, shards int, attributes ...string) (got []string) {
	t.Helper()
	reader, s := r.view(t, sink)
	p := view.Partition{
		Table: view.Table{Name: s.View.Table.Name, PK: "PK", SK: "SK"},
		Keys:  view.ShardKeys(shards, before, ""),
	}
	for cursor, more := "", true; more; {
		more = false
		for row, err := range p.Rows(t.Context(), reader, view.PartitionQuery{Limit: 3, Cursor: cursor}) {
			check(t, err)
			got, cursor, more = append(got, shown(row, attributes)), p.Cursor(row), true
		}
	}
	return got
}

// ordersByAmount compares the orders of each user, in descending order of their amount.
func (r *readers) ordersByAmount(t *testing.T) {
	t.Helper()
	for user := range 8 {
		name := fmt.Sprintf("USER#%d", user)
		orders := r.orders(func(o row) bool { return o["PK"] == name })
		slices.SortFunc(orders, func(a, b row) int {
			if c := total(b).Cmp(total(a)); c != 0 {
				return c
			}
			return strings.Compare(orderID(b), orderID(a))
		})
		var want, got []string
		for _, o := range orders {
			want = append(want, orderID(o)+" "+exact(total(o))+" "+o.text("Status"))
		}
		q := pk(name)
		q.Reverse = true
		for _, text := range r.rows(t, "by_amount", q, "Total", "Status") {
			got = append(got, text[strings.LastIndexByte(text, '#')+1:])
		}
		same(t, "by amount of "+name, want, got)
	}
}

// ordersByDay compares the orders of each day in Berlin.
func (r *readers) ordersByDay(t *testing.T) {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	days := make(map[string][]string)
	for _, o := range r.orders(func(row) bool { return true }) {
		day := createdAt(o).In(berlin).Format("2006-01-02")
		days[day] = append(days[day], orderID(o)+" "+exact(total(o)))
	}
	for day := 24; day < 34; day++ {
		name := time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC).Format("2006-01-02")
		slices.Sort(days[name])
		same(t, "day "+name, days[name], r.rows(t, "by_day", pk("DAY#"+name), "total"))
	}
}

// usersByEmail compares the user of each address. If several users have it, the one with the smallest key owns the
// row.
func (r *readers) usersByEmail(t *testing.T) {
	t.Helper()
	users := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(r.items)) {
		if it := r.items[key]; it.of("USER#", "PROFILE") {
			address := "EMAIL#" + strings.ToLower(it.text("Email"))
			if _, taken := users[address]; !taken {
				users[address] = " " + strings.TrimPrefix(it.text("PK"), "USER#")
			}
		}
	}
	for address, user := range users {
		same(t, address, []string{user}, r.rows(t, "by_email", pk(address), "user"))
	}
	if n := len(r.rows(t, "by_email", view.Query{})); n != len(users) {
		t.Errorf("%d addresses, want %d", n, len(users))
	}
}

// storesOfPlaces compares the stores of a country, of a region, and of a city.
func (r *readers) storesOfPlaces(t *testing.T) {
	t.Helper()
	for _, place := range []string{"", "North#", "North#B#", "South#", "South#C#"} {
		var want []string
		for _, it := range r.items {
			path := it.text("Region") + "#" + it.text("City") + "#" + strings.TrimPrefix(it.text("PK"), "STORE#")
			if it.of("STORE#", "META") && it["Country"] == "DE" && strings.HasPrefix(path, place) {
				want = append(want, path+" "+it.text("Name"))
			}
		}
		slices.Sort(want)
		q := pk("COUNTRY#DE")
		q.SKPrefix = place
		same(t, "stores of DE "+place, want, r.rows(t, "stores", q, "name"))
	}
}

// memberships compares the groups of each user.
func (r *readers) memberships(t *testing.T) {
	t.Helper()
	for user := range 12 {
		var want []string
		for _, key := range slices.Sorted(maps.Keys(r.items)) {
			if it := r.items[key]; it.of("GROUP#", "MEMBER#") && it["SK"] == fmt.Sprintf("MEMBER#%d", user) {
				want = append(want, it.text("PK")+" "+it.text("Role"))
			}
		}
		same(t, fmt.Sprintf("groups of %d", user), want, r.rows(t, "groups_of", pk(fmt.Sprintf("USER#%d", user)), "role"))
	}
}

// ordersOfProducts compares the orders that have a product, with the quantity of the product.
func (r *readers) ordersOfProducts(t *testing.T) {
	t.Helper()
	for product := range 5 {
		sku := fmt.Sprintf("p%d", product)
		var want []string
		for _, o := range r.orders(func(o row) bool { return o["Items"].(lines)[sku] > 0 }) {
			want = append(want, fmt.Sprintf("%s#%s %d %s", orderID(o), sku, o["Items"].(lines)[sku], o["Status"]))
		}
		slices.Sort(want)
		same(t, "orders of "+sku, want, r.rows(t, "lines", pk("SKU#"+sku), "qty", "status"))
		if got := r.partition(t, "hot_lines", "SKU#"+sku+"#", 4, "qty"); len(got) != len(want) {
			t.Errorf("%d lines of %s in all shards, want %d: %v", len(got), sku, len(want), got)
		}
	}
}

// revenue compares the revenue of each day, and its number of users.
func (r *readers) revenue(t *testing.T) {
	t.Helper()
	type day struct {
		orders       int
		sum, largest *big.Rat
		users        map[string]bool
	}
	days := make(map[string]*day)
	for _, o := range r.orders(func(o row) bool { return o["Status"] != "pending" }) {
		name := o.text("SK")[len("ORDER#"):len("ORDER#2026-03-26")]
		d := days[name]
		if d == nil {
			d = &day{sum: new(big.Rat), largest: total(o), users: make(map[string]bool)}
			days[name] = d
		}
		d.orders++
		d.users[o.text("PK")] = true
		d.sum.Add(d.sum, total(o))
		if total(o).Cmp(d.largest) > 0 {
			d.largest = total(o)
		}
	}
	var want, got []string
	for _, name := range slices.Sorted(maps.Keys(days)) {
		d := days[name]
		want = append(want, fmt.Sprintf("%s %s %d %s %d", name, exact(d.sum), d.orders, exact(d.largest), len(d.users)))
	}
	i := slices.IndexFunc(r.cfg.Sinks, func(s config.Sink) bool { return s.Name == "per_day" })
	store, err := r.stores.Aggregate(t.Context(), r.cfg, r.cfg.Sinks[i])
	check(t, err)
	a, err := view.NewAggregate(aggregateOptions(r.cfg, r.cfg.Sinks[i], store))
	check(t, err)
	for row, err := range a.Groups().All(t.Context(), store.(view.Reader), pk("REVENUE")) {
		check(t, err)
		got = append(got, shown(row, []string{"revenue", "orders", "largest", "users"}))
	}
	same(t, "revenue", want, got)
}

func aggregateOptions(cfg *config.Config, s config.Sink, store view.GroupStore) view.AggregateOptions {
	o := sinks.AggregateOptions(cfg, s)
	o.Store = store
	return o
}
