package consume

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	ddbitem "github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

// source is the source table of a test, with the shop that writes to the table.
type source struct {
	*shop.Shop
	arn  string
	stop func() // ends the writes that write began, and waits until they have ended
}

// newSource returns the table of a streamserver as a source.
func newSource(t *testing.T, s *stream) *source {
	t.Helper()
	var st struct{ Stream string }
	s.do(t, http.MethodGet, "/admin/stats", nil, &st)
	arn, _, _ := strings.Cut(st.Stream, "/stream/")
	return &source{Shop: shop.New(streamTable{t.Context(), s}, *backfillItems), arn: arn}
}

// write writes to the table in a goroutine until stop is called or n writes are done. The limit lets consumers on a
// busy machine catch up.
func (s *source) write(t *testing.T, n, perSecond int) {
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		if written, err := s.Write(ctx, n, perSecond, n); err != nil {
			t.Error(err)
		} else {
			t.Logf("%d writes", written)
		}
	})
	s.stop = func() {
		cancel()
		writer.Wait()
	}
	t.Cleanup(s.stop)
}

// fill puts the items 0 to n-1.
func (s *source) fill(t *testing.T, n int) {
	t.Helper()
	s.must(t, s.Fill(n))
}

func (s *source) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// export writes a full export of the table as it is now, and returns its folder.
func (s *source) export(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s.must(t, s.Export(dir, s.arn))
	return dir
}

// exportChanges writes an incremental export of the changes since the last export, and returns its folder.
func (s *source) exportChanges(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s.must(t, s.ExportChanges(dir, s.arn))
	return dir
}

// list writes the present items into files of a folder. It returns the folder and the present time.
func (s *source) list(t *testing.T) (dir string, shown time.Time) {
	t.Helper()
	dir, shown = t.TempDir(), time.Now()
	var files [8]strings.Builder
	for pk, it := range s.Items() {
		files[shop.PartOf(pk, len(files))].WriteString(it.JSON() + "\n")
	}
	for n := range files {
		s.must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("items-%d.jsonl", n)), []byte(files[n].String()), 0o600))
	}
	return dir, shown
}

// streamTable is the table of a streamserver.
type streamTable struct {
	ctx    context.Context //nolint:containedctx // of the test
	stream *stream
}

func (s streamTable) Put(item string) (w streamtest.Written, err error) {
	return w, s.stream.ask(s.ctx, http.MethodPost, "/admin/put", map[string]any{"item": json.RawMessage(item)}, nil)
}

func (s streamTable) Delete(key string) (streamtest.Written, error) { return s.remove(key, false) }
func (s streamTable) Expire(key string) (streamtest.Written, error) { return s.remove(key, true) }

func (s streamTable) remove(key string, expire bool) (w streamtest.Written, err error) {
	return w, s.stream.ask(s.ctx, http.MethodPost, "/admin/delete", map[string]any{"item": json.RawMessage(key), "expire": expire}, nil)
}

// newSource fills a table of DynamoDB Local with items and returns it as a source.
func (w *world) newSource(t *testing.T, table string) *source {
	t.Helper()
	d := &dynamoTable{ctx: t.Context(), client: w.client, name: table, fill: true}
	s := &source{Shop: shop.New(d, *backfillItems)}
	s.fill(t, *backfillItems)
	s.must(t, d.endFill())
	return s
}

// dynamoTable is a table of DynamoDB Local. Expire deletes an item there.
type dynamoTable struct {
	ctx    context.Context //nolint:containedctx // of the test
	client *dynamodb.Client
	name   string
	fill   bool // puts are collected and written in batches
	puts   []types.WriteRequest
}

func (d *dynamoTable) Put(text string) (w streamtest.Written, err error) {
	it, err := ddbitem.Parse([]byte(text))
	switch {
	case err != nil:
	case !d.fill:
		_, err = d.client.PutItem(d.ctx, &dynamodb.PutItemInput{TableName: &d.name, Item: sdkvalue.Item(it)})
	default:
		if d.puts = append(d.puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: sdkvalue.Item(it)}}); len(d.puts) == 25 {
			err = d.flush()
		}
	}
	return w, err
}

// endFill writes the remaining collected puts. Later puts are written at once.
func (d *dynamoTable) endFill() error {
	d.fill = false
	return d.flush()
}

func (d *dynamoTable) flush() error {
	puts := d.puts
	if d.puts = nil; len(puts) == 0 {
		return nil
	}
	_, err := d.client.BatchWriteItem(d.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{d.name: puts}})
	return err
}

func (d *dynamoTable) Delete(key string) (w streamtest.Written, err error) {
	it, err := ddbitem.Parse([]byte(key))
	if err == nil {
		_, err = d.client.DeleteItem(d.ctx, &dynamodb.DeleteItemInput{TableName: &d.name, Key: sdkvalue.Item(it)})
	}
	return w, err
}

func (d *dynamoTable) Expire(key string) (streamtest.Written, error) { return d.Delete(key) }
