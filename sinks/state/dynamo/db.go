package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/state"
)

// Item is an item of a table, or only its key attributes, in the SDK's form.
type Item = map[string]types.AttributeValue

// Options shape a DB.
type Options struct {
	Client   Client // Required.
	Table    string // name of the state table. Required.
	Pipeline string // name of the pipeline for [DB.StoreAge] and [DB.Purge]. Required.
	// Retention is the lifetime of tombstones, guards without a row and contributions without shares. Default:
	// [state.DefaultRetention].
	Retention   time.Duration
	Concurrency int // maximum number of requests in flight for one call. Default: 16
	// Attempts is the maximum number of times that a request is sent, if it is throttled, conflicts with another write
	// or gets no answer. Default: 4.
	Attempts int
	Backoff  pipeline.Backoff // waits between attempts. Default: full jitter from 50ms to 2s
	Now      func() time.Time // clock for expiry. Default: [time.Now]
}

// DB sends requests to the state table and to the tables of rows. It is safe for
// concurrent use. It starts no goroutine that outlives a call.
type DB struct {
	client      Client
	table       string
	pipeline    string
	retention   time.Duration
	concurrency int
	attempts    int
	backoff     pipeline.Backoff
	now         func() time.Time
	closed      atomic.Bool

	accepted acceptedIdentities
	// noted maps each Target that [DB.NoteTarget] has noted to a bool: whether the stored note names witnesses
	noted sync.Map
}

// New returns a DB with the options o. It does not call DynamoDB. An error names the field that is wrong.
func New(o Options) (*DB, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("dynamodb: Client is missing")
	case o.Table == "":
		return nil, errors.New("dynamodb: Table, the name of the state table, is empty (state.table in the configuration)")
	case o.Pipeline == "":
		return nil, errors.New("dynamodb: Pipeline, whose state it is, is empty")
	case o.Retention < 0:
		return nil, fmt.Errorf("dynamodb: Retention is %s: it can't be negative", o.Retention)
	case o.Concurrency < 0 || o.Attempts < 0:
		return nil, errors.New("dynamodb: Concurrency and Attempts can't be negative")
	}
	db := &DB{
		client:      o.Client,
		table:       o.Table,
		pipeline:    o.Pipeline,
		retention:   cmp.Or(o.Retention, state.DefaultRetention),
		concurrency: cmp.Or(o.Concurrency, 16),
		attempts:    cmp.Or(o.Attempts, 4),
		backoff: pipeline.Backoff{Base: cmp.Or(o.Backoff.Base, 50*time.Millisecond),
			Max: cmp.Or(o.Backoff.Max, 2*time.Second)},
		now: o.Now,
	}
	if db.now == nil {
		db.now = time.Now
	}
	return db, nil
}

// Table returns the name of the state table.
func (db *DB) Table() string { return db.table }

// Close makes all further calls fail. It does not close the client. A second Close does nothing.
func (db *DB) Close() error {
	db.closed.Store(true)
	return nil
}

// Each calls do for each i from 0 to n-1, and waits for all calls. At most Options.Concurrency calls run at once.
func (db *DB) Each(n int, do func(i int)) {
	parallel.Each(n, db.concurrency, func(i int) error {
		do(i)
		return nil
	})
}

// each is Each for calls that may fail. It returns the error of the call with the lowest index.
func (db *DB) each(ctx context.Context, n int, do func(i int) error) error {
	return cmp.Or(parallel.Each(n, db.concurrency, func(i int) error {
		if ctx.Err() != nil {
			return stoppedError(ctx)
		}
		return do(i)
	})...)
}

// call sends a request until it succeeds or fails with an error that is not transient, at most Options.Attempts times.
// Each time it sends the same request, with the same client token if it has one. The caller makes sure that a repeated
// request is harmless.
func call[I, O any](
	ctx context.Context, db *DB, op, table string, in I,
	send func(context.Context, I, ...func(*dynamodb.Options)) (O, error),
) (O, error) {
	return callPatiently(ctx, db, op, table, in, send, nil)
}

// callPatiently is call without a limit of attempts for throttled requests. It repeats them until ctx ends, and calls
// throttled before each wait. If throttled is nil, it is the same as call.
func callPatiently[I, O any](
	ctx context.Context, db *DB, op, table string, in I,
	send func(context.Context, I, ...func(*dynamodb.Options)) (O, error), throttled func(err error, wait time.Duration),
) (O, error) {
	var none O
	failures := 0 // number of failed attempts that count for the limit; all attempts count for the wait
	for attempt := 0; ; attempt++ {
		if db.closed.Load() {
			return none, pipeline.Fatal(&Error{Op: op, Table: table, Action: -1, Kind: errClosed})
		}
		out, err := send(ctx, in, noRetry)
		if err == nil {
			return out, nil
		}

		err = Classify(ctx, op, table, err)
		wait, retryable := pipeline.Retryable(err)
		if !retryable || errors.Is(err, ErrTokenReused) || ctx.Err() != nil {
			return none, err
		}
		delay := db.backoff.Delay(attempt, wait)
		isThrottled := errors.Is(err, ErrThrottled) || errors.Is(err, ErrRequestLimit)
		if isThrottled && throttled != nil {
			throttled(err, delay)
		} else {
			failures++
		}
		if failures >= db.attempts {
			return none, err
		}
		if pipeline.Sleep(ctx, delay) != nil {
			return none, stoppedError(ctx)
		}
	}
}

// noRetry turns off the retries of the SDK, because the SDK ignores the reasons of a cancelled transaction. It also
// makes the client check that an answer comes from DynamoDB.
func noRetry(o *dynamodb.Options) {
	o.RetryMaxAttempts = 1
	o.HTTPClient = awshttp.Verify(o.HTTPClient)
}

// State is the state of one pipeline in the table, except the guards and contributions of its views.
type State struct {
	db       *DB
	pipeline string
}

var _ state.Store = (*State)(nil)

// State returns the state of a pipeline.
func (db *DB) State(pipeline string) *State { return &State{db: db, pipeline: pipeline} }

// Client is the part of *dynamodb.Client that the package calls. Only [DB.Create] needs the rights for CreateTable,
// UpdateTimeToLive and DescribeTimeToLive. Only [DB.Purge] and readers of whole tables need the right for Scan.
type Client interface {
	TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
		o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
		o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
		o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
		o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)

	CreateTable(ctx context.Context, in *dynamodb.CreateTableInput,
		o ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
		o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput,
		o ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput,
		o ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

var _ Client = (*dynamodb.Client)(nil)
