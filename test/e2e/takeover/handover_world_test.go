package takeover

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks"
	sinksaws "github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/test/e2e/shop"
	"github.com/tablewake/tablewake/test/esm"
	"github.com/tablewake/tablewake/test/server"
)

// handedOver is the configuration of the pipeline that a function and a consumer run.
const handedOver = `version: 1
name: NAME
source: {table: shop}
state: {table: NAME-state}
sinks:
  by_status:
    view:
      table: NAME-rows
      key: {PK: 'IS#{Status}', SK: '{@key}'}
      attributes: {write: '{Write}'}
  totals:
    aggregate:
      table: NAME-rows
      group: {PK: 'TOTAL#{Customer}', SK: total}
      values: {n: count, sum: {sum: Total}}
      on_ttl_delete: retract
`

const (
	shopItems  = 60
	backlog    = 480              // writes before the hand-over
	writeEvery = 15 * time.Second // time between them by the clock of the stream
)

// handover has a stream in memory, the table that its shop writes, and the tables of one pipeline.
type handover struct {
	*shop.Shop
	server   *streamtest.Server
	stream   *streamtest.Stream
	clock    *clock
	streams  string // endpoint of the streams
	tables   *world
	settings string
	name     string          // name of the pipeline
	next     int             // number of the next write
	done     map[string]bool // sequence numbers of records that the mapping handed over, or that are before its start
}

func newHandover(t *testing.T, noTimestamps bool) *handover {
	t.Helper()
	h := &handover{name: "handover-" + strings.ToLower(rand.Text()[:10]), done: make(map[string]bool)}
	h.clock = &clock{at: time.Now().Add(-backlog * writeEvery).Truncate(time.Second)}
	h.server = streamtest.New(streamtest.Options{Now: h.clock.Now, NoTimestamps: noTimestamps})
	h.Shop = shop.New(h.server.Table("shop", "PK", "SK"), shopItems)
	h.stream = h.server.Enable("shop", streamtest.StreamOptions{Shards: 4})
	h.settings = strings.ReplaceAll(handedOver, "NAME", h.name)
	endpoint := httptest.NewServer(h.server)
	t.Cleanup(endpoint.Close)
	h.streams = endpoint.URL
	h.tables = &world{endpoint: server.DynamoDB().Endpoint(t)}
	sdk := aws.Config{
		Region: server.Region, BaseEndpoint: &h.tables.endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	}
	h.tables.tables = dynamodb.NewFromConfig(sdk)
	cfg, err := config.Parse("tablewake.yaml", []byte(h.settings), nil)
	if err != nil {
		t.Fatal(err)
	}
	stores := sinksaws.Stores(sdk, sinksaws.Create())
	defer stores.Close()
	if _, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Finite()); err != nil {
		t.Fatal(err)
	}
	return h
}

// write makes n writes to the items in turn. Every tenth write removes an item.
func (h *handover) write(t *testing.T, n int) {
	t.Helper()
	for range n {
		h.clock.advance(writeEvery)
		write, pk := h.Put, shop.PK(h.next*7%shopItems)
		if h.next%10 == 9 {
			write = func(pk string) error { return h.Remove(pk, false) }
		}
		if err := write(pk); err != nil {
			t.Fatal(err)
		}
		h.next++
	}
}

// function starts the function of the pipeline.
func (h *handover) function(t *testing.T) *server.Function {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tablewake.yaml"), []byte(h.settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"AWS_ENDPOINT_URL_DYNAMODB=" + h.tables.endpoint}
	return server.StartFunctionFor(t, server.FunctionOptions{Bootstrap: bootstrap, Root: dir, Env: env})
}

// consume starts a consumer that reads from a time on.
func (h *handover) consume(t *testing.T, start time.Time) *consumer {
	t.Helper()
	const more = "{table: shop, start: %s}\nleases: {table: %s-leases, duration: 20s}"
	from := fmt.Sprintf(more, start.UTC().Format(time.RFC3339), h.name)
	return startConsumer(t, strings.Replace(h.settings, "{table: shop}", from, 1), h.tables.endpoint, h.streams)
}

// lines returns the records of the stream. The records of each item are in order.
func (h *handover) lines(t *testing.T) [][]byte {
	t.Helper()
	var out bytes.Buffer
	o := shardreader.RecordOptions{API: h.server, Source: h.stream.ARN(), EmptyPages: 1, Poll: time.Millisecond}
	if _, err := shardreader.Record(t.Context(), &out, o); err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
}

// lineOf has the parts of a record that a mapping uses.
type lineOf struct {
	DynamoDB struct {
		ApproximateCreationDateTime float64
		SequenceNumber              string
	} `json:"dynamodb"`
}

// deliver hands records up to a time to the function, and returns their number. It leaves out the records that the
// function was handed before.
func (h *handover) deliver(t *testing.T, f *server.Function, until time.Time) int {
	t.Helper()
	shard := esm.Shard{ID: "shardId-1"} // one shard is enough, because it keeps the order of each item, too
	for _, line := range h.lines(t) {
		var l lineOf
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if d := l.DynamoDB; !h.done[d.SequenceNumber] && int64(d.ApproximateCreationDateTime) <= until.Unix() {
			h.done[d.SequenceNumber] = true
			shard.Records = append(shard.Records, line)
		}
	}
	m := esm.Mapping{Functions: []esm.Function{f}, ReportFailures: true, MaxRetries: -1}
	if r, err := m.Run(t.Context(), shard); err != nil || r.Errors+r.Partial > 0 {
		t.Fatalf("%+v, %v; the log of the function:\n%s", r, err, f.Log())
	}
	return len(shard.Records)
}

// enableAtLatest makes the mapping begin with records that are written from now on.
func (h *handover) enableAtLatest(t *testing.T) {
	t.Helper()
	for _, line := range h.lines(t) {
		var l lineOf
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		h.done[l.DynamoDB.SequenceNumber] = true
	}
}

// awaitSame waits until the rows are those that follow from the table, while a consumer runs.
func (h *handover) awaitSame(t *testing.T, c *consumer) {
	t.Helper()
	for limit := time.Now().Add(startLimit); ; time.Sleep(250 * time.Millisecond) {
		got, want := h.rows(t), h.model()
		if maps.Equal(got, want) {
			return
		}
		select {
		case <-c.ended:
			t.Fatalf("consume has ended by itself, with %d:\n%s", c.cmd.ProcessState.ExitCode(), c.stderr.Bytes())
		default:
		}
		if time.Now().After(limit) {
			_ = c.cmd.Process.Kill()
			<-c.ended
			t.Fatalf("after %v: %s\n%s", startLimit, differences(got, want), c.stderr.Bytes())
		}
	}
}

// rows returns the rows of both sinks, as text by key.
func (h *handover) rows(t *testing.T) map[string]string {
	t.Helper()
	table, rows := h.name+"-rows", make(map[string]string)
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}
	pages := dynamodb.NewScanPaginator(h.tables.tables, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Items {
			text := func(name string) string {
				switch v := row[name].(type) {
				case *types.AttributeValueMemberS:
					return v.Value
				case *types.AttributeValueMemberN:
					n, _ := new(big.Rat).SetString(v.Value)
					return n.RatString()
				}
				return ""
			}
			if row["_tw_expires"] == nil { // otherwise it is a tombstone
				rows[text("PK")+" "+text("SK")] = text("write") + text("n") + " " + text("sum")
			}
		}
	}
	return rows
}

// model returns the rows that follow from the table.
func (h *handover) model() map[string]string {
	rows, counts, sums := make(map[string]string), make(map[string]int), make(map[string]*big.Rat)
	for pk, it := range h.Items() {
		rows["IS#"+it.Status+" "+strings.ReplaceAll(pk, "#", "%23")+",order"] = fmt.Sprint(it.Write, " ")
		total, _ := new(big.Rat).SetString(it.Total)
		if counts[it.Customer]++; sums[it.Customer] != nil {
			total.Add(total, sums[it.Customer])
		}
		sums[it.Customer] = total
	}
	for customer, n := range counts {
		rows["TOTAL#"+customer+" total"] = fmt.Sprint(n, " ", sums[customer].RatString())
	}
	return rows
}

// differences describes the first rows that are wrong.
func differences(got, want map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			all = append(all, fmt.Sprintf("%s is %q, want %q", key, got[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if want[key] == "" {
			all = append(all, fmt.Sprintf("%s is %q, want none", key, got[key]))
		}
	}
	return fmt.Sprintf("%d rows are wrong: %s", len(all), strings.Join(all[:min(len(all), 3)], "; "))
}

// clock is the clock of a stream.
type clock struct {
	mu sync.Mutex
	at time.Time // the time at which the clock stands still; zero: the clock is the machine's
}

// Now returns the time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Now()
	}
	return c.at
}

// advance moves a clock that stands still.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() {
		c.at = c.at.Add(d)
	}
}

// follow makes the clock follow the machine's clock.
func (c *clock) follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}
