package esm

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// For any answers of a function, three rules hold. It first receives the records of each item in order. It receives
// records again only from an unfinished one on. It receives all records.
func TestFact17_OrderOfAnItemIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, items := rapid.IntRange(1, 60).Draw(t, "records"), rapid.IntRange(1, 12).Draw(t, "items")
		shards := []Shard{shard(n, items)}
		shards[0].ID = "one"
		m := Mapping{
			BatchSize: rapid.IntRange(1, 20).Draw(t, "batch"), Parallelization: rapid.IntRange(1, 10).Draw(t, "parallel"),
			Bisect: rapid.Bool().Draw(t, "bisect"), ReportFailures: true, MaxRetries: -1,
		}
		answers := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 30).Draw(t, "answers")
		var mu sync.Mutex
		finished := map[string]int{} // the newest finished record of an item
		seen := map[string]bool{}
		do := func(_ int, e *event) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			answer := 0
			if len(answers) > 0 {
				answer, answers = answers[0], answers[1:]
			}
			done := len(e.Records)
			switch answer {
			case 1:
				done = 0
			case 2, 3:
				done /= 2
			}
			last := map[string]int{}
			for i, r := range e.Records {
				item, s := r.DynamoDB.Keys["PK"]["S"], r.DynamoDB.SequenceNumber
				number, _ := strconv.Atoi(s)
				if number <= last[item] || number <= finished[item] {
					t.Fatalf("item %s: record %d behind %d, of which %d are done", item, number, last[item], finished[item])
				}
				if last[item] == 0 && finished[item] != 0 && number != finished[item]+items || last[item] != 0 && number != last[item]+items {
					t.Fatalf("item %s: record %d left one out", item, number)
				}
				last[item], seen[s] = number, true
				if i < done {
					finished[item] = number
				}
			}
			switch {
			case answer == 1:
				return "", errDown
			case done < len(e.Records):
				return failing(e.Records[done].DynamoDB.SequenceNumber), nil
			}
			return "", nil
		}
		fs := []*told{{do: do}, {do: do}, {do: do}}
		for _, f := range fs {
			m.Functions = append(m.Functions, f)
		}
		if _, err := m.Run(context.Background(), shards...); err != nil {
			t.Fatal(err)
		}
		if len(seen) != n {
			t.Fatalf("%d of %d records were seen", len(seen), n)
		}
		for _, f := range fs {
			if f.twice {
				t.Fatal("an environment had two events at once")
			}
		}
	})
}

func TestTumblingWindows(t *testing.T) {
	calls := 0
	f := told{do: func(_ int, e *event) (string, error) {
		if calls++; calls == 2 {
			return "", errDown
		}
		state, err := json.Marshal(string(e.State) + e.sequences())
		return `{"state":` + string(state) + `,"batchItemFailures":[]}`, err
	}}
	went(t, Mapping{TumblingWindow: 4 * time.Second, BatchSize: 2, ReportFailures: true, MaxRetries: -1}, &f, shard(6, 2))
	if got, want := f.batches(), "1 2|3|3||4 5|6|"; got != want { // the first window has the records of 3 s
		t.Errorf("%s, want %s", got, want)
	}
	for i, want := range []struct {
		state string
		final bool
	}{{"{}", false}, {`"{}1 2"`, false}, {`"{}1 2"`, false}, {`"\"{}1 2\"3"`, true}, {"{}", false}, {`"{}4 5"`, false}, {`"\"{}4 5\"6"`, true}} {
		e := f.events[i]
		start := map[bool]string{true: "2026-03-01T12:00:00Z", false: "2026-03-01T12:00:04Z"}[i < 4]
		if string(e.State) != want.state || e.Final != want.final || e.Shard != "shard" || e.Window.Start != start {
			t.Errorf("event %d: state %s, final %t, shard %s, window %+v", i, e.State, e.Final, e.Shard, e.Window)
		}
	}
}

func TestFact18_QueuesGetThePlaceAndBucketsTheEvent(t *testing.T) {
	var given Discarded
	f := told{do: func(int, *event) (string, error) { return "", errDown }}
	went(t, Mapping{MaxRetries: 2, Discard: func(_ context.Context, d Discarded) error { given = d; return nil }}, &f, shard(3, 1))
	type batch struct{ ShardID, StartSequenceNumber, EndSequenceNumber, ApproximateArrivalOfFirstRecord, StreamArn string }
	var message, object struct {
		RequestContext struct {
			Condition              string
			ApproximateInvokeCount int
		}
		DDBStreamBatchInfo batch
		Payload            string
	}
	if err := json.Unmarshal(given.Message, &message); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(given.Object, &object); err != nil {
		t.Fatal(err)
	}
	if message.RequestContext.Condition != "RetryAttemptsExhausted" || message.RequestContext.ApproximateInvokeCount != 3 || message.Payload != "" ||
		message.DDBStreamBatchInfo != (batch{"shard", "1", "3", "2026-03-01T12:00:01Z", "arn:stream"}) {
		t.Errorf("the message is %s", given.Message)
	}
	var e event
	if err := json.Unmarshal([]byte(object.Payload), &e); err != nil || e.sequences() != "1 2 3" || object.DDBStreamBatchInfo != message.DDBStreamBatchInfo {
		t.Errorf("the object is %s (%v)", given.Object, err)
	}
	if want := "aws/lambda/" + mappingID + "/shard/"; len(given.Key) < len(want) || given.Key[:len(want)] != want {
		t.Errorf("the object's name is %s", given.Key)
	}
}
