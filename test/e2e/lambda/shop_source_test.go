package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/e2e/shop"
	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/esm"
	"github.com/tablewake/tablewake/test/eventruler"
	"github.com/tablewake/tablewake/test/server"
)

// Limits of the waits in the test of a shopSource.
const (
	writeLimit   = 10 * time.Minute // all of its writes
	deliverLimit = 3 * time.Minute  // one delivery of the stream's records
	readLimit    = 10 * time.Second // one call of the Streams API
)

// shopSource is a table of DynamoDB Local that a shop writes to, with its stream of one shard.
type shopSource struct {
	*shop.Shop
	table      *timedTable
	arn, shard string
	api        shardreader.API
}

// timedTable writes items to a table and notes the times, because DynamoDB Local truncates the creation times of
// records to the minute.
type timedTable struct {
	ctx    context.Context //nolint:containedctx // of the test
	client *dynamodb.Client
	name   string

	mu    sync.Mutex
	times []time.Time // time of each write, in the order of the records
}

func newShopSource(t *testing.T, w *world.World) *shopSource {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), writeLimit)
	t.Cleanup(cancel)
	table := &timedTable{ctx: ctx, client: dynamodb.NewFromConfig(w.SDK), name: w.Pipeline + "-source"}
	s := &shopSource{Shop: shop.New(table, 1), table: table, api: sdk.New(streams(w), record.DecoderOptions{DynamoDBLocal: true})}
	s.arn, s.shard = createTable(t, w, table.name, "PK", "SK")
	return s
}

func (d *timedTable) Put(text string) (streamtest.Written, error) {
	return d.write(text, func(it map[string]types.AttributeValue) error {
		_, err := d.client.PutItem(d.ctx, &dynamodb.PutItemInput{TableName: &d.name, Item: it})
		return err
	})
}

func (d *timedTable) Delete(key string) (streamtest.Written, error) {
	return d.write(key, func(it map[string]types.AttributeValue) error {
		_, err := d.client.DeleteItem(d.ctx, &dynamodb.DeleteItemInput{TableName: &d.name, Key: it})
		return err
	})
}

func (d *timedTable) Expire(key string) (streamtest.Written, error) { return d.Delete(key) }

func (d *timedTable) write(text string, do func(map[string]types.AttributeValue) error) (streamtest.Written, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	it, err := item.Parse([]byte(text))
	if err == nil {
		err = do(sdkvalue.Item(it))
	}
	if err == nil {
		d.times = append(d.times, time.Now())
	}
	return streamtest.Written{}, err
}

// creationTime matches the creation time of a record in JSON.
var creationTime = regexp.MustCompile(`"ApproximateCreationDateTime":[0-9.eE+]+`)

// records returns all records of the stream as Lambda hands them over: each was created in the second of its write.
func (s *shopSource) records(ctx context.Context) ([][]byte, error) {
	var out bytes.Buffer
	o := shardreader.RecordOptions{API: s.api, Source: s.arn, EmptyPages: 2, Poll: 20 * time.Millisecond}
	if _, err := shardreader.Record(ctx, &out, o); err != nil {
		return nil, err
	}
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	all := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(all) > len(s.table.times) {
		return nil, fmt.Errorf("%d records of %d writes", len(all), len(s.table.times))
	}
	for i, line := range all {
		created := fmt.Appendf(nil, `"ApproximateCreationDateTime":%d`, s.table.times[i].Unix())
		all[i] = creationTime.ReplaceAll(line, created)
	}
	return all, nil
}

// mapping is an event source mapping of a shopSource that began at LATEST.
type mapping struct {
	*shopSource
	engine *eventruler.Engine
	filter *eventruler.Ruler
	at     int // number of records that were handed over, or that were there before
}

func newMapping(t *testing.T, s *shopSource) *mapping {
	t.Helper()
	engine, err := eventruler.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	m := &mapping{shopSource: s, engine: engine}
	m.take(t)
	return m
}

// filters sets the filter criteria.
func (m *mapping) filters(t *testing.T, patterns []string) {
	t.Helper()
	var err error
	if m.filter, err = m.engine.Ruler(patterns); err != nil {
		t.Fatal(err)
	}
}

// take returns the records that were neither taken nor delivered yet, and counts them as taken.
func (m *mapping) take(t *testing.T) [][]byte {
	t.Helper()
	all, err := m.records(m.table.ctx)
	if err != nil {
		t.Fatal(err)
	}
	next := all[m.at:]
	m.at = len(all)
	return next
}

// deliver hands each new record of the stream to the function once. No invocation may fail.
func (m *mapping) deliver(ctx context.Context, f *server.Function) error {
	ctx, cancel := context.WithTimeoutCause(ctx, deliverLimit, fmt.Errorf("the stream was not handed over within %v", deliverLimit))
	defer cancel()
	all, err := m.records(ctx)
	if err != nil || len(all) == m.at {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	lambda := esm.Mapping{Functions: []esm.Function{strict{f, end}}, ReportFailures: true, Filter: m.filter.MatchAll}
	report, err := lambda.Run(ctx, esm.Shard{ID: m.shard, Records: all[m.at:]})
	if err == nil && report.Partial > 0 {
		err = fmt.Errorf("%+v", report)
	}
	m.at = len(all)
	return err
}

// strict is a function whose first failure ends the mapping, which would otherwise repeat the invocation.
type strict struct {
	*server.Function
	end context.CancelCauseFunc
}

// Invoke implements [esm.Function].
func (s strict) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	answer, err := s.Function.Invoke(ctx, event)
	if err != nil {
		s.end(err)
	}
	return answer, err
}

// same compares the rows whose keys have one of the prefixes with the table. There must be no other row.
func same(t *testing.T, w *world.World, s *shopSource, prefixes ...string) {
	t.Helper()
	got, want := world.NewState(), world.NewState()
	w.ReadTable(t, got)
	put := func(pk, sk, attributes string) {
		if prefix, _, _ := strings.Cut(pk, "#"); slices.Contains(prefixes, prefix) {
			key := fmt.Sprintf(`"PK": S {"Value":%q}, "SK": S {"Value":%q}`, pk, sk)
			want[world.Rows]["{"+key+"}"] = "{" + key + ", " + attributes + "}"
		}
	}
	type group struct {
		n   int
		sum big.Rat
	}
	totals := make(map[string]*group)
	for pk, it := range s.Items() {
		write, key := fmt.Sprintf(`"write": N %d`, it.Write), strings.ReplaceAll(pk, "#", "%23")+",order"
		if strings.HasPrefix(pk, "item#00008") {
			put("RECENT", key, write)
		}
		if it.Status == "open" {
			continue
		}
		put("OF#"+it.Customer, key, write)
		if totals[it.Customer] == nil {
			totals[it.Customer] = new(group)
		}
		g, total := totals[it.Customer], new(big.Rat)
		total.SetString(it.Total)
		g.n++
		g.sum.Add(&g.sum, total)
	}
	for customer, g := range totals {
		put("TOTAL#"+customer, "total", fmt.Sprintf(`"n": N %d, "sum": N %s`, g.n, g.sum.RatString()))
	}
	world.Same(t, world.State{world.Rows: got[world.Rows]}, world.State{world.Rows: want[world.Rows]})
}

// lambdaAPI answers requests of Lambda's API about one function and the mapping of a stream to it.
type lambdaAPI struct {
	stream string
	env    string // environment variable with its endpoint for the SDK

	mu       sync.Mutex
	patterns []string  // filter criteria of the mapping
	changed  time.Time // when the function and the mapping were changed
}

func newLambdaAPI(t *testing.T, stream string) *lambdaAPI {
	t.Helper()
	a := &lambdaAPI{stream: stream}
	endpoint := httptest.NewServer(a)
	t.Cleanup(endpoint.Close)
	a.env = "AWS_ENDPOINT_URL_LAMBDA=" + endpoint.URL
	return a
}

func (a *lambdaAPI) set(patterns []string, changed time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.patterns, a.changed = patterns, changed
}

// ServeHTTP answers GetFunctionConfiguration and ListEventSourceMappings.
func (a *lambdaAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:shop"
	var filters []map[string]string
	for _, p := range a.patterns {
		filters = append(filters, map[string]string{"Pattern": p})
	}
	var answer any
	switch path := strings.Trim(r.URL.Path, "/"); {
	case path == "2015-03-31/functions/shop/configuration":
		answer = map[string]any{
			"FunctionArn": arn, "FunctionName": "shop", "LastUpdateStatus": "Successful",
			"LastModified": a.changed.UTC().Format("2006-01-02T15:04:05.000-0700"),
		}
	case path == "2015-03-31/event-source-mappings" && r.URL.Query().Get("EventSourceArn") == a.stream:
		answer = map[string]any{"EventSourceMappings": []any{map[string]any{
			"UUID": "mapping", "State": "Enabled", "EventSourceArn": a.stream, "FunctionArn": arn,
			"LastModified": a.changed.Unix(), "FilterCriteria": map[string]any{"Filters": filters},
		}}}
	default:
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}
