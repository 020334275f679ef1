package rights

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/sinks/policy"
	e2e "github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/esm"
	"github.com/tablewake/tablewake/test/server"
)

// mapped has the actions of a function's role that the function does not call here. The event source mapping calls most
// of them, and the emulator has no mapping.
var mapped = map[string]string{
	"dynamodb:ListStreams":    "it finds the table's stream",
	"dynamodb:DescribeStream": "it finds the stream's shards; the function is told of them",
	"dynamodb:Scan":           "a first start over a state that knows nothing: here a consumer made that",
}

const succeeded = `{"batchItemFailures":[]}`

// A function only makes calls that its policy allows. It makes all of these calls, except for the calls that the event
// source mapping makes with the role.
func TestAFunctionsPolicyIsWhatIsCalled(t *testing.T) {
	for file, down := range map[string]string{"everything.yaml": "es", "queue.yaml": "s3"} {
		t.Run(file, func(t *testing.T) {
			w := newWorld(t)
			cfg := w.config(t, file)
			w.run(t, file, "consume", "--live", "--create", "--exit-when-idle", "1s", "--health", "off")
			records := w.written(t, file)
			made := w.taken(t)
			plain := policy.Statements(cfg, policy.Options{Runner: policy.Function})
			redriver := policy.Statements(cfg, policy.Options{Runner: policy.Function, Redrive: true})
			w.permit(plain)

			f := w.function(t, file, "")
			// In one event, several changes of an item would be one write.
			for _, part := range [][][]byte{records[:3], records[3:9], records[9:]} {
				w.answers(t, f, event(part...), succeeded)
			}
			poison := bytes.Replace(records[0], []byte(`"N":"1"`), []byte(`"N":"one"`), 1)
			w.answers(t, f, event(poison), succeeded)
			given := gaveUp(t, w.shard(t), records[0], records[1])
			w.answers(t, f, message(t, given.Message), succeeded)
			run := w.taken(t)
			for c := range made {
				// The run that made the tables also made the index, and found no record of the settings in the bucket. A function
				// that comes first does the same.
				if c.action == "es:ESHttpPut" || c.action == "s3:ListBucket" {
					run[c] = true
				}
			}

			object := call{action: "s3:GetObject", resource: "arn:aws:s3:::" + w.name + "-failed/" + given.Key}
			w.permit(append(slices.Clone(plain), policy.Statement{Actions: []string{object.action}, Resources: []string{object.resource}}))
			w.answers(t, f, message(t, w.notification(t, given)), succeeded)
			fetched := w.taken(t)
			w.permit(plain)
			if !fetched[object] {
				t.Errorf("%v is not called", object)
			}
			delete(fetched, object) // the on-failure bucket of the mapping is not in the file
			maps.Copy(run, fetched)

			// In an outage, a change that is older than dead_letters.max_hold does not wait.
			w.refuse(down)
			late := e2e.RecordAt(time.Now().Add(-13*time.Hour), 1, "INSERT", "late", "", `"Status":{"S":"paid"},"Email":{"S":"l@example.com"},"Total":{"N":"1"}`)
			w.answers(t, f, event(bytes.Replace(late, []byte(":table/shop/"), []byte(":table/"+w.name+"/"), 1)), succeeded)
			w.refuse("")
			maps.Copy(run, w.taken(t))

			w.permit(redriver)
			w.answers(t, w.function(t, file, "redrive: auto, "), []byte(`{"tablewake":"redrive"}`), "{}")
			redriven := w.taken(t)

			allowed(t, "running", run, plain)
			allowed(t, "redriving", redriven, redriver)
			called(t, "running", run, plain, mapped)
			maps.Copy(redriven, run)
			called(t, "redriving", redriven, redriver, mapped)
		})
	}
}

// written writes items of every kind and returns their records.
func (w *world) written(t *testing.T, file string) [][]byte {
	t.Helper()
	item := func(key, status, email string, total any, text string) {
		w.write(t, key, map[string]any{"Status": status, "Email": email, "Total": total, "Text": text, "Parts": []string{"x", status}})
	}
	for i, status := range []string{"new", "paid"} {
		for _, key := range []string{"a", "b", "c"} {
			item(key, status, key+"@example.com", i+1, "short")
		}
	}
	item("d", "paid", "a@example.com", 3, "short")                // a has the row
	item("e", "paid", "e@example.com", "many", noise(t, 330_000)) // "many" counts nowhere
	item("g", "paid", "g@example.com", 1, noise(t, 150_000))
	item("e", "paid", "e@example.com", "more", noise(t, 330_000)) // with both images, too large for a message
	item("g", "paid", "g@example.com", 1, noise(t, 150_000))
	item("a", "sent", "z@example.com", 2, "short")
	w.write(t, "b", nil)
	out := filepath.Join(t.TempDir(), "stream.jsonl")
	w.run(t, file, "record", "--out", out)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}

// function starts a function with a file of testdata, and adds more to its dead_letters.
func (w *world) function(t *testing.T, file, more string) *server.Function {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.Replace(string(b), "dead_letters: {", "dead_letters: {"+more, 1)
	if err := os.WriteFile(filepath.Join(dir, "tablewake.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return server.StartFunctionFor(t, server.FunctionOptions{Bootstrap: bootstrap, Root: dir, Env: w.env})
}

// answers invokes a function and checks its answer.
func (w *world) answers(t *testing.T, f *server.Function, event []byte, want string) {
	t.Helper()
	if got, err := f.Invoke(t.Context(), event); err != nil || string(got) != want {
		text := f.Log()
		t.Fatalf("the function answered %.300s, %v; want %s\n%s", got, err, want, text[max(0, len(text)-6000):])
	}
}

func event(records ...[]byte) []byte {
	return fmt.Appendf(nil, `{"Records":[%s]}`, bytes.Join(records, []byte(",")))
}

// message returns an event of SQS.
func message(t *testing.T, body []byte) []byte {
	t.Helper()
	text, err := json.Marshal(string(body))
	if err != nil {
		t.Fatal(err)
	}
	return event(fmt.Appendf(nil, `{"messageId":"m1","body":%s,"eventSource":"aws:sqs"}`, text))
}

// broken is an environment that fails each event.
type broken struct{}

func (broken) Invoke(context.Context, []byte) ([]byte, error) {
	return nil, errors.New("no environment")
}

// gaveUp returns the batch of these records that a mapping without retries discards.
func gaveUp(t *testing.T, shard string, records ...[]byte) (given esm.Discarded) {
	t.Helper()
	m := esm.Mapping{Functions: []esm.Function{broken{}}, Discard: func(_ context.Context, d esm.Discarded) error {
		given = d
		return nil
	}}
	if r, err := m.Run(t.Context(), esm.Shard{ID: shard, Records: records}); err != nil || r.Discarded != len(records) {
		t.Fatalf("%+v, %v", r, err)
	}
	return given
}

// shard returns the only shard of the source's stream.
func (w *world) shard(t *testing.T) string {
	t.Helper()
	d, err := w.dynamodb.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &w.name})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: d.Table.LatestStreamArn})
	if err != nil || len(s.StreamDescription.Shards) != 1 {
		t.Fatalf("the stream's shards: %v, %v", s, err)
	}
	return *s.StreamDescription.Shards[0].ShardId
}

// notification puts a failed batch of a mapping into a bucket, and returns S3's notification of it.
func (w *world) notification(t *testing.T, given esm.Discarded) []byte {
	t.Helper()
	bucket := w.name + "-failed"
	if _, err := w.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &given.Key, Body: bytes.NewReader(given.Object)}); err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":%q},"object":{"key":%q}}}]}`, bucket, given.Key)
}
