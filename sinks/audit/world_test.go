package audit_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// shop has a sink of each kind that an audit can compare.
const shop = `
version: 1
name: shop
source: {table: shop}
sinks:
  products:
    view:
      table: views
      key: {PK: 'PRODUCTS#{Shelf}', SK: '{@key}'}
      attributes: {name: '{Name}', price: '{Price?}', tags: '{Tags?}', at: '{@time}', version: '{@version}'}
  names:
    view:
      table: views
      key: {PK: 'NAME#{Name}', SK: 'P'}
      attributes: {price: '{Price?}', by: '{@op}'}
      on_collision: keep_first
  shelves:
    aggregate:
      table: views
      group: {PK: 'SHELF#{Shelf}', SK: 'N'}
      shards: 3
      values: {products: count, value: {sum: Price}, cheapest: {min: Price}, dearest: {max: Price}, prices: {distinct: Price}}
      on_ttl_delete: retract
  tags:
    aggregate:
      table: views
      group: {PK: 'TAG#{each}', SK: 'N'}
      for_each: Words
      values: {products: count, shelves: {distinct: Shelf}}
      on_ttl_delete: retract
  kept:
    aggregate:
      table: views
      group: {PK: 'KEPT#{Shelf}', SK: 'N'}
      values: {products: count}
      on_ttl_delete: keep
  documents:
    search: {index: products}
`

// world is a pipeline with its stores and the items of its source table.
type world struct {
	t      testing.TB
	cfg    *config.Config
	stores sinks.Stores
	dir    string
	items  map[string]string // DynamoDB JSON by PK
	seq    int
}

func parse(t testing.TB, file string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// newWorld returns a world with embedded stores.
func newWorld(t testing.TB, file string) *world {
	t.Helper()
	dir := t.TempDir()
	stores, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, cfg: parse(t, file), stores: stores, dir: dir, items: make(map[string]string), seq: 100}
}

// once is a source of one page.
type once struct{ page *pipeline.Page }

func (o *once) Read(context.Context) (*pipeline.Page, error) {
	if o.page == nil {
		return nil, io.EOF
	}
	p := o.page
	o.page = nil
	return p, nil
}

func (w *world) decoder() *record.Decoder {
	return record.NewDecoder(record.DecoderOptions{Table: "shop", EpochZero: true})
}

// put changes the item pk in the source table and sends the record to the sinks. Empty attributes remove the item.
func (w *world) put(pk, attributes string) {
	w.t.Helper()
	w.send(w.change(pk, attributes))
}

// change changes an item in the source table and returns the record of the stream.
func (w *world) change(pk, attributes string) string {
	old, had := w.items[pk]
	now := ""
	if attributes != "" {
		now = fmt.Sprintf(`{"PK":{"S":%q},%s}`, pk, attributes)
	}
	w.seq++
	event, images := "INSERT", ""
	if had {
		event, images = "MODIFY", `,"OldImage":`+old
	}
	if now == "" {
		event = "REMOVE"
		delete(w.items, pk)
	} else {
		images += `,"NewImage":` + now
		w.items[pk] = now
	}
	return fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{"PK":{"S":%q}},"SequenceNumber":"%024d","ApproximateCreationDateTime":1767323045,"StreamViewType":"NEW_AND_OLD_IMAGES"%s}}`, event, pk, w.seq, images)
}

func (w *world) send(lines ...string) {
	w.t.Helper()
	p, err := sinks.Assemble(w.t.Context(), w.cfg, w.stores)
	if err != nil {
		w.t.Fatal(err)
	}
	page := w.decoder().DecodeLines([]byte(strings.Join(lines, "\n")))
	if len(page.Errors) > 0 {
		w.t.Fatal(page.Errors[0])
	}
	source := &once{&pipeline.Page{Page: *page, Partition: "0", Position: "1", End: true}}
	if err := p.Run(w.t.Context(), source, nil); err != nil {
		w.t.Fatal(err)
	}
}

// snapshot returns an item of the source table as a change like an audit does. If the item does not exist, the change
// is a removal.
func (w *world) snapshot(pk string) *record.Change {
	w.t.Helper()
	image, ok := w.items[pk]
	if !ok {
		image = fmt.Sprintf(`{"PK":{"S":%q}}`, pk)
	}
	d := record.NewSnapshotDecoder(record.SnapshotOptions{DecoderOptions: record.DecoderOptions{Table: "shop", EpochZero: true}, Keys: []string{"PK"}})
	page := d.DecodeLines([]byte(`{"Item":` + image + "}"))
	if len(page.Errors) > 0 {
		w.t.Fatal(page.Errors[0])
	}
	if !ok {
		return audit.Removal(&page.Changes[0])
	}
	return &page.Changes[0]
}

func (w *world) open(o audit.Options) map[string]audit.Sink {
	w.t.Helper()
	opened, err := audit.Open(w.t.Context(), w.cfg, w.stores, o)
	if err != nil {
		w.t.Fatal(err)
	}
	all := make(map[string]audit.Sink)
	for _, s := range opened {
		all[s.Name()] = s
	}
	return all
}

// differences compares all items with a sink like an audit does. It joins the expected and the stored entries, and then
// looks at the items whose entries differ.
func (w *world) differences(s audit.Sink) []audit.Finding {
	w.t.Helper()
	ctx := w.t.Context()
	type place struct {
		kind audit.Kind
		at   string
	}
	expected, stored := make(map[place]audit.Entry), make(map[place]audit.Entry)
	for _, pk := range slices.Sorted(maps.Keys(w.items)) {
		err := s.ExpectedEntries(w.snapshot(pk), func(e audit.Entry) {
			at := place{e.Kind, e.Place}
			if was, ok := expected[at]; ok && (!e.Claimed || was.Item < e.Item) {
				return
			}
			expected[at] = e
		})
		if err != nil {
			w.t.Logf("%s of %s: %v", s.Name(), pk, err)
		}
	}
	for e, err := range s.StoredEntries(ctx, state.Listing{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		at := place{e.Kind, e.Place}
		switch {
		case e.Share:
			sum := expected[at]
			e.Digest = audit.AddDigests(sum.Digest, e.Digest)
			expected[at] = e
		default:
			if _, twice := stored[at]; twice {
				w.t.Errorf("%s: %v is stored twice", s.Name(), at)
			}
			stored[at] = e
		}
	}
	candidates := make(map[item.Key][]audit.Entry)
	for at, e := range expected {
		if have, ok := stored[at]; !ok || have.Digest != e.Digest {
			candidates[e.Item] = append(candidates[e.Item], e)
		}
	}
	for at, have := range stored {
		if e, ok := expected[at]; !ok || e.Digest != have.Digest {
			candidates[have.Item] = append(candidates[have.Item], have)
		}
	}
	var found []audit.Finding
	for _, key := range slices.Sorted(maps.Keys(candidates)) {
		found = append(found, w.look(s, key, candidates[key])...)
	}
	return found
}

// look returns the findings about an item or about groups, without the findings that are equal or waiting.
func (w *world) look(s audit.Sink, key item.Key, places []audit.Entry) []audit.Finding {
	w.t.Helper()
	var fs []audit.Finding
	var err error
	if key == "" && places[0].Kind == audit.Group {
		var rows []string
		for _, e := range places {
			if !slices.Contains(rows, e.Place) {
				rows = append(rows, e.Place)
			}
		}
		slices.Sort(rows)
		fs, err = s.(audit.GroupSink).CompareGroups(w.t.Context(), state.Listing{}, rows)
	} else {
		fs, err = s.Compare(w.t.Context(), w.snapshotOf(key), places)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(fs, func(f audit.Finding) bool { return f.Verdict == audit.Equal || f.Verdict == audit.Waiting })
}

func (w *world) snapshotOf(key item.Key) *audit.ItemState {
	w.t.Helper()
	if key == "" {
		return nil
	}
	_, values, err := key.Decode()
	if err != nil {
		w.t.Fatal(err)
	}
	pk, _ := values[0].Text()
	return &audit.ItemState{Change: *w.snapshot(pk)}
}

// want checks that a sink has exactly the given differences, in the form "verdict kind where: differs".
func (w *world) want(name string, lines ...string) {
	w.t.Helper()
	var got []string
	for _, f := range w.differences(w.open(audit.Options{})[name]) {
		line := fmt.Sprintf("%s %s %s", f.Verdict, f.Kind, f.PlaceText)
		if len(f.Differences) > 0 {
			line += ": " + strings.Join(f.Differences, ", ")
		}
		got = append(got, line)
	}
	slices.Sort(got)
	slices.Sort(lines)
	if !slices.Equal(got, lines) {
		w.t.Errorf("%s: differences\n\t%s\nwant\n\t%s", name, strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

// sql runs a statement on views.db, past the sinks. The statement must change n rows.
func (w *world) sql(n int64, statement string, args ...any) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.dir+"/views.db?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	r, err := db.ExecContext(w.t.Context(), statement, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	if changed, _ := r.RowsAffected(); changed != n {
		w.t.Fatalf("%s changed %d rows, want %d", statement, changed, n)
	}
}

// text reads one value of views.db.
func (w *world) text(query string) (s string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.dir+"/views.db?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(w.t.Context(), query).Scan(&s); err != nil {
		w.t.Fatal(err)
	}
	return s
}
