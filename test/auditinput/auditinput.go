// Package auditinput has the input of an audit: a table of any size and a view of the table. Both are made up page by
// page while they are read. So they take no memory, and reading them costs little more than decoding them.
package auditinput

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// file is the configuration of the view.
const file = `version: 1
name: audited
source: {table: orders}
state: {table: audited-state}
sinks:
  by_status: {view: {table: views, key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {
    type: '{Type}', total: '{Total}', currency: '{Currency}', created: '{CreatedAt}', paid: '{Paid}', note: '{Note}', city: '{Address.City}', tags: '{Tags}'}}}
`

// These are an order of 13 attributes, its key and its row. Each % stands for the number of the item, which differs
// between items.
const (
	orderItem = `{"PK":{"S":"USER#%"},"SK":{"S":"ORDER#2026-11-21#%"},"Type":{"S":"Order"},"Status":{"S":"completed"},"Total":{"N":"%.25"},"Currency":{"S":"EUR"},"CreatedAt":{"N":"1795251600"},"Paid":{"BOOL":true},` +
		`"Note":{"S":"call before you come, please"},"Coupon":{"NULL":true},"Address":{"M":{"Street":{"S":"Ringstrasse 12"},"City":{"S":"Lugano"},"Zip":{"S":"6900"}}},` +
		`"Tags":{"SS":["express","gift"]},"Lines":{"L":[{"M":{"sku":{"S":"SKU-%"},"qty":{"N":"2"}}},{"M":{"sku":{"S":"SKU-00017"},"qty":{"N":"1"}}}]}}`
	orderKey = `{"PK":{"S":"USER#%"},"SK":{"S":"ORDER#2026-11-21#%"}}`
	orderRow = `{"PK":{"S":"STATUS#completed"},"SK":{"S":"USER%23%,ORDER%232026-11-21%23%"},"type":{"S":"Order"},"total":{"N":"%.25"},"currency":{"S":"EUR"},"created":{"N":"1795251600"},"paid":{"BOOL":true},` +
		`"note":{"S":"call before you come, please"},"city":{"S":"Lugano"},"tags":{"SS":["express","gift"]}}`
)

const tableARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders"

// firstNumber is the number of the first item. The numbers of all items have as many digits.
const firstNumber = 10_000_000

// parts is the number of segments in which the table is read.
const parts = 16

// pieces are the parts of a text between its numbers.
type pieces [][]byte

// cut divides a text at each % that does not belong to an escaped #.
func cut(text string) pieces {
	const escaped, kept = "%23", "\x00"
	var all pieces
	for _, piece := range bytes.Split(bytes.ReplaceAll([]byte(text), []byte(escaped), []byte(kept)), []byte("%")) {
		all = append(all, bytes.ReplaceAll(piece, []byte(kept), []byte(escaped)))
	}
	return all
}

// appendTo appends the text of item i.
func (p pieces) appendTo(dst []byte, i int) []byte {
	dst = append(dst, p[0]...)
	for _, piece := range p[1:] {
		dst = strconv.AppendInt(dst, int64(firstNumber+i), 10)
		dst = append(dst, piece...)
	}
	return dst
}

// Input is a table and its view.
type Input struct {
	n       int
	item    pieces
	key     pieces
	row     pieces
	source  pieces // pieces of the canonical key of an item
	version record.Version
	decoder record.SnapshotOptions
	client  *dynamodb.Client
	cfg     *config.Config
	stores  sinks.Stores

	file     string // path of the embedded view; "" without one
	segments int    // number of segments in which the view is read
	target   view.Target
}

var _ view.Lister = rows{}

// New returns a table of n items and their view.
func New(n int) (*Input, error) {
	cfg, err := config.Parse("tablewake.yaml", []byte(file), func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	version, err := record.ParseVersion(fmt.Sprintf("%010d%040d", 1795251600, 7))
	if err != nil {
		return nil, err
	}
	in := &Input{
		n: n, item: cut(orderItem), key: cut(orderKey), row: cut(orderRow), source: cut("USER%23%,ORDER%232026-11-21%23%"), version: version, cfg: cfg,
		target:  view.Target{Table: view.Table{Name: "views", PK: "PK", SK: "SK"}, View: "by_status", Pipeline: cfg.Name},
		decoder: record.SnapshotOptions{DecoderOptions: sinks.Decoder(cfg), Keys: []string{"PK", "SK"}},
	}
	in.decoder.StreamARN = tableARN + "/stream/2026-11-21T07:00:00.000"
	in.client = dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: &http.Client{Transport: transport{in}},
	})
	in.stores, in.segments = madeUp{in: in}, parts
	return in, nil
}

// Embed writes the view into an embedded store in a folder. From then on this view is read instead of made-up rows.
// close closes the store.
func (in *Input) Embed(ctx context.Context, dir string) (close func() error, err error) {
	stores, err := local.Open(dir)
	if err != nil {
		return nil, err
	}
	p, err := sinks.Assemble(ctx, in.cfg, stores, sinks.Finite())
	if err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	table, err := in.table(ctx)
	if err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	if err := p.Run(ctx, &partSource{table: table, left: table.Parts()}, nil); err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	in.read(dir, stores)
	return stores.Close, nil
}

// partSource reads the parts of a snapshot one after the other.
type partSource struct {
	table snapshot.Snapshot
	left  []snapshot.Part
	part  snapshot.Reader // nil if the next part is not open yet
}

// Read implements [pipeline.Source].
func (s *partSource) Read(ctx context.Context) (*pipeline.Page, error) {
	for {
		if s.part != nil {
			page, err := s.part.Read(ctx)
			if !errors.Is(err, io.EOF) {
				return page, err
			}
			s.part = nil
		}
		if len(s.left) == 0 {
			return nil, io.EOF
		}
		part, err := s.table.Open(ctx, s.left[0].ID, "")
		if err != nil {
			return nil, err
		}
		s.part, s.left = part, s.left[1:]
	}
}

// OpenEmbedded opens the view that another process embedded in a folder. close closes the store.
func (in *Input) OpenEmbedded(dir string) (close func() error, err error) {
	stores, err := local.Open(dir)
	if err != nil {
		return nil, err
	}
	in.read(dir, stores)
	return stores.Close, nil
}

// read makes the embedded view of a folder the view that is read.
func (in *Input) read(dir string, stores *local.Stores) {
	in.file = filepath.Join(dir, "views.db")
	in.stores, in.segments = stores, 1 // the embedded store would read everything for each segment
}

// table returns a scan of the table.
func (in *Input) table(ctx context.Context) (snapshot.Snapshot, error) {
	return scan.New(ctx, scan.Options{Client: in.client, Table: tableARN, Segments: parts, Time: time.Unix(1795251600, 0).UTC(), Decoder: in.decoder})
}

// Audit audits the view, and writes its report into dir.
func (in *Input) Audit(ctx context.Context, dir string) (*run.Summary, error) {
	opened, err := audit.Open(ctx, in.cfg, in.stores, audit.Options{})
	if err != nil {
		return nil, err
	}
	table, err := in.table(ctx)
	if err != nil {
		return nil, err
	}
	sum, err := run.Audit(ctx, run.Options{Report: filepath.Join(dir, "report.jsonl"), Sinks: opened, Items: table, Segments: in.segments, NoWriters: true})
	if err != nil {
		return sum, err
	}
	n, view := int64(in.n), sum.Sinks[0]
	switch {
	case sum.Items != n || view.Stored != n || view.Compared != n:
		err = fmt.Errorf("%d items, %d rows and %d places were read, of %d", sum.Items, view.Stored, view.Compared, n)
	case sum.Differing > 0 || !sum.Complete():
		err = fmt.Errorf("%d entries differ, and %d are open", sum.Differing, sum.Open)
	}
	return sum, err
}

// Scan reads and decodes everything that an audit reads, and does nothing else. It returns the numbers of items and
// rows.
func (in *Input) Scan(ctx context.Context) (items, read int, err error) {
	table, err := in.table(ctx)
	if err != nil {
		return 0, 0, err
	}
	store, err := in.stores.View(ctx, in.cfg, in.cfg.Sinks[0])
	if err != nil {
		return 0, 0, err
	}
	for _, p := range table.Parts() {
		r, err := table.Open(ctx, p.ID, "")
		if err != nil {
			return items, read, err
		}
		for page, err := range pipeline.DecodedPages(ctx, r) {
			if err != nil {
				return items, read, err
			}
			items += len(page.Changes)
		}
	}
	for segment := range in.segments {
		for _, err := range store.(view.Lister).ListRows(ctx, in.target, state.Listing{Segment: segment, Segments: in.segments}) {
			if err != nil {
				return items, read, err
			}
			read++
		}
	}
	return items, read, nil
}

// madeUp is a set of stores with only the view.
type madeUp struct {
	sinks.Stores
	in *Input
}

// View implements [sinks.Stores].
func (s madeUp) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return rows{in: s.in}, nil
}

// State implements [sinks.Stores]. No state is recorded.
func (s madeUp) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

// rows lists the made-up rows of the view.
type rows struct {
	view.Store
	in *Input
}

// ListRows implements [view.Lister].
func (r rows) ListRows(_ context.Context, t view.Target, l state.Listing) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		for i := l.Segment; i < r.in.n; i += max(l.Segments, 1) {
			image, err := item.Parse(r.in.row.appendTo(nil, i))
			row := view.Row{Item: image, Version: r.in.version, Source: item.Key(r.in.source.appendTo(nil, i)), View: t.View}
			row.PK, _ = image.Get(t.PK)
			row.SK, _ = image.Get(t.SK)
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}
