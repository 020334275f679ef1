package scan_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// createTable makes a table with the key PK (S) and SK (N). A stream makes writes slow.
func createTable(t testing.TB, client *dynamodb.Client, table string, stream bool) {
	t.Helper()
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(table),
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("SK"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema:   []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange}},
		BillingMode: types.BillingModePayPerRequest,
	}
	if stream {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
	}
	if _, err := client.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// put writes items and returns them by their key.
func put(t testing.TB, client *dynamodb.Client, table string, docs ...string) map[item.Key]item.Image {
	t.Helper()
	items := map[item.Key]item.Image{}
	var writing sync.WaitGroup
	for batch := range slices.Chunk(docs, len(docs)/4+1) {
		writes := []map[string]types.AttributeValue{}
		for _, doc := range batch {
			m, err := item.Parse([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			writes = append(writes, sdkvalue.Item(m))
			items[keyOf(t, m)] = m
		}
		writing.Go(func() {
			for chunk := range slices.Chunk(writes, 100) {
				in := &dynamodb.TransactWriteItemsInput{}
				for _, it := range chunk {
					in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table), Item: it}})
				}
				if _, err := client.TransactWriteItems(t.Context(), in); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	return items
}

// keyOf is the key as the decoder makes it.
func keyOf(t testing.TB, m item.Image) item.Key {
	pk, _ := m.Get("PK")
	sk, _ := m.Get("SK")
	keys := sdkvalue.Item(m)
	maps.DeleteFunc(keys, func(name string, _ types.AttributeValue) bool { return name != "PK" && name != "SK" })
	image, err := sdkvalue.Image(keys)
	if err == nil && pk.Exists() && sk.Exists() {
		key, err := item.MakeKey("", image)
		if err == nil {
			return key
		}
	}
	t.Fatalf("%s has no key", m.Bytes())
	return ""
}

func open(t testing.TB, client scan.Client, o scan.Options) *scan.Scan {
	t.Helper()
	o.Client, o.Time = client, time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)
	s, err := scan.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// page is a page of a part, with its position.
type page struct {
	*record.Page
	position pipeline.Position
}

// readPart reads a part to its end.
func readPart(ctx context.Context, s snapshot.Snapshot, id string, from pipeline.Position) (pages []page, err error) {
	r, err := s.Open(ctx, id, from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		p, err := r.Read(ctx)
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return pages, err
		}
		decoded, err := p.Decode()
		if err == nil && len(decoded.Errors) > 0 {
			err = decoded.Errors[0]
		}
		if err != nil {
			return pages, err
		}
		if p.Bytes == 0 || p.Position == "" {
			return pages, fmt.Errorf("a page of %d bytes, with the position %q", p.Bytes, p.Position)
		}
		pages = append(pages, page{decoded, p.Position})
	}
}

// readAll reads all parts at once, and returns the changes of each part.
func readAll(t testing.TB, s snapshot.Snapshot) map[string][]page {
	t.Helper()
	all, mu := map[string][]page{}, sync.Mutex{}
	var running sync.WaitGroup
	for _, part := range s.Parts() {
		running.Go(func() {
			pages, err := readPart(t.Context(), s, part.ID, "")
			mu.Lock()
			defer mu.Unlock()
			if all[part.ID] = pages; err != nil {
				t.Errorf("part %s: %v", part.ID, err)
			}
		})
	}
	running.Wait()
	return all
}

// changes are the changes of pages by their key. A key that comes twice is an error.
func changes(t testing.TB, pages ...page) map[item.Key]*record.Change {
	t.Helper()
	found := map[item.Key]*record.Change{}
	for _, p := range pages {
		for i := range p.Changes {
			c := &p.Changes[i]
			if found[c.Key] != nil {
				t.Errorf("%s comes twice", c.Key)
			}
			found[c.Key] = c
		}
	}
	return found
}

// equal reports an item that was not read as it is in the table.
func equal(t testing.TB, found map[item.Key]*record.Change, want map[item.Key]item.Image) {
	t.Helper()
	if len(found) != len(want) {
		t.Errorf("%d items were read, want %d", len(found), len(want))
	}
	for key, m := range want {
		if c := found[key]; c == nil || !c.New.Equal(m) {
			t.Fatalf("%s was not read as it is: %+v", key, c)
		}
	}
}

// allTypes is an item with a value of each type.
var allTypes = `"s":{"S":"é\u0000\"\\\n😀"},"e":{"S":""},"n":{"N":"-1.5E-120"},"b":{"B":"AP8="},"t":{"BOOL":true},"z":{"NULL":true},` +
	`"m":{"M":{"a.b":{"L":[{"N":"1"},{"M":{"x":{"S":"y"}}}]}}},"l":{"L":[]},"em":{"M":{}},"ss":{"SS":["a","b"]},"x":{"S":"` + strings.Repeat("x", 300) + `"},"ns":{"NS":["1","2.50"]},"bs":{"BS":["AA==","/w=="]}`

func docs(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf(`{"PK":{"S":"p%d"},"SK":{"N":"%d.5"},"Type":{"S":%q},%s}`, i/3, i, []string{"Order", "Refund"}[i%2], allTypes))
	}
	return texts
}

func TestScan_ReadsEveryItemOnce(t *testing.T) {
	client := dynamotest.Open(t).Client(t.Name(), nil)
	createTable(t, client, "shop", false)
	want := put(t, client, "shop", docs(10_000)...)
	s := open(t, client, scan.Options{Table: "shop", Segments: 3, Decoder: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}}})
	var all []page
	parts := readAll(t, s)
	for id, pages := range parts {
		if len(pages) == 0 || pages[len(pages)-1].position != "end" {
			t.Errorf("part %s has %d pages, and not the position end", id, len(pages))
		}
		all = append(all, pages...)
	}
	found := changes(t, all...)
	equal(t, found, want)
	if len(all) < 4 {
		t.Errorf("%d pages show no position within a segment", len(all))
	}
	info := s.Info()
	if want := "scan " + s.Table().ARN + " segments 3 begun 2026-11-23T14:00:00Z"; info.Source != want || info.TableARN != s.Table().ARN || !info.Time.Equal(info.OldestTime) || info.Items != 10_000 || info.Bytes < 0 {
		t.Errorf("the scan is %+v, want %s", info, want)
	}
}

// A reader that begins after any page shows the others, and nothing after the last.
func TestScan_Resumes(t *testing.T) {
	client := dynamotest.Open(t).Client(t.Name(), nil)
	createTable(t, client, "shop", true)
	var texts []string
	for i := range 12 { // of 400 KB each: three make a page
		texts = append(texts, fmt.Sprintf(`{"PK":{"S":"p%d"},"SK":{"N":"1"},"text":{"S":%q}}`, i, strings.Repeat("x", 400*1024-30)))
	}
	want := put(t, client, "shop", texts...)
	s := open(t, client, scan.Options{Table: "shop", Segments: 2})
	var all []page
	for id, pages := range readAll(t, s) {
		for i, p := range pages {
			rest, err := readPart(t.Context(), s, id, p.position)
			if err != nil || len(rest) != len(pages)-i-1 {
				t.Fatalf("after page %d of %d come %d: %v", i+1, len(pages), len(rest), err)
			}
			for j, q := range rest {
				if q.position != pages[i+1+j].position || len(q.Changes) != len(pages[i+1+j].Changes) {
					t.Errorf("after page %d, page %d differs", i+1, i+2+j)
				}
			}
		}
		all = append(all, pages...)
	}
	found := changes(t, all...)
	equal(t, found, want)
	for key, c := range found {
		if c.Op != record.Snapshot || c.Version.Epoch() == 0 || c.Sequence != "0" || c.StreamARN != s.Table().StreamARN {
			t.Fatalf("%s is %+v", key, c)
		}
	}
	if len(all) < 4 {
		t.Errorf("%d pages have 12 items of 400 KB", len(all))
	}
}

func TestScan_SmallTables(t *testing.T) {
	client := dynamotest.Open(t).Client(t.Name(), nil)
	for _, n := range []int{0, 3} {
		table := fmt.Sprint("shop", n)
		createTable(t, client, table, true)
		want := put(t, client, table, docs(n)...)
		s := open(t, client, scan.Options{Table: table, Segments: 50})
		parts := s.Parts()
		if len(parts) != 50 || parts[0].ID != "0000/0050" || parts[49].ID != "0049/0050" {
			t.Errorf("the parts are %v", parts)
		}
		equal(t, changes(t, slices.Concat(slices.Collect(maps.Values(readAll(t, s)))...)...), want)
	}
}

// A narrowing is pushed into the requests: what it leaves out is not sent.
func TestScan_Narrowed(t *testing.T) {
	client := dynamotest.Open(t).Client(t.Name(), nil)
	createTable(t, client, "shop", true)
	all := put(t, client, "shop", docs(300)...)
	n, err := snapshot.NewItemSelection(snapshot.NarrowingOptions{Types: []string{"Order"}, KeyPrefix: "p1", PartitionKey: "PK", Filter: `item.s != "x"`})
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(_ item.Key, m item.Image) bool {
		ok, err := n.Match(&record.Change{Op: record.Snapshot, Keys: m, New: m})
		return !ok || err != nil
	})
	s := open(t, client, scan.Options{Table: "shop", Segments: 3, Narrowing: n})
	equal(t, changes(t, slices.Concat(slices.Collect(maps.Values(readAll(t, s)))...)...), all)
	if len(all) == 0 || !strings.HasSuffix(s.Info().Source, "Z "+n.String()) {
		t.Errorf("%d items of %s", len(all), s.Info().Source)
	}
}

func TestNew_Refuses(t *testing.T) {
	client := dynamotest.Open(t).Client(t.Name(), nil)
	createTable(t, client, "shop", true)
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String("still"),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
		BillingMode:          types.BillingModePayPerRequest,
	})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for want, o := range map[string]scan.Options{
		"Client":                       {Table: "shop", Time: begun},
		"Table is empty":               {Client: client, Time: begun},
		"Segments is 1000001":          {Client: client, Table: "shop", Time: begun, Segments: 1_000_001},
		"Segments is -1":               {Client: client, Table: "shop", Time: begun, Segments: -1},
		"RCU is -1":                    {Client: client, Table: "shop", Time: begun, RCU: -1},
		"Time is missing":              {Client: client, Table: "shop"},
		"check name, Region":           {Client: client, Table: "none", Time: begun},
		"Decoder.Keys is PK, but":      {Client: client, Table: "shop", Time: begun, Decoder: record.SnapshotOptions{Keys: []string{"PK"}}},
		"no stream of the table still": {Client: client, Table: "still", Time: begun},
	} {
		if _, err := scan.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	s, err := scan.New(t.Context(), scan.Options{Client: client, Table: "still", Time: begun, Decoder: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []struct{ id, from, want string }{
		{"0016/0016", "", "there is no part"}, {"0000/0008", "", "there is no part"}, {"0/16", "", "there is no part"}, {"", "", "there is no part"},
		{"0000/0016", "17", "the position to continue from"}, {"0000/0016", `{"SK":{"S":"x"}}`, "not a key of the table"},
	} {
		if _, err := s.Open(t.Context(), open.id, pipeline.Position(open.from)); err == nil || !strings.Contains(err.Error(), open.want) {
			t.Errorf("part %q from %q: %v, want %s", open.id, open.from, err, open.want)
		}
	}
}
