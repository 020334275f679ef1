package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// bucket maps each object's bucket name, key and version to its content.
type bucket map[string]string

// GetObject returns the content of an object.
func (b bucket) GetObject(_ context.Context, name, key, version string) ([]byte, error) {
	if content, ok := b[name+"/"+key+version]; ok {
		return []byte(content), nil
	}
	return nil, fmt.Errorf("%s: %w", name, ErrGone)
}

// created returns S3's notification of an object.
func created(key string, more ...string) string {
	return fmt.Sprintf(`{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-central-1","eventName":"ObjectCreated:Put","s3":{"s3SchemaVersion":"1.0","bucket":{"name":"failed","arn":"arn:aws:s3:::failed"},"object":{"key":%q,"size":10%s}}}]}`,
		key, strings.Join(append([]string{""}, more...), ","))
}

// payload returns the member of Lambda's record that holds the event as a string.
func payload(event string) string {
	quoted, _ := json.Marshal(event)
	return `"payload":` + string(quoted)
}

func TestOnFailure_FromObjects(t *testing.T) {
	const path = "aws/lambda/5e1/shardId-1/2026/01/02/2026-01-02T03.04.05-1 a"
	const asTold = "aws/lambda/5e1/shardId-1/2026/01/02/2026-01-02T03.04.05-1+a"
	server, st, shard, seqs := stream(t, streamtest.Options{}, "x", "y")
	place := func(more ...string) string { return given(st.ARN(), shard, seqs[0], seqs[1], 2, more...) }
	kinesis := strings.Replace(place(payload(event(inKinesis(2, "e2", "b", 2), inKinesis(1, "e1", "a", 1), inKinesis(3, "e1", "a", 1)))), "DDBStreamBatchInfo", "KinesisBatchInfo", 1)
	for name, tt := range map[string]struct {
		body    string
		objects bucket
		written string
		failed  bool
		logged  string
	}{
		"the event":                {body: created(asTold), objects: bucket{"failed/" + path: place(payload(records("a", "b")))}, written: "a b"},
		"the event, by SNS":        {body: inSNS(created(asTold)), objects: bucket{"failed/" + path: place(payload(records("a", "b")))}, written: "a b"},
		"the event as JSON":        {body: created(asTold), objects: bucket{"failed/" + path: place(`"payload":` + records("a", "b"))}, written: "a b"},
		"a version":                {body: created(asTold, `"versionId":"v2"`), objects: bucket{"failed/" + path: "", "failed/" + path + "v2": place(payload(records("a", "b")))}, written: "a b"},
		"of Kinesis":               {body: created(asTold), objects: bucket{"failed/" + path: kinesis}, written: "a b"},
		"an event that is cut":     {body: created(asTold), objects: bucket{"failed/" + path: place(payload(records("a")[:50]))}, written: "x y"},
		"no event":                 {body: created(asTold), objects: bucket{"failed/" + path: place()}, written: "x y"},
		"an empty payload":         {body: created(asTold), objects: bucket{"failed/" + path: place(`"payload":null`)}, written: "x y"},
		"an empty event":           {body: created(asTold), objects: bucket{"failed/" + path: place(payload(event()))}, written: "x y"},
		"an empty list":            {body: created(asTold), objects: bucket{"failed/" + path: place(`"payload":[]`)}, written: "x y"},
		"fewer than it says":       {body: created(asTold), objects: bucket{"failed/" + path: place(payload(records("a")))}, written: "x y"},
		"nobody says how many":     {body: created(asTold), objects: bucket{"failed/" + path: given(st.ARN(), shard, seqs[0], seqs[1], 0, payload(records("a")))}, written: "a"},
		"an empty one of Kinesis":  {body: created(asTold), objects: bucket{"failed/" + path: strings.Replace(place(payload(event())), "DDBStreamBatchInfo", "KinesisBatchInfo", 1)}, failed: true, logged: "which this handler does not read"},
		"the object is gone":       {body: created(asTold), failed: true, logged: "object " + path + " of bucket failed: the object is gone"},
		"the object is another":    {body: created(asTold), objects: bucket{"failed/" + path: `{"class":"write"}`}, failed: true, logged: "narrow the bucket's notification to the prefix aws/lambda/"},
		"it has a telling name":    {body: created("archive/the-secret.json"), failed: true, logged: "an object of bucket failed: the object is gone"},
		"a deletion":               {body: strings.Replace(created(asTold), "ObjectCreated:Put", "ObjectRemoved:Delete", 1), failed: true, logged: "other than s3:ObjectCreated:*"},
		"S3's test":                {body: `{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-01-02T03:04:05.000Z","Bucket":"failed","RequestId":"x","HostId":"y"}`},
		"a place in Kinesis":       {body: strings.Replace(place(), "DDBStreamBatchInfo", "KinesisBatchInfo", 1), failed: true, logged: "give the event source mapping an S3 on-failure destination"},
		"a place without a number": {body: given(st.ARN(), shard, "", seqs[1], 2), failed: true, logged: "no valid startSequenceNumber"},
		"a place from end to end":  {body: given(st.ARN(), shard, seqs[1], seqs[0], 2), failed: true, logged: "a startSequenceNumber above its endSequenceNumber"},
		"a place without a shard":  {body: given(st.ARN(), "", seqs[0], seqs[1], 2), failed: true, logged: "names no shardId or no streamArn"},
		"a large dead letter":      {body: "H4sIAAAAAAAA/6pWKkktLlGyUlAqS8wpTi0GAAAA//8=", failed: true, logged: "tablewake redrive"},
		"an event":                 {body: records("a"), failed: true, logged: "names no batch that Lambda discarded"},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := &store{}, &said{}
			h := OnFailure(assemble(t, s, nil), WithStreams(server), WithObjects(tt.objects), log.option())
			answer, err := h.Invoke(t.Context(), []byte(messages(tt.body)))
			if err != nil || failures(t, answer) != map[bool]string{true: "m1"}[tt.failed] || s.keys() != tt.written {
				t.Errorf("%s, %v, written %q; want %q", answer, err, s.keys(), tt.written)
			}
			if !strings.Contains(log.String(), tt.logged) || strings.Contains(log.String(), "the-secret") || tt.failed != strings.Contains(log.String(), "ERROR") {
				t.Errorf("logged: %s", log)
			}
		})
	}
}

// If the event of an object holds fewer records than it says, the batch is fetched by its place. If the stream no
// longer has them, the records of the event are delivered.
func TestOnFailure_FromObjectAndStream(t *testing.T) {
	server, st, shard, seqs := stream(t, streamtest.Options{}, "a", "b", "c", "d", "e")
	st.Trim(shard, 3)
	var held []string
	for i, key := range []string{"a", "c", "d"} { // d is fetched
		held = append(held, strings.Replace(recordJSON(key, 999), `"999"`, `"`+seqs[[]int{0, 2, 3}[i]]+`"`, 1))
	}
	objects := bucket{"failed/aws/lambda/x": given(st.ARN(), shard, seqs[0], seqs[4], 5, payload(event(held...)))}
	s, gaps, log := &store{}, &lost{}, &said{}
	h := OnFailure(assemble(t, s, nil), WithStreams(server), WithObjects(objects), WithGaps(gaps), log.option())
	answer, err := h.Invoke(t.Context(), []byte(messages(created("aws/lambda/x"))))
	if err != nil || failures(t, answer) != "" || s.keys() != "a c d e" {
		t.Errorf("%s, %v, written %q", answer, err, s.keys())
	}
	if want := fmt.Sprintf("%s: behind %s before %s", shard, short(addToSequence(seqs[0], -1)), short(seqs[3])); len(gaps.gaps) != 1 || !strings.HasPrefix(gaps.gaps[0], want) {
		t.Errorf("gaps %q; want one of %s", gaps.gaps, want)
	}
	if line := fmt.Sprintf("first=%s last=%s records_about=1 ", seqs[0], addToSequence(seqs[3], -1)); !strings.Contains(log.String(), line) {
		t.Errorf("logged: %s; want %s", log, line)
	}
}

// A missing setting is named, with what to do.
func TestOnFailure_NotSetUp(t *testing.T) {
	for body, want := range map[string]string{
		created("aws/lambda/x"):                    "give handlers.WithObjects",
		given(streamARN, "shardId-1", "1", "2", 2): "give handlers.WithStreams",
	} {
		log := &said{}
		answer, err := OnFailure(assemble(t, &store{}, nil), log.option()).Invoke(t.Context(), []byte(messages(body)))
		if err != nil || failures(t, answer) != "m1" || !strings.Contains(log.String(), want) {
			t.Errorf("%s, %v, logged: %s", answer, err, log)
		}
	}
	for name, e := range map[string]string{
		"no id":        `{"Records":[{"body":"x","eventSource":"aws:sqs"}]}`,
		"broken":       `{"Records":[{"messageId":"m1","eventSource":"aws:sqs"`,
		"another form": `{"Records":[{"messageId":1,"eventSource":"aws:sqs"}]}`,
	} {
		if answer, err := OnFailure(assemble(t, &store{}, nil)).Invoke(t.Context(), []byte(e)); err == nil {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

// slow is an S3 client that never answers.
type slow struct{}

// GetObject waits until its context ends.
func (slow) GetObject(ctx context.Context, _, _, _ string) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A hanging call leaves time for the answer.
func TestOnFailure_HangingObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		answer, err := OnFailure(assemble(t, &store{}, nil), WithObjects(slow{})).Invoke(within(t, time.Minute), []byte(messages(created("aws/lambda/x"), created("aws/lambda/y"))))
		if err != nil || failures(t, answer) != "m1 m2" || time.Since(begin) != 54*time.Second {
			t.Errorf("%s, %v, after %v", answer, err, time.Since(begin))
		}
	})
}
