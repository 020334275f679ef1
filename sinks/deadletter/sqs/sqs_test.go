package sqs_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/deadletter/sqs"
	"github.com/tablewake/tablewake/sinks/internal/awstest"
)

func TestLetters(t *testing.T) {
	queue := newQueue(t, nil)
	s, other := open(t, queue, nil), open(t, queue, nil)
	if got := read(t, s); got != "" {
		t.Errorf("a new queue holds %s", got)
	}
	put(t, s)
	var all []int
	for i := 1; i <= 25; i++ {
		all = append(all, i)
	}
	put(t, s, all...)
	put(t, s, all...) // retry of an attempt that had succeeded
	put(t, other, 3)  // another process dead-letters the same change
	for range 2 {
		if got := read(t, s); got != strings.Trim(fmt.Sprint(all), "[]") {
			t.Errorf("letters %s", got)
		}
	}
	remove(t, s, all[3:]...)
	remove(t, s)
	put(t, s, 30)
	if got := read(t, s); got != "1 2 3 30" {
		t.Errorf("letters %s", got)
	}
	release(t, s)
	if got := read(t, other); got != "1 2 3 30" {
		t.Errorf("released, the letters are %s", got)
	}
	remove(t, other, 3, 99)
	release(t, other)
	remove(t, s, 1) // s does not hold the message at this time
	if got := read(t, s); got != "2 30" {
		t.Errorf("letters %s: the message that came twice was to go as a whole", got)
	}
	remove(t, s, 2)
	again := letters(2)
	again[0].Time = time.Now()
	if err := s.Put(t.Context(), again); err != nil || read(t, s) != "2 30" {
		t.Errorf("letters %s (%v): one was given up again", read(t, s), err)
	}
}

// Read returns each dead letter completely, whatever characters it has and however large it is.
func TestLetters_Whole(t *testing.T) {
	folder, err := dir.New(dir.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s := open(t, newQueue(t, nil), nil, func(o *sqs.Options) { o.Large = folder })
	noise := make([]byte, 400<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	raws := map[string][]byte{
		"plain": []byte(`{"a":"x"}`), "characters": []byte("{\"a\":\"\ufffe\uffff\u0080\x7f\"}"), "no JSON": {0, 0xff, '{'},
		"compresses": []byte(`{"a":"` + strings.Repeat("lorem ipsum ", 50_000) + `"}`), "does not": noise,
	}
	var ls []pipeline.DeadLetter
	for name, raw := range raws {
		ls = append(ls, pipeline.DeadLetter{Pipeline: "shop", Sink: name, Class: "write", Error: "e", Raw: raw, Time: time.Unix(1, 2).UTC()})
	}
	if err := s.Put(t.Context(), ls); err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for range 2 {
		seen := map[string]bool{}
		for l, err := range s.Read(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if string(l.Raw) != string(raws[l.Sink]) {
				t.Errorf("%s: it comes back as %d bytes of %d", l.Sink, len(l.Raw), len(raws[l.Sink]))
			}
			seen[l.Sink] = true
			all = append(all, deadletter.ID(&l))
		}
		if len(seen) != len(raws) {
			t.Errorf("letters %v", seen)
		}
	}
	inFolder := 0
	for range folder.Read(t.Context()) {
		inFolder++
	}
	if inFolder != 1 {
		t.Errorf("%d letters are too large for a message, want 1", inFolder)
	}
	if err := s.Remove(t.Context(), all); err != nil || read(t, s) != "" {
		t.Errorf("left: %q (%v)", read(t, s), err)
	}
}

// If no store can keep one of the dead letters, Put fails before it sends any. Otherwise each retry would send the
// others again and fill the queue.
func TestPut_NothingKeepsIt(t *testing.T) {
	s := open(t, newQueue(t, nil), nil)
	noise := make([]byte, 400<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	ls := append(letters(1), pipeline.DeadLetter{Pipeline: "shop", Class: "write", Raw: noise})
	if err := s.Put(t.Context(), ls); err == nil || !strings.Contains(err.Error(), "give its dead letters a bucket") {
		t.Errorf("error %v", err)
	}
	if got := read(t, s); got != "" {
		t.Errorf("letters %s", got)
	}
}

// If two redrives read at the same time, each receives only a part of the dead letters. The second one gets an error
// and does not take its part for all dead letters.
func TestRead_TwoAtOnce(t *testing.T) {
	queue := newQueue(t, nil)
	s, other := open(t, queue, nil), open(t, queue, nil)
	put(t, s, 1, 2, 3)
	for range s.Read(t.Context()) {
		break // s has received at least some dead letters
	}
	var failed error
	for _, err := range other.Read(t.Context()) {
		failed = err
	}
	if _, retry := pipeline.Retryable(failed); !retry || !strings.Contains(failed.Error(), "another redrive runs") {
		t.Errorf("a second reader is warned %v", failed)
	}
	release(t, s)
	if got := read(t, other); got != "1 2 3" {
		t.Errorf("when the other is done it reads %s", got)
	}
}

// If a process crashes while it reads, its dead letters become visible again, also for a reader that waits for them.
func TestRead_TheOtherDies(t *testing.T) {
	queue := newQueue(t, nil)
	dead := client(t, nil)
	var log strings.Builder
	s := open(t, queue, nil, func(o *sqs.Options) {
		o.Settle, o.Logger = time.Minute, slog.New(slog.NewTextHandler(&log, nil))
	})
	put(t, s, 1, 2, 3)
	if _, err := dead.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &queue, MaxNumberOfMessages: 2, VisibilityTimeout: 1}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s); got != "1 2 3" {
		t.Errorf("letters %s", got)
	}
	if n := strings.Count(log.String(), "being read elsewhere"); n != 1 {
		t.Errorf("while it waits it says so %d times: %s", n, log.String())
	}
}

// A reader extends the visibility timeout of its messages, so no other reader receives them.
func TestRead_Renews(t *testing.T) {
	queue := newQueue(t, nil)
	renewed := make(chan struct{}, 100)
	s := open(t, queue, func(op string, _ *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
		resp, err := send(body)
		if op == "ChangeMessageVisibilityBatch" {
			renewed <- struct{}{}
		}
		return resp, err
	}, func(o *sqs.Options) { o.Visibility = time.Second })
	put(t, s, 1, 2)
	if got := read(t, s); got != "1 2" {
		t.Fatal(got)
	}
	for range 6 { // one renewal in each third of the visibility timeout
		<-renewed
	}
	out, err := client(t, nil).ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &queue})
	if err != nil || len(out.Messages) > 0 {
		t.Errorf("another reads %d of them (%v)", len(out.Messages), err)
	}
	remove(t, s, 1, 2)
	if got := read(t, s); got != "" {
		t.Errorf("letters %s", got)
	}
}

// A temporary failure is a transient error. After a retry, each dead letter is read once and none is lost.
func TestFaults(t *testing.T) {
	var mu sync.Mutex
	fail := map[string]int{}
	refuse := ""
	queue := newQueue(t, nil)
	s := open(t, queue, func(op string, r *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
		mu.Lock()
		fails := fail[op] > 0
		fail[op]--
		code := refuse
		mu.Unlock()
		switch {
		case fails && code == "":
			return awstest.Refuse(r, http.StatusServiceUnavailable, "ServiceUnavailable"), nil
		case fails: // the request succeeds, and its entry fails
			return awstest.Answer(r, 200, "application/x-amz-json-1.0", `{"Successful":[],"Failed":[{"Id":"e0","Code":"`+code+`","SenderFault":false,"Message":"canary"}]}`), nil
		}
		return send(body)
	})
	must := func(do func() error) {
		t.Helper()
		tries := 0
		for err := do(); err != nil; err = do() {
			if _, retry := pipeline.Retryable(err); !retry || strings.Contains(err.Error(), "canary") || tries > 5 {
				t.Fatal(err)
			}
			tries++
		}
		if tries == 0 {
			t.Error("it did not fail")
		}
	}
	set := func(op string, n int, code string) {
		mu.Lock()
		defer mu.Unlock()
		fail[op], refuse = n, code
	}
	all := letters(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	for _, code := range []string{"", "InternalError"} {
		set("SendMessageBatch", 1, code)
		must(func() error { return s.Put(t.Context(), all) })
		set("ReceiveMessage", 1, "")
		must(func() error {
			for _, err := range s.Read(t.Context()) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		if got := read(t, s); got != "1 2 3 4 5 6 7 8 9 10 11 12" {
			t.Errorf("letters %s", got)
		}
		set("DeleteMessageBatch", 1, code)
		must(func() error { return s.Remove(t.Context(), ids(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)) })
		if got := read(t, s); got != "" {
			t.Errorf("letters %s", got)
		}
		for i := range all {
			all[i].Time = all[i].Time.Add(time.Hour) // the change is dead-lettered again
		}
	}
	out, err := client(t, nil).GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil || out.Attributes["ApproximateNumberOfMessages"] != "0" || out.Attributes["ApproximateNumberOfMessagesNotVisible"] != "0" {
		t.Errorf("the queue has %v (%v)", out, err)
	}
}

// Read leaves dead letters of other pipelines in the queue. If a message is not a dead letter, the error names the
// message.
func TestRead_Foreign(t *testing.T) {
	queue := newQueue(t, nil)
	s, other := open(t, queue, nil), open(t, queue, nil, func(o *sqs.Options) { o.Pipeline = "other" })
	put(t, s, 1)
	if got := read(t, other); got != "" {
		t.Errorf("another pipeline reads %s", got)
	}
	release(t, other)
	if got := read(t, s); got != "1" {
		t.Errorf("letters %s", got)
	}
	release(t, s)
	if _, err := client(t, nil).SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: new("hello canary")}); err != nil {
		t.Fatal(err)
	}
	var failed error
	for _, err := range s.Read(t.Context()) {
		failed = err
	}
	if failed == nil || !strings.Contains(failed.Error(), "the message ") || strings.Contains(failed.Error(), "canary") {
		t.Errorf("a message that is no letter: %v", failed)
	}
}

// New refuses queues that would lose dead letters, and the error says what to do.
func TestNew(t *testing.T) {
	queue := newQueue(t, nil)
	refused := func(attributes string) *awssqs.Client {
		return awssqs.NewFromConfig(awstest.Offline(func(_ string, r *http.Request, _ []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
			return awstest.Answer(r, 200, "application/x-amz-json-1.0", `{"QueueUrl":"https://sqs.us-east-1.amazonaws.com/1/q","Attributes":{`+attributes+`}}`), nil
		}))
	}
	for _, test := range []struct {
		o    sqs.Options
		want string
	}{
		{sqs.Options{Queue: queue, Pipeline: "p"}, "Client is nil"},
		{sqs.Options{Client: client(t, nil), Pipeline: "p"}, "Queue is empty"},
		{sqs.Options{Client: client(t, nil), Queue: queue}, "Pipeline is empty"},
		{sqs.Options{Client: client(t, nil), Queue: queue, Pipeline: "p", Poll: time.Minute}, "out of range"},
		{sqs.Options{Client: client(t, nil), Queue: awstest.Name("none"), Pipeline: "p"}, "check the queue's name"},
		{sqs.Options{Client: client(t, nil), Queue: newQueue(t, map[string]string{"FifoQueue": "true"}), Pipeline: "p"}, "give a standard queue"},
		{sqs.Options{Client: refused(`"MessageRetentionPeriod":"345600"`), Queue: "q", Pipeline: "p"}, "deletes letters after 96h0m0s"},
		{sqs.Options{Client: refused(`"RedrivePolicy":"{}"`), Queue: "q", Pipeline: "p"}, "remove its RedrivePolicy"},
	} {
		if _, err := sqs.New(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one of %q", err, test.want)
		}
	}
	if _, err := sqs.New(t.Context(), sqs.Options{Client: refused(`"MessageRetentionPeriod":"1209600"`), Queue: "q", Pipeline: "p"}); err != nil {
		t.Errorf("a queue that is safe: %v", err)
	}
}

// Count includes messages that a reader has received, until they are removed.
func TestCount(t *testing.T) {
	s := open(t, newQueue(t, nil), nil)
	count := func(want int) {
		t.Helper()
		if n, known, err := s.Count(t.Context()); n != want || !known || err != nil {
			t.Errorf("the queue has %d messages (%v, %v), want %d", n, known, err, want)
		}
	}
	count(0)
	put(t, s, 1, 2, 3)
	count(3)
	if got := read(t, s); got != "1 2 3" {
		t.Errorf("letters %s", got)
	}
	count(3)
	remove(t, s, 2)
	count(2)
}
