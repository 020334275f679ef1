package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// Read returns the contents that readers find on the servers through the servers' own interfaces.
func (w *World) Read(t *testing.T, cfg *config.Config) State {
	t.Helper()
	s := NewState()
	w.ReadTable(t, s)
	w.ReadIndex(t, s)
	w.readBucket(t, s)
	w.readQueue(t, s)
	w.ReadLetters(t, s, cfg)
	return s
}

// ReadTable reads the rows of views and aggregates. It leaves out tombstones, as a filter on
// attribute_not_exists(_tw_expires) does.
func (w *World) ReadTable(t *testing.T, s State) {
	t.Helper()
	consistent, filter := true, "attribute_not_exists(#e)"
	pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(w.SDK), &dynamodb.ScanInput{
		TableName: &w.Table, ConsistentRead: &consistent, FilterExpression: &filter, ExpressionAttributeNames: map[string]string{"#e": "_tw_expires"},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			s.row(it)
		}
	}
}

// ReadIndex reads the documents behind two aliases: the alias of the world, and the alias of the shop's orders if there
// is one.
func (w *World) ReadIndex(t *testing.T, s State) {
	t.Helper()
	const some = "?ignore_unavailable=true"
	aliases := "/" + w.Index + "," + w.Index + "-orders"
	w.Search(t, http.MethodPost, aliases+"/_refresh"+some, "")
	var found struct {
		Hits struct {
			Hits []struct {
				ID     string          `json:"_id"`
				Source json.RawMessage `json:"_source"`
			}
		}
	}
	body := w.Search(t, http.MethodPost, aliases+"/_search"+some, `{"size": 10000, "query": {"match_all": {}}}`)
	if err := json.Unmarshal(body, &found); err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits.Hits {
		s.document(t, h.ID, h.Source)
	}
}

// Search sends a request to OpenSearch. An answer without success fails the test.
func (w *World) Search(t *testing.T, method, path, body string) []byte {
	t.Helper()
	code, answer := w.ask(t, method, path, body)
	if code/100 != 2 {
		t.Fatalf("%s %s: status %d: %.500s", method, path, code, answer)
	}
	return answer
}

func (w *World) ask(t *testing.T, method, path, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, w.To.OpenSearch+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func (w *World) readBucket(t *testing.T, s State) {
	t.Helper()
	store := s3.NewFromConfig(w.SDK)
	for _, prefix := range []string{"archive/", "changes/"} {
		pages := s3.NewListObjectsV2Paginator(store, &s3.ListObjectsV2Input{Bucket: &w.Bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range page.Contents {
				if strings.Contains(*o.Key, "/.") {
					continue // a file of the store itself
				}
				got, err := store.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &w.Bucket, Key: o.Key})
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(got.Body)
				_ = got.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				s.object(t, *o.Key, body)
			}
		}
	}
}

// readQueue takes the messages of the queue. If an answer is lost, its messages come again after the visibility
// timeout.
func (w *World) readQueue(t *testing.T, s State) {
	t.Helper()
	q := sqs.NewFromConfig(w.SDK)
	url, err := q.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &w.Queue})
	if err != nil {
		t.Fatal(err)
	}
	for {
		got, err := q.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url.QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 30})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Messages) == 0 {
			if !messagesTaken(t, q, url.QueueUrl) {
				return
			}
			time.Sleep(time.Second)
			continue
		}
		var done []types.DeleteMessageBatchRequestEntry
		for _, m := range got.Messages {
			s.event(t, []byte(*m.Body))
			done = append(done, types.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
		}
		if _, err := q.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: url.QueueUrl, Entries: done}); err != nil {
			t.Fatal(err)
		}
	}
}

// messagesTaken reports whether messages of the queue were received and not deleted.
func messagesTaken(t *testing.T, q *sqs.Client, url *string) bool {
	t.Helper()
	a, err := q.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessagesNotVisible},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)] != "0"
}

// ReadLetters reads the dead letters.
func (w *World) ReadLetters(t *testing.T, s State, cfg *config.Config) {
	t.Helper()
	stores := aws.Stores(w.SDK, aws.Create())
	defer stores.Close()
	d, err := stores.DeadLetters(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		return
	}
	for l, err := range d.(deadletter.Store).Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		s[Letters][fmt.Sprint(l.Sink, " ", l.Key, " ", l.Version)] = fmt.Sprint(l.Error)
	}
}

// Indexes returns the physical indexes behind the world's alias.
func (w *World) Indexes(t *testing.T) []string {
	t.Helper()
	var names []string
	code, body := w.ask(t, http.MethodGet, "/_cat/indices/"+w.Index+"*?h=index&expand_wildcards=all", "")
	if code == http.StatusOK {
		for _, name := range bytes.Fields(body) {
			names = append(names, string(name))
		}
	}
	return names
}

// forget deletes the tables and indexes, which would cost the servers memory as long as they run.
func (w *World) forget(t *testing.T) {
	tables := dynamodb.NewFromConfig(w.SDK)
	for _, name := range []string{w.Table, w.State} {
		// Not every world has both tables, so an error does not matter.
		_, _ = tables.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &name})
	}
	for _, index := range w.Indexes(t) {
		w.Search(t, http.MethodDelete, "/"+index, "")
	}
}
