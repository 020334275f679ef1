package lost

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// servers has the stores of one pipeline on real servers, with clients that can damage the stores.
type servers struct {
	*world.World
	t       *testing.T
	tables  *dynamodb.Client
	objects *s3.Client
	saved   map[string][]map[string]types.AttributeValue // contents of tables after the first third
}

// losses are losses that may happen to the stores while no process of the pipeline runs.
var losses = map[string]func(s *servers){
	"state deleted": func(s *servers) { s.drop(s.State) },
	"views deleted": func(s *servers) { s.drop(s.Table) },
	"views of an old state deleted": func(s *servers) {
		s.age(s.State)
		s.drop(s.Table)
	},
	"both deleted":           func(s *servers) { s.drop(s.State); s.drop(s.Table) },
	"views emptied":          func(s *servers) { s.empty(s.Table) },
	"index deleted":          func(s *servers) { s.dropIndexes() },
	"bucket deleted":         func(s *servers) { s.dropBucket() },
	"state made again":       func(s *servers) { s.restore(s.State, nil) },
	"views made again":       func(s *servers) { s.restore(s.Table, nil) },
	"state restored":         func(s *servers) { s.restore(s.State, s.scan(s.State)) },
	"views restored":         func(s *servers) { s.restore(s.Table, s.scan(s.Table)) },
	"older state restored":   func(s *servers) { s.restore(s.State, s.saved[s.State]) },
	"older views restored":   func(s *servers) { s.restore(s.Table, s.saved[s.Table]) },
	"older both restored":    func(s *servers) { s.restore(s.State, s.saved[s.State]); s.restore(s.Table, s.saved[s.Table]) },
	"births deleted":         func(s *servers) { s.deleteItems(s.State, "births") },
	"state and index lost":   func(s *servers) { s.drop(s.State); s.dropIndexes() },
	"state and bucket lost":  func(s *servers) { s.drop(s.State); s.dropBucket() },
	"views and bucket lost":  func(s *servers) { s.drop(s.Table); s.dropBucket() },
	"nothing (for the test)": func(*servers) {},
}

// Whatever is lost, and however the pipeline continues, the result is a refusal or that of a clean pass. The pipeline
// continues with --create, as the hint about a missing table says.
func TestServers_NothingDoubledNothingMissing(t *testing.T) {
	to := world.Running(t)
	for name, lose := range losses {
		for _, then := range []string{"continues", "replays all"} {
			t.Run(name+", "+then, func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				rng := rand.New(rand.NewPCG(seed, 1))
				records := history(rng, 60)
				w := world.New(t, to)
				cfg := w.Config(t, t.TempDir(), every, to)
				want := world.Embedded(t, cfg, w.Names, records)
				s := &servers{w, t, dynamodb.NewFromConfig(w.SDK), s3.NewFromConfig(w.SDK), make(map[string][]map[string]types.AttributeValue)}
				first, second := 10+rng.IntN(20), 30+rng.IntN(20)
				// A start that writes nothing leaves nothing to lose.
				for i, part := range [][][]byte{nil, nil, records[:first], records[first:second]} {
					if err := s.pass(t, cfg, part); err != nil {
						t.Fatalf("seed %d: part %d: %v", seed, i, err)
					}
					if i == 2 {
						s.saved[w.Table], s.saved[w.State] = s.scan(w.Table), s.scan(w.State)
					}
				}
				lose(s)
				rest := records[second:]
				if then == "replays all" {
					rest = records
				}
				err := s.pass(t, cfg, rest)
				if err != nil {
					refused(t, name, err)
					if strings.HasPrefix(name, "older") && !strings.Contains(name, "both") {
						return // they have different times: accepting them prints that they stay wrong
					}
					s.adopt(t, cfg)
					s.fillWaiting(t, cfg, records)
					if err := s.pass(t, cfg, records); err != nil {
						t.Fatalf("seed %d: after it was adopted: %v", seed, err)
					}
				}
				t.Logf("seed %d", seed)
				same(t, want, w.Read(t, cfg))
			})
		}
	}
}

// adopt follows the refusals. It accepts what can be accepted, and deletes the other outputs, so that they are filled
// again.
func (s *servers) adopt(t *testing.T, cfg *config.Config) {
	t.Helper()
	for range 3 {
		stores := aws.Stores(s.SDK, aws.LookOnly(), aws.Create())
		all, err := sinks.Adopt(t.Context(), cfg, stores, "")
		if err != nil {
			t.Fatal(err)
		}
		refused := slices.ContainsFunc(all, func(a sinks.Adoption) bool { return a.Refused != "" })
		if !refused {
			err = sinks.Accept(t.Context(), cfg, stores, all)
		}
		if err := errors.Join(err, stores.Close()); err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			return
		}
		if refused {
			s.drop(s.Table)
		}
	}
	t.Fatal("it is never settled")
}

// fillWaiting fills the sinks that wait after the adoption with the whole history.
func (s *servers) fillWaiting(t *testing.T, cfg *config.Config, records [][]byte) {
	t.Helper()
	stores := aws.Stores(s.SDK, aws.Create())
	defer func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := sinks.Assemble(t.Context(), cfg, stores); err != nil {
		t.Fatal(err)
	}
	kept, err := stores.State(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var waiting []state.Birth
	var o sinks.BackfillOptions
	for b, err := range kept.Births(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Stage == state.Waiting {
			waiting, o.Sinks = append(waiting, b), append(o.Sinks, b.Sink)
		}
	}
	if len(waiting) == 0 {
		return
	}
	filling, err := sinks.ChangeBirths(t.Context(), kept, waiting, func(b *state.Birth) { b.Stage, b.Run = state.Filling, "history" })
	if err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Backfill(o))
	if err == nil {
		err = run(t, p, records)
	}
	if err == nil {
		_, err = sinks.ChangeBirths(t.Context(), kept, filling, func(b *state.Birth) { b.Stage = state.Live })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pass runs records through a new pipeline that makes missing resources.
func (s *servers) pass(t *testing.T, cfg *config.Config, records [][]byte) error {
	t.Helper()
	stores := aws.Stores(s.SDK, aws.Create())
	defer func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	}()
	return pass(t, cfg, stores, records)
}

func (s *servers) drop(table string) {
	s.t.Helper()
	if _, err := s.tables.DeleteTable(s.t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		s.t.Fatal(err)
	}
}

// scan returns all items of a table.
func (s *servers) scan(table string) (items []map[string]types.AttributeValue) {
	s.t.Helper()
	pages := dynamodb.NewScanPaginator(s.tables, &dynamodb.ScanInput{TableName: &table, ConsistentRead: new(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		items = append(items, page.Items...)
	}
	return items
}

// restore deletes a table, and makes a table with the same name and key and with these items.
func (s *servers) restore(table string, items []map[string]types.AttributeValue) {
	s.t.Helper()
	was, err := s.tables.DescribeTable(s.t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		s.t.Fatal(err)
	}
	s.drop(table)
	_, err = s.tables.CreateTable(s.t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		KeySchema: was.Table.KeySchema, AttributeDefinitions: was.Table.AttributeDefinitions,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, item := range items {
		if _, err := s.tables.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// age makes a state table look years old.
func (s *servers) age(table string) {
	s.t.Helper()
	for _, item := range s.scan(table) {
		if pk := item["pk"].(*types.AttributeValueMemberS).Value; strings.HasSuffix(pk, "#memory") {
			item["born"] = &types.AttributeValueMemberN{Value: "1"}
			if _, err := s.tables.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// deleteItems deletes the items of one kind from the state table.
func (s *servers) deleteItems(table, kind string) {
	s.t.Helper()
	for _, item := range s.scan(table) {
		if pk := item["pk"].(*types.AttributeValueMemberS).Value; strings.Contains(pk+"#", "#"+kind+"#") {
			key := map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]}
			if _, err := s.tables.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// empty deletes the items of a table, but not the table.
func (s *servers) empty(table string) {
	s.t.Helper()
	is, err := s.tables.DescribeTable(s.t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, item := range s.scan(table) {
		key := make(map[string]types.AttributeValue)
		for _, k := range is.Table.KeySchema {
			key[*k.AttributeName] = item[*k.AttributeName]
		}
		if _, err := s.tables.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *servers) dropIndexes() {
	for _, index := range s.Indexes(s.t) {
		s.Search(s.t, http.MethodDelete, "/"+index, "")
	}
}

func (s *servers) dropBucket() {
	s.t.Helper()
	pages := s3.NewListObjectsV2Paginator(s.objects, &s3.ListObjectsV2Input{Bucket: &s.Bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range page.Contents {
			if _, err := s.objects.DeleteObject(s.t.Context(), &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: o.Key}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if _, err := s.objects.DeleteBucket(s.t.Context(), &s3.DeleteBucketInput{Bucket: &s.Bucket}); err != nil {
		s.t.Fatal(err)
	}
}

// The loss of the state under a running pipeline is detected at the next change of an item that the state does not
// have. Nothing is counted twice.
func TestServers_StateLostWhileRunning(t *testing.T) {
	to := world.Running(t)
	for name, lose := range map[string]func(s *servers){
		"made again":      func(s *servers) { s.restore(s.State, nil) },
		"births deleted":  func(s *servers) { s.deleteItems(s.State, "births"); s.deleteItems(s.State, "contribution") },
		"both made again": func(s *servers) { s.restore(s.State, nil); s.restore(s.Table, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			records := history(rand.New(rand.NewPCG(seed, 1)), 60)
			w := world.New(t, to)
			cfg := w.Config(t, t.TempDir(), every, to)
			s := &servers{w, t, dynamodb.NewFromConfig(w.SDK), s3.NewFromConfig(w.SDK), nil}
			stores := aws.Stores(s.SDK, aws.Create())
			defer func() {
				if err := stores.Close(); err != nil {
					t.Error(err)
				}
			}()
			p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Finite())
			if err != nil {
				t.Fatal(err)
			}
			if err := run(t, p, records[:30]); err != nil {
				t.Fatal(err)
			}
			before := s.groups()
			lose(s)
			err = run(t, p, records[30:])
			refused(t, name, err)
			if after := s.groups(); name != "both made again" && !slices.Equal(before, after) {
				t.Errorf("the groups were\n%s\nand after the state was lost\n%s", before, after)
			}
		})
	}
}

// groups returns the rows of the aggregate.
func (s *servers) groups() (rows []string) {
	s.t.Helper()
	for _, item := range s.scan(s.Table) {
		if pk := item["PK"].(*types.AttributeValueMemberS).Value; strings.HasPrefix(pk, "SUM#") {
			rows = append(rows, pk+" "+item["n"].(*types.AttributeValueMemberN).Value+" "+item["total"].(*types.AttributeValueMemberN).Value)
		}
	}
	slices.Sort(rows)
	return rows
}

// Many processes start on empty servers at nearly the same time. However soon each of them writes, none of them
// mistakes the writes of another process for the rest of a lost state.
func TestServers_ManyBeginAtOnce(t *testing.T) {
	to := world.Running(t)
	records := history(rand.New(rand.NewPCG(2, 2)), 40)
	for range 4 {
		w := world.New(t, to)
		cfg := w.Config(t, t.TempDir(), every, to)
		s := &servers{w, t, dynamodb.NewFromConfig(w.SDK), s3.NewFromConfig(w.SDK), nil}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 40 * time.Millisecond) // other processes are at any point of their start
				if err := s.pass(t, cfg, records); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		same(t, world.Embedded(t, cfg, w.Names, records), w.Read(t, cfg))
	}
}
