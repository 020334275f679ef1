package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// An error is transient or fatal, and a write is sent once: its caller finds out whether it happened by the conflict of
// the next try.
func TestFaults(t *testing.T) {
	faults := &dynamotest.Faults{}
	w := open(t, dynamotest.Open(t), faults)
	l := leases.Lease{Shard: "s", Owner: "a", Counter: 1}
	if err := w.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	swaps := 0
	swap := func(fault dynamotest.Fault) (next leases.Lease, err error) {
		swaps++
		next = l
		next.Counter, next.Checkpoint = l.Counter+1, leases.After(fmt.Sprint(1000+swaps))
		before := faults.Calls("UpdateItem")
		faults.Next("UpdateItem", fault)
		err = w.Swap(t.Context(), l, next)
		if got := faults.Calls("UpdateItem") - before; got != 1 {
			t.Errorf("%d calls of one Swap", got)
		}
		return next, err
	}
	for _, test := range []struct {
		name     string
		fault    dynamotest.Fault
		happened bool
		fatal    string // what the error says; "": it is transient
	}{
		{"lost", dynamotest.Lost(), true, ""},
		{"cut", dynamotest.Cut(0), true, ""},
		{"reset", dynamotest.Reset(), false, ""},
		{"throttled", dynamotest.Throttle(), false, ""},
		{"internal", dynamotest.Refuse(http.StatusInternalServerError, "InternalServerError", "secret"), false, ""},
		{"a bad gateway, and yet done", executed(dynamotest.Unavailable(http.StatusBadGateway)), true, ""},
		{"unavailable", dynamotest.Unavailable(http.StatusServiceUnavailable), false, ""},
		{"conflict", dynamotest.Conflict(), false, ""},
		{"denied", dynamotest.Refuse(http.StatusBadRequest, "AccessDeniedException", "secret"), false, "dynamodb: UpdateItem on leases: access denied (AccessDeniedException): check the credentials, and that they allow dynamodb:UpdateItem"},
		{"no table", dynamotest.Refuse(http.StatusBadRequest, "ResourceNotFoundException", "secret"), false, "dynamodb: UpdateItem on leases: there is no such table (ResourceNotFoundException): check name, Region and account, or make it with --create"},
		{"not valid", dynamotest.Refuse(http.StatusBadRequest, "ValidationException", "secret"), false, "ValidationException"},
	} {
		t.Run(test.name, func(t *testing.T) {
			next, err := swap(test.fault)
			if _, again := pipeline.Retryable(err); again != (test.fatal == "") || pipeline.IsFatal(err) == again {
				t.Errorf("%v: transient %v, fatal %v", err, again, pipeline.IsFatal(err))
			}
			if !strings.Contains(err.Error(), test.fatal) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the error reads %q", err)
			}
			if r, ok := errors.AsType[redact.Redacted](err); !ok || strings.Contains(r.Redacted(), "secret") {
				t.Errorf("%v is not fit for logs", err)
			}
			err = w.Swap(t.Context(), l, next)
			c, refused := leases.AsConflict(err)
			switch {
			case test.happened && (!refused || !c.AlreadyWritten(next)):
				t.Errorf("sent again: %v; the row is as it made it", err)
			case !test.happened && err != nil:
				t.Errorf("sent again: %v", err)
			}
			l = next
		})
	}
}

// executed has the call executed, and f answer it.
func executed(f dynamotest.Fault) dynamotest.Fault {
	return func(r *dynamotest.Request) (*http.Response, error) {
		resp, err := r.Send()
		if err == nil {
			err = resp.Body.Close()
		}
		if err != nil {
			return nil, err
		}
		return f(r)
	}
}

// If the answer does not show the row that is in the way, it is read.
func TestFaults_ConflictWithoutItem(t *testing.T) {
	faults := &dynamotest.Faults{}
	w := open(t, dynamotest.Open(t), faults)
	l := leases.Lease{Shard: "s", Owner: "a", Counter: 1}
	if err := w.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	refused := func() dynamotest.Fault {
		return dynamotest.Refuse(http.StatusBadRequest, "ConditionalCheckFailedException", "The conditional request failed")
	}
	faults.Next("UpdateItem", refused())
	if c, ok := leases.AsConflict(w.Swap(t.Context(), l, l)); !ok || c.Missing || c.Current.Owner != "a" {
		t.Errorf("%+v", c)
	}
	faults.Next("DeleteItem", refused())
	if c, ok := leases.AsConflict(w.Delete(t.Context(), l)); !ok || c.Missing {
		t.Errorf("%+v", c)
	}
	for seen := range int64(2) {
		if _, ok, err := w.ReserveCall(t.Context(), "q", seen); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	faults.Next("UpdateItem", refused())
	if count, ok, err := w.ReserveCall(t.Context(), "q", 0); count != 2 || ok || err != nil {
		t.Errorf("%d %v (%v)", count, ok, err)
	}
	faults.Next("UpdateItem", refused())
	faults.Next("GetItem", dynamotest.Lost(), dynamotest.Lost(), dynamotest.Lost())
	if _, again := pipeline.Retryable(w.Swap(t.Context(), l, l)); !again {
		t.Error("a conflict that could not be looked at is not transient")
	}
}

// A read that breaks is an error, and not a smaller table.
func TestFaults_Read(t *testing.T) {
	faults := &dynamotest.Faults{}
	w := open(t, dynamotest.Open(t), faults)
	for _, op := range []string{"Scan", "Query"} {
		faults.Next(op, dynamotest.Refuse(http.StatusBadRequest, "AccessDeniedException", "secret"))
		if s, err := w.Read(t.Context()); !pipeline.IsFatal(err) || len(s.Leases)+len(s.Members) > 0 {
			t.Errorf("%s: %+v (%v)", op, s, err)
		}
		faults.Next(op, dynamotest.Throttle()) // reads are tried again
		if _, err := w.Read(t.Context()); err != nil {
			t.Errorf("%s, throttled once: %v", op, err)
		}
	}
}

// silent is a client without any answer.
type silent struct{ dynamo.Client }

func (silent) PutItem(ctx context.Context, _ *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	<-ctx.Done()
	return nil, &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "PutItem", Err: &aws.RequestCanceledError{Err: ctx.Err()}}
}

// A server that does not answer costs a call its time, and no more.
func TestFaults_Silence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, err := dynamo.New(dynamo.Options{Client: silent{}, Table: "leases", StateTable: "state", Pipeline: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err = table.Heartbeat(t.Context(), leases.Member{ID: "a"})
		if _, again := pipeline.Retryable(err); !again || !strings.HasPrefix(err.Error(), "dynamodb: PutItem on state: no answer") || time.Since(begun) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		why := errors.New("stopping")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if err := table.Heartbeat(ctx, leases.Member{ID: "a"}); !errors.Is(err, why) {
			t.Errorf("given up: %v", err)
		}
	})
}

// However answers are lost, no checkpoint is lost or written twice, if each writer sends its Swap again until it knows
// the result.
func TestFaults_Randomly(t *testing.T) {
	faults := &dynamotest.Faults{}
	w := open(t, dynamotest.Open(t), faults)
	const writers, each = 4, 15
	for i := range writers {
		if err := w.Create(t.Context(), leases.Lease{Shard: fmt.Sprint("s", i), Owner: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	faults.Randomly(7, 0.4, dynamotest.Lost(), dynamotest.Reset(), dynamotest.Throttle(), dynamotest.Cut(0), dynamotest.Unavailable(http.StatusBadGateway))
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			l := leases.Lease{Shard: fmt.Sprint("s", i), Owner: "a"}
			for range each {
				next := l
				next.Counter++
				next.Checkpoint = leases.After(fmt.Sprint(next.Counter))
				for {
					err := w.Swap(t.Context(), l, next)
					if c, refused := leases.AsConflict(err); err == nil || refused && c.AlreadyWritten(next) {
						break
					}
					if _, again := pipeline.Retryable(err); !again {
						t.Errorf("%v", err)
						return
					}
				}
				l = next
			}
		})
	}
	wg.Wait()
	faults.Randomly(0, 0)
	s, err := w.Read(t.Context())
	if err != nil || len(s.Leases) != writers {
		t.Fatalf("%+v (%v)", s.Leases, err)
	}
	for _, l := range s.Leases {
		if l.Counter != each || l.Checkpoint != leases.After(fmt.Sprint(each)) {
			t.Errorf("%+v, want %d checkpoints", l, each)
		}
	}
}
