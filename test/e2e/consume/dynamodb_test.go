package consume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Two consumers read a real stream of a real table. One consumer reads its only shard and dies, and the other consumer
// continues.
func TestDynamoDBStream(t *testing.T) {
	w := newWorld(t, "consume-source", "", ", emulator: dynamodb-local")
	w.streams = w.dynamo
	w.createSource(t, "consume-source")
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() { w.write(t, "consume-source", stop) })
	t.Cleanup(writer.Wait)

	first := w.start(t, "task-1", w.dynamo)
	first.reads(t)
	second := w.start(t, "task-2", w.dynamo)
	second.says(t, "health: http")
	sometime(2 * time.Second)
	first.kill(t)
	second.reads(t)
	first = w.start(t, "task-1", w.dynamo)
	sometime(2 * time.Second)
	second.stop(t)
	first.reads(t)

	close(stop)
	writer.Wait()
	w.converge(t, func() []item { return w.source(t, "consume-source") })
	w.healthy(t)
	first.stop(t)
}

// createSource makes a table with a stream of both images.
func (w *world) createSource(t *testing.T, name string) {
	t.Helper()
	w.createTable(t, name, &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages})
}

// createTable makes a table that is deleted at the end of the test.
func (w *world) createTable(t *testing.T, name string, stream *types.StreamSpecification) {
	t.Helper()
	_, err := w.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("SK"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: stream,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := w.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
}

// write puts and deletes random items until stop is closed.
func (w *world) write(t *testing.T, table string, stop <-chan struct{}) {
	r := rand.New(rand.NewPCG(1, 1))
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-t.Context().Done():
			return
		case <-tick.C:
		}
		text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
		key := map[string]types.AttributeValue{"PK": text(fmt.Sprintf("item#%d", r.IntN(50))), "SK": text("order")}
		if r.IntN(10) == 0 {
			if _, err := w.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
				t.Error(err)
			}
			continue
		}
		key["Status"] = text([]string{"open", "paid", "shipped"}[r.IntN(3)])
		key["Customer"] = text(fmt.Sprintf("c%d", r.IntN(8)))
		key["Total"] = &types.AttributeValueMemberN{Value: fmt.Sprintf("%d.%02d", r.IntN(1000), r.IntN(100))}
		key["Write"] = &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
		if _, err := w.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: key}); err != nil {
			t.Error(err)
		}
	}
}

// source returns the items of a table.
func (w *world) source(t *testing.T, name string) []item {
	t.Helper()
	var items []item
	pages := dynamodb.NewScanPaginator(w.client, &dynamodb.ScanInput{TableName: &name, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			items = append(items, item{plain(i["PK"]), plain(i["SK"]), plain(i["Status"]), plain(i["Customer"]), plain(i["Total"]), plain(i["Write"])})
		}
	}
	return items
}

// The stream of a table is switched off and on while other tables are written. The changes between the two streams are
// reported as a gap, and the consumer stops there. The command that `status` names lets the consumer continue. No other
// records count as lost, although the sequence numbers of a shard of DynamoDB Local start below its first record.
func TestDynamoDBStream_SwitchedOffAndOn(t *testing.T) {
	w := newWorld(t, "consume-switched", "", ", emulator: dynamodb-local")
	w.streams = w.dynamo
	w.createSource(t, "consume-switched")
	w.put(t, "consume-switched", "early")
	task := w.start(t, "task-1", w.dynamo)
	task.reads(t)
	until(t, "the first item is in the view", func() bool { rows, err := w.rows(t.Context()); return err == nil && len(rows) == 3 })

	w.stream(t, "consume-switched", false)
	w.put(t, "consume-switched", "between") // no stream has this change
	w.stream(t, "consume-switched", true)
	task.says(t, "a stream follows one that was read")
	w.put(t, "consume-switched", "between", "late")
	var report struct {
		Gaps     []struct{ Stream, Shard string }
		Problems []struct{ Kind, Subject, Hint string }
	}
	until(t, "`status` names the shard that is not begun", func() bool {
		_, out := w.run(t, "status", "-o", "json")
		_, out, _ = strings.Cut(out, "{") // skips the warnings
		return json.NewDecoder(strings.NewReader("{"+out)).Decode(&report) == nil && len(report.Problems) == 1 && report.Problems[0].Kind == "stopped_shard"
	})
	shard := report.Problems[0].Subject
	if len(report.Gaps) != 1 || report.Gaps[0].Shard != "" || !strings.Contains(report.Problems[0].Hint, "leases reset") {
		t.Fatalf("status %+v", report)
	}
	w.look(t, 0, "leases", "reset", shard, "--to", "trim_horizon")
	w.converge(t, func() []item { return w.source(t, "consume-switched") })
	w.healthy(t)
	if out := w.look(t, 0, "status"); strings.Count(out, "(found ") != 1 || !strings.Contains(out, "between the stream that was read before and ") {
		t.Errorf("in the end there are other gaps than that between the streams:\n%s", out)
	}
	task.stop(t)
}

// put puts items into a table. Before each of them it writes to another table, because all tables of DynamoDB Local
// share one series of sequence numbers.
func (w *world) put(t *testing.T, table string, keys ...string) {
	t.Helper()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for _, key := range keys {
		for _, into := range []string{w.name + "-state", table} {
			name := map[bool][2]string{true: {"PK", "SK"}, false: {"pk", "sk"}}[into == table]
			item := map[string]types.AttributeValue{name[0]: text("other#" + key), name[1]: text("order"), "Status": text("open"), "Customer": text("c1"), "Total": &types.AttributeValueMemberN{Value: "1"}, "Write": &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().UnixNano())}}
			_, err := w.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &into, Item: item})
			if missing := (*types.ResourceNotFoundException)(nil); err != nil && (into == table || !errors.As(err, &missing)) {
				t.Fatal(err)
			}
		}
	}
}

// stream switches the stream of a table on or off.
func (w *world) stream(t *testing.T, table string, on bool) {
	t.Helper()
	spec := &types.StreamSpecification{StreamEnabled: &on}
	if on {
		spec.StreamViewType = types.StreamViewTypeNewAndOldImages
	}
	if _, err := w.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &table, StreamSpecification: spec}); err != nil {
		t.Fatal(err)
	}
}
