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

// Item is an item of a table, or the key of one, as the SDK has it.
type Item = map[string]types.AttributeValue

// Options shape a DB.
type Options struct {
	Client      Client           // Required.
	Table       string           // name of the state table. Required.
	Pipeline    string           // whose memory and what [DB.Purge] forgets. Required.
	Retention   time.Duration    // how long a guard without a row and a contribution without a share live. Default: [state.DefaultRetention]
	Concurrency int              // requests that one call has in flight at most. Default: 16
	Attempts    int              // how often a request is sent before its error is reported: throttled, cut, or in conflict. Default: 4
	Backoff     pipeline.Backoff // between these. Default: full jitter from 50ms to 2s
	Now         func() time.Time // what expires is reckoned from. Default: [time.Now]
}

// DB is the state table, and the calls to it and to the tables of rows. It is safe for
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

	accepted accepted
	touched  sync.Map // Target -> bool: those that are known to be marked as written to, and whether with witnesses
}

// New makes a DB of o; the error names the field that is wrong. It calls nothing.
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
		backoff:     pipeline.Backoff{Base: cmp.Or(o.Backoff.Base, 50*time.Millisecond), Max: cmp.Or(o.Backoff.Max, 2*time.Second)},
		now:         o.Now,
	}
	if db.now == nil {
		db.now = time.Now
	}
	return db, nil
}

// Table is the name of the state table.
func (db *DB) Table() string { return db.table }

// Close refuses all further calls. The client stays its owner's. A second Close does nothing.
func (db *DB) Close() error {
	db.closed.Store(true)
	return nil
}

// Each calls do for 0 to n-1, with as many calls at once as the DB may have in flight,
// and waits for all of them.
func (db *DB) Each(n int, do func(i int)) {
	parallel.Each(n, db.concurrency, func(i int) error {
		do(i)
		return nil
	})
}

// each is Each where the first error, by index, is that of the whole.
func (db *DB) each(ctx context.Context, n int, do func(i int) error) error {
	return cmp.Or(parallel.Each(n, db.concurrency, func(i int) error {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		return do(i)
	})...)
}

// call sends a request until it is answered, or until its error is no passing one. The
// same request, with the same token where it has one, is sent again: who calls it made sure
// that this does no harm.
func call[I, O any](ctx context.Context, db *DB, op, table string, in I, send func(context.Context, I, ...func(*dynamodb.Options)) (O, error)) (O, error) {
	for attempt := 0; ; attempt++ {
		var none O
		if db.closed.Load() {
			return none, pipeline.Fatal(&Error{Op: op, Table: table, Action: -1, Kind: errClosed})
		}
		out, err := send(ctx, in, once)
		if err == nil {
			return out, nil
		}
		err = failed(ctx, op, table, err)
		wait, again := pipeline.Retryable(err)
		if !again || attempt+1 >= db.attempts || errors.Is(err, ErrTokenReused) || ctx.Err() != nil {
			return none, err
		}
		if pipeline.Sleep(ctx, db.backoff.Delay(attempt, wait)) != nil {
			return none, stopped(ctx)
		}
	}
}

// once keeps the SDK from trying again by itself: it knows nothing of the reasons of
// a transaction. What it takes for an answer is the service's.
func once(o *dynamodb.Options) {
	o.RetryMaxAttempts = 1
	o.HTTPClient = awshttp.Verify(o.HTTPClient)
}
