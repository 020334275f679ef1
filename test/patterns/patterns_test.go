package patterns

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/view"
)

// After any changes, every pattern returns what the items of the table imply.
func TestPatterns(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newShop(seed)
			for range 400 {
				s.step()
			}
			r := deliver(t, s, "testdata/patterns.yaml")
			r.ordersByStatus(t)
			r.ordersByAmount(t)
			r.ordersByDay(t)
			r.usersByEmail(t)
			r.storesOfPlaces(t)
			r.memberships(t)
			r.ordersOfProducts(t)
			r.revenue(t)
			r.deletedItems(t, "deleted", s.deleted)
			r.confirmations(t)
		})
	}
}

// readers reads the stores of the sinks. The shop has the expected content.
type readers struct {
	*shop
	cfg    *config.Config
	stores *local.Stores
}

// deliver runs the pipeline of a file over the records of the shop.
func deliver(t *testing.T, s *shop, file string) *readers {
	t.Helper()
	r := &readers{shop: s}
	var err error
	r.cfg, err = config.Load(file)
	check(t, err)
	for _, w := range r.cfg.Warnings {
		if w.Field != "sinks.deleted.archive.key" { // paths of other keys could run together: they would be dead letters
			t.Error(w)
		}
	}
	r.stores, err = local.Open(t.TempDir())
	check(t, err)
	t.Cleanup(func() { check(t, r.stores.Close()) })
	p, err := sinks.Assemble(t.Context(), r.cfg, r.stores, sinks.Finite())
	check(t, err)
	lines := strings.NewReader(strings.Join(s.records, "\n"))
	source, err := replay.Open(replay.Options{Paths: []string{"-"}, Stdin: lines, Decoder: sinks.Decoder(r.cfg)})
	check(t, err)
	defer source.Close()
	check(t, p.Run(t.Context(), source, nil))
	if l := p.Ledger().Source; l.Read != int64(len(s.records)) || l.Undecodable > 0 {
		t.Fatalf("%+v of %d records", l, len(s.records))
	}
	for name, l := range p.Ledger().Sinks {
		if l.DeadLettered > 0 {
			t.Errorf("%s: %d dead letters", name, l.DeadLettered)
		}
	}
	check(t, p.Ledger().Check())
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// view opens the view of a sink.
func (r *readers) view(t *testing.T, sink string) (view.Reader, config.Sink) {
	t.Helper()
	i := slices.IndexFunc(r.cfg.Sinks, func(s config.Sink) bool { return s.Name == sink })
	store, err := r.stores.View(t.Context(), r.cfg, r.cfg.Sinks[i])
	check(t, err)
	return store.(view.Reader), r.cfg.Sinks[i]
}

// rows returns the rows of a view that a query selects, each as its sort key and some of its attributes.
func (r *readers) rows(t *testing.T, sink string, q view.Query, attributes ...string) (all []string) {
	t.Helper()
	reader, s := r.view(t, sink)
	table := view.Table{Name: s.View.Table.Name, PK: "PK"}
	if len(s.View.Key) > 1 {
		table.SK = "SK"
	}
	for row, err := range reader.Rows(t.Context(), table, q) {
		check(t, err)
		all = append(all, shown(row, attributes))
	}
	return all
}

// shown returns a row as text, with numbers in the format of DynamoDB.
func shown(row view.Row, attributes []string) string {
	sk, _ := row.SK.Text()
	for _, name := range attributes {
		v, _ := row.Item.Get(name)
		text := v.String()
		if n, isNumber := v.Number(); isNumber {
			text = n.String()
		} else if s, isText := v.Text(); isText {
			text = s
		}
		sk += " " + text
	}
	return sk
}
