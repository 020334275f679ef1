package handlers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// The state of a tumbling window is returned unchanged, beside the failures.
func TestWindows(t *testing.T) {
	const (
		window = `"window":{"start":"2026-01-02T03:04:00Z","end":"2026-01-02T03:06:00Z"}`
		flags  = `"isFinalInvokeForWindow":false,"isWindowTerminatedEarly":false`
		shard  = `"shardId":"shardId-1","eventSourceARN":"` + streamARN + `"`
	)
	for name, tt := range map[string]struct{ event, answer, partition string }{
		"first": {
			fmt.Sprintf(`{"Records":[%s, %s ],%s,"state":{},%s,%s}`, recordJSON("a", 101), recordJSON("c", 102), window, flags, shard),
			`{"batchItemFailures":[],"state":{}}`, "shardId-1",
		},
		"state ahead of the records": {
			fmt.Sprintf(` {"state" : {"n": 1.50, "<s>":"}\"]"} ,%s,%s,%s,"Records":[%s]}`, window, flags, shard, recordJSON("a", 101)),
			`{"batchItemFailures":[],"state":{"n": 1.50, "<s>":"}\"]"}}`, "shardId-1",
		},
		"one is down": {
			fmt.Sprintf(`{"Records":[%s,%s],%s,"state":[1],%s,%s}`, recordJSON("a", 101), recordJSON("b", 102), window, flags, shard),
			`{"batchItemFailures":[{"itemIdentifier":"102"}],"state":[1]}`, "shardId-1",
		},
		"a record that cannot be decoded between": {
			fmt.Sprintf(`{"Records":[%s,{"eventSource":"aws:dynamodb"},%s],%s,"state":{"n":1},%s,%s}`, recordJSON("a", 101), recordJSON("c", 103), window, flags, shard),
			`{"batchItemFailures":[],"state":{"n":1}}`, "shardId-1",
		},
		"the last, without records": {
			fmt.Sprintf(`{"Records":[],%s,"state":{"n":7},"isFinalInvokeForWindow":true,"isWindowTerminatedEarly":true,%s}`, window, shard),
			`{"batchItemFailures":[],"state":{"n":7}}`, "",
		},
		"without a state": {
			fmt.Sprintf(`{"Records":[%s],%s,%s}`, recordJSON("a", 101), window, shard),
			`{"batchItemFailures":[],"state":{}}`, "shardId-1",
		},
		"a state of no window": {
			fmt.Sprintf(`{"Records":[%s],"state":{"n":1}}`, recordJSON("a", 101)),
			`{"batchItemFailures":[]}`, "lambda",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{fail: func(_ context.Context, key string) error {
					if key == "b" {
						return pipeline.Transient(errDown)
					}
					return nil
				}}
				g := &graveyard{}
				seen := &seeing{shards: map[string]bool{}}
				p := assemble(t, s, g, func(o *pipeline.Options) {
					o.Filters = []pipeline.Filter{seen}
				})
				for _, h := range []func() ([]byte, error){
					func() ([]byte, error) { return DynamoDB(p).Invoke(within(t, time.Minute), []byte(tt.event)) },
					func() ([]byte, error) { return All(p).Invoke(within(t, time.Minute), []byte(tt.event)) },
				} {
					answer, err := h()
					if err != nil || string(answer) != tt.answer {
						t.Errorf("the answer is %s, %v; want %s", answer, err, tt.answer)
					}
				}
				for shard := range seen.shards {
					if want := tt.partition; shard != want && (want != "lambda" || shard != "") {
						t.Errorf("a change is of the shard %q; want %q", shard, want)
					}
				}
				for _, l := range g.letters {
					if l.Partition != tt.partition {
						t.Errorf("a letter is of the partition %q; want %q", l.Partition, tt.partition)
					}
				}
			})
		})
	}
}

// seeing notes the shards of changes.
type seeing struct {
	mu     sync.Mutex
	shards map[string]bool
}

// Check drops nothing.
func (s *seeing) Check(c *record.Change) (pipeline.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards[c.Shard] = true
	return pipeline.Verdict{}, nil
}
