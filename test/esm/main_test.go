package esm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// began is the base of the creation times: the n-th record of a test is created in its n-th second.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// of returns the n-th record of a stream, for an item.
func of(n int, item string) []byte {
	return fmt.Appendf(nil, `{"eventSourceARN":"arn:stream","dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{"PK":{"S":%q}},"SequenceNumber":"%d"}}`,
		began.Unix()+int64(n), item, n)
}

// shard returns the records 1 to n, over items a, b, c, ...
func shard(n, items int) Shard {
	s := Shard{ID: "shard"}
	for i := range n {
		s.Records = append(s.Records, of(i+1, string(rune('a'+i%items))))
	}
	return s
}

// event is the part of an event that a function reads.
type event struct {
	Records []struct {
		DynamoDB struct {
			SequenceNumber string
			Keys           map[string]map[string]string
		} `json:"dynamodb"`
	}
	Window *struct{ Start, End string }
	State  json.RawMessage
	Final  bool   `json:"isFinalInvokeForWindow"`
	Shard  string `json:"shardId"`
}

// sequences returns the sequence numbers of the records, like "1 2 3".
func (e *event) sequences() string {
	var all []string
	for _, r := range e.Records {
		all = append(all, r.DynamoDB.SequenceNumber)
	}
	return strings.Join(all, " ")
}

// told is a function that remembers its events and answers by do. A nil do always succeeds.
type told struct {
	do func(call int, e *event) (string, error)

	mu     sync.Mutex
	events []*event
	busy   bool
	twice  bool // it received two events at the same time
}

func (f *told) Invoke(_ context.Context, b []byte) ([]byte, error) {
	var e event
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.twice, f.busy = f.twice || f.busy, true
	f.events = append(f.events, &e)
	call := len(f.events)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.busy = false
		f.mu.Unlock()
	}()
	if f.do == nil {
		return nil, nil
	}
	answer, err := f.do(call, &e)
	return []byte(answer), err
}

// batches returns the records of the events, like "1 2 3|4 5".
func (f *told) batches() string {
	var all []string
	for _, e := range f.events {
		all = append(all, e.sequences())
	}
	return strings.Join(all, "|")
}

func failing(id string) string {
	return `{"batchItemFailures":[{"itemIdentifier":"` + id + `"}]}`
}

var errDown = errors.New("down")

// went runs a mapping over shards and returns its report.
func went(t *testing.T, m Mapping, f *told, shards ...Shard) Report {
	t.Helper()
	m.Functions = []Function{f}
	r, err := m.Run(t.Context(), shards...)
	if err != nil {
		t.Fatal(err)
	}
	if r.Invocations != len(f.events) {
		t.Errorf("%d invocations are reported, and %d were made", r.Invocations, len(f.events))
	}
	return r
}
