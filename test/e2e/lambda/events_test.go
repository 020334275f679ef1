package lambda

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/esm"
)

// Fact 33: records of Kinesis may repeat and come out of order. In the end the newest change stays.
func TestFact33_KinesisEvents(t *testing.T) {
	t.Parallel()
	text := strings.Replace(items, "{table: shop}", "{table: shop, kinesis: 'arn:aws:kinesis:us-east-1:000000000000:stream/changes'}", 1)
	f := deploy(t, world.New(t, world.Running(t)), text, deployment{})
	start := time.Now().UnixMicro()
	of := func(sequence, micros int, pk, kind string) []byte {
		change := fmt.Sprintf(`{"awsRegion":"us-east-1","eventID":"e%[1]d","eventName":"INSERT","userIdentity":null,"recordFormat":"application/json","tableName":"shop",`+
			`"dynamodb":{"ApproximateCreationDateTime":%[2]d,"ApproximateCreationDateTimePrecision":"MICROSECOND","Keys":{"PK":{"S":%[3]q}},`+
			`"NewImage":{"PK":{"S":%[3]q},"Type":{"S":%[4]q},"n":{"N":"%[1]d"}},"SizeBytes":10},"eventSource":"aws:dynamodb"}`, micros, start+int64(micros), pk, kind)
		return fmt.Appendf(nil, `{"kinesis":{"kinesisSchemaVersion":"1.0","partitionKey":"x","sequenceNumber":"%[1]d","data":%[2]q,"approximateArrivalTimestamp":%[3]d.5},`+
			`"eventSource":"aws:kinesis","eventVersion":"1.0","eventID":"shardId-000000000006:%[1]d","eventName":"aws:kinesis:record","awsRegion":"us-east-1",`+
			`"eventSourceARN":"arn:aws:kinesis:us-east-1:000000000000:stream/changes"}`, sequence, base64.StdEncoding.EncodeToString([]byte(change)), start/1e6)
	}
	f.answers(t, event(of(901, 30, "a", "Product"), of(902, 10, "a", "Product"), of(903, 30, "a", "Product"), of(904, 20, "b", "Order")), succeeded)
	f.answers(t, event(of(905, 15, "a", "Order"), of(906, 40, "b", "Product")), succeeded) // the first record is late
	f.holds(t, "a b", "a b", 5, 0)
	if got := f.rowOf(t, "a"); !strings.Contains(got, `"n": N 30`) {
		t.Errorf("the row of a is %s", got)
	}
}

// rowOf returns the row of an item.
func (f *function) rowOf(t *testing.T, pk string) string {
	t.Helper()
	for name, row := range f.read(t)[world.Rows] {
		if strings.Contains(name, `"`+pk+`"`) {
			return row
		}
	}
	return ""
}

// Tumbling windows are passed through. The answer has the state of the event, and the event that closes a window is
// answered.
func TestFact17_TumblingWindows(t *testing.T) {
	t.Parallel()
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{})
	begin := time.Now().Add(-time.Minute).Truncate(20 * time.Second)
	var records [][]byte
	for n := range 12 {
		records = append(records, world.RecordAt(begin.Add(time.Duration(4*n)*time.Second), n+1, "INSERT", string(rune('a'+n)), "", fmt.Sprintf(`"Type":{"S":"Product"},"n":{"N":"%d"}`, n)))
	}
	m := esm.Mapping{Functions: []esm.Function{f}, TumblingWindow: 20 * time.Second, BatchSize: 3, ReportFailures: true, MaxRetries: -1}
	r, err := m.Run(t.Context(), esm.Shard{ID: "shardId-1", Records: records})
	// Windows of 5, 5 and 2 records take 2, 2 and 1 invocations, and the end of each window takes one more.
	if err != nil || r.Errors+r.Partial > 0 || r.Invocations != 8 {
		t.Errorf("%+v, %v", r, err)
	}
	f.holds(t, "a b c d e f g h i j k l", "a b c d e f g h i j k l", 12, 0)
	f.answers(t, []byte(`{"Records":[],"window":{"start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:20Z"},"state":{"seen":[1, 2]},"shardId":"shardId-1",`+
		`"eventSourceARN":"arn:aws:dynamodb:us-east-1:000000000000:table/shop/stream/2026-03-01T00:00:00.000","isFinalInvokeForWindow":true,"isWindowTerminatedEarly":false}`),
		`{"batchItemFailures":[],"state":{"seen":[1, 2]}}`)
}

// queued returns an event of SQS with messages m1, m2, ...
func queued(t *testing.T, bodies ...[]byte) []byte {
	t.Helper()
	var records [][]byte
	for i, body := range bodies {
		text, err := json.Marshal(string(body))
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, fmt.Appendf(nil, `{"messageId":"m%d","receiptHandle":"r","body":%s,"attributes":{},"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:failed","awsRegion":"us-east-1"}`, i+1, text))
	}
	return event(records...)
}
