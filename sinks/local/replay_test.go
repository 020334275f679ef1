package local_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks/local"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

const everySink = `
version: 1
name: shop
source: {table: shop}
detect:
  paid: {attribute: Status, to: paid}
sinks:
  orders:
    view:
      table: shop-views
      when: 'item.Type == "Order"'
      key: {PK: 'STATUS#{Status}', SK: '{@key}'}
      attributes: {total: '{Total}'}
  products: {search: {index: products, when: 'item.Type == "Product"'}}
  history: {archive: {bucket: shop-archive, partition: 'dt={@time|date:2006-01-02}'}}
  deleted: {archive: {layout: per_item, kinds: [user_delete, ttl_delete], key: '{Type}/{PK}/{@version}.json'}}
  told: {notify: {events: [paid]}}
dead_letters: {bucket: shop-dead}
`

// lines returns the records of twelve paid orders and four products. Every third order is removed. The last two records
// are an order whose status is not text and an invalid record.
func lines() string {
	var b strings.Builder
	n := 0
	record := func(op, pk, old, new string) {
		n++
		fmt.Fprintf(&b, `{"eventID":"%[1]d","eventName":%[2]q,"dynamodb":{"ApproximateCreationDateTime":1767225600,"Keys":{"PK":{"S":%[3]q}},"SequenceNumber":"1000000000000000000%03[1]d"`, n, op, pk)
		for _, image := range [][2]string{{"OldImage", old}, {"NewImage", new}} {
			if image[1] != "" {
				fmt.Fprintf(&b, `,%q:{"PK":{"S":%q},%s}`, image[0], pk, image[1])
			}
		}
		b.WriteString(`,"StreamViewType":"NEW_AND_OLD_IMAGES"}}` + "\n")
	}
	order := func(status string) string {
		return `"Type":{"S":"Order"},"Total":{"N":"1.50"},"Status":` + status
	}
	for i := range 12 {
		pk := fmt.Sprintf("O%d", i)
		record("INSERT", pk, "", order(`{"S":"new"}`))
		record("MODIFY", pk, order(`{"S":"new"}`), order(`{"S":"paid"}`))
		if i%3 == 0 {
			record("REMOVE", pk, order(`{"S":"paid"}`), "")
		}
	}
	for i := range 4 {
		record("INSERT", fmt.Sprintf("P%d", i), "", `"Type":{"S":"Product"},"Name":{"S":"thing"}`)
	}
	record("INSERT", "O99", "", order(`{"L":[]}`))
	record("INSERT", "O98", "", order(`{"N":"none"}`))
	return b.String()
}

func run(t *testing.T, dir string) pipeline.Ledger {
	t.Helper()
	p, stores, err := assembled(t, dir, everySink)
	if err != nil {
		t.Fatal(err)
	}
	src, err := replay.Open(replay.Options{
		Paths: []string{"-"}, Stdin: strings.NewReader(lines()),
		Decoder: record.DecoderOptions{Table: "shop", EpochZero: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Run(t.Context(), src, nil), src.Close(), stores.Close()); err != nil {
		t.Fatal(err)
	}
	l := p.Ledger()
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	return l
}

// A second replay of the same records does not change the folder.
func TestSecondReplayChangesNothing(t *testing.T) {
	dir := t.TempDir()
	l := run(t, dir)
	if l.Source.Read != 34 || l.Source.Undecodable != 1 || l.Events["paid"] != 12 {
		t.Errorf("source %+v, events %v", l.Source, l.Events)
	}
	if n := l.Sinks["orders"].DeadLettered; n != 1 {
		t.Errorf("%d orders in dead letters, want the one whose status is not a text", n)
	}
	first := contents(t, dir)
	rows, documents, files := 0, 0, 0
	for _, line := range first {
		switch {
		case strings.HasPrefix(line, "row "):
			rows++
		case strings.HasPrefix(line, "document "):
			documents++
		default:
			files++
		}
	}
	if rows != 8 || documents != 4 || files != 4+1+1+1+3 { // objects, a log, letters, events, and the fingerprints of three sinks
		t.Errorf("%d rows, %d documents, %d files:\n%s", rows, documents, files, strings.Join(first, "\n"))
	}
	run(t, dir)
	if diff := gocmp.Diff(first, contents(t, dir)); diff != "" {
		t.Errorf("the second replay changed (-first +second):\n%s", diff)
	}
}

// contents returns the content of a folder: rows, documents, and the files of archives, events and dead letters.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	stores := local.Dir(dir)
	views, err := sqlite.Open(t.Context(), stores.Views(), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range views.Rows(t.Context(), view.Table{Name: "shop-views"}, view.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("row %v %v", row.Item.Value(), row.Version))
	}
	index, err := searchsqlite.OpenReader(t.Context(), stores.Views())
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range index.Documents(t.Context(), "products") {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("document %s %s", d.ID, d.Doc))
	}
	if err := errors.Join(views.Close(), index.Close()); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{stores.Archive("shop-archive"), stores.Archive("deleted"), stores.EventFiles(), stores.DeadLetters()} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(e.Name(), ".lock") {
				return err
			}
			b, err := os.ReadFile(path)
			found = append(found, fmt.Sprintf("file %s %d", strings.TrimPrefix(path, dir), len(b)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(found, cmp.Compare[string])
	return found
}
