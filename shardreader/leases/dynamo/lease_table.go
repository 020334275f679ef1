package dynamo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/shardreader/leases"
	state "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// Client has the methods of *dynamodb.Client that this package calls. Only [Table.CreateTables] needs the rights for
// CreateTable, UpdateTimeToLive and DescribeTimeToLive.
type Client interface {
	state.Client

	GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

var _ Client = (*dynamodb.Client)(nil)

// Options configure a Table.
type Options struct {
	Client     Client // Required.
	Table      string // name of the lease table. Required.
	StateTable string // name of the state table. Required.
	Pipeline   string // name of the pipeline that the members belong to. Required.
	// Streams makes new rows name their stream if the table has no leases. Default: all leases belong to one stream
	Streams bool
}

const (
	writeTimeout = 2 * time.Second
	readTimeout  = 5 * time.Second    // also of the retries
	memberTTL    = 7 * 24 * time.Hour // TTL of a member's row after its last heartbeat
)

// Table implements [leases.Table] with a lease table and a state table. It is safe for concurrent use. A write is tried
// once: after a transient error the caller reads the table to find out whether the write happened.
type Table struct {
	options Options
	db      *state.DB // creates and checks the tables

	mu          sync.Mutex
	format      RowFormat
	rowCount    int  // number of rows at the last Read
	formatKnown bool // format was set from the rows of the table
}

var _ leases.Table = (*Table)(nil)

// New returns a Table. It makes no calls: see [Table.Check] and [Table.CreateTables].
func New(o Options) (*Table, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("leases/dynamo: Options.Client is nil")
	case o.Table == "":
		return nil, errors.New("leases/dynamo: Options.Table is empty")
	case o.StateTable == "":
		return nil, errors.New("leases/dynamo: Options.StateTable is empty")
	case o.StateTable == o.Table:
		return nil, errors.New("leases/dynamo: Options.StateTable is the lease table: KCL would take its rows for leases")
	case o.Pipeline == "":
		return nil, errors.New("leases/dynamo: Options.Pipeline is empty")
	}
	db, err := state.New(state.Options{Client: o.Client, Table: o.StateTable, Pipeline: o.Pipeline})
	if err != nil {
		return nil, err
	}
	return &Table{options: o, db: db, format: RowFormat{Streams: o.Streams}}, nil
}

// Format returns the format of new rows, as the last Read or [Table.Check] found it.
func (t *Table) Format() RowFormat {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.format
}

// Create implements [leases.Table].
func (t *Table) Create(ctx context.Context, l leases.Lease) error {
	format, err := t.rowFormat(ctx)
	if err != nil {
		return err
	}
	row, err := format.newRow(l)
	if err != nil {
		return err
	}
	l.Opaque = row[attrKey].(*types.AttributeValueMemberS).Value
	in := &dynamodb.PutItemInput{
		TableName: &t.options.Table, Item: row,
		ConditionExpression:                 aws.String("attribute_not_exists(" + attrKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	_, err = write(ctx, t.options.Client.PutItem, in)
	return t.writeError(ctx, "PutItem", l, err)
}

// Swap implements [leases.Table].
func (t *Table) Swap(ctx context.Context, old, next leases.Lease) error {
	key, err := t.key(ctx, old)
	if err != nil {
		return err
	}
	e := update(old, next)
	changes, condition := e.changes(), e.condition(old)
	in := &dynamodb.UpdateItemInput{
		TableName: &t.options.Table, Key: Item{attrKey: textAttribute(key)},
		UpdateExpression:                    &changes,
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	_, err = write(ctx, t.options.Client.UpdateItem, in)
	old.Opaque = key
	return t.writeError(ctx, "UpdateItem", old, err)
}

// Delete implements [leases.Table].
func (t *Table) Delete(ctx context.Context, old leases.Lease) error {
	key, err := t.key(ctx, old)
	if err != nil {
		return err
	}
	e := new(expression)
	condition := e.condition(old)
	in := &dynamodb.DeleteItemInput{
		TableName: &t.options.Table, Key: Item{attrKey: textAttribute(key)},
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	_, err = write(ctx, t.options.Client.DeleteItem, in)
	old.Opaque = key
	err = t.writeError(ctx, "DeleteItem", old, err)
	if c, ok := leases.AsConflict(err); ok && c.Missing {
		return nil
	}
	return err
}

// key returns the leaseKey of a lease. A lease that was not read has no Opaque, so its key depends on the row format.
func (t *Table) key(ctx context.Context, l leases.Lease) (string, error) {
	if l.Opaque != "" {
		return l.Opaque, nil
	}
	format, err := t.rowFormat(ctx)
	if err != nil {
		return "", err
	}
	return format.key(l)
}

// rowFormat returns the row format of the table. If no Read has set the format yet, rowFormat scans the table.
func (t *Table) rowFormat(ctx context.Context) (RowFormat, error) {
	t.mu.Lock()
	format, isKnown := t.format, t.formatKnown
	t.mu.Unlock()
	if isKnown {
		return format, nil
	}
	err := t.scanLeases(ctx, new(scannedRows))
	return t.Format(), err
}

// writeError returns the error of a write of l; a *Conflict if the condition failed. l.Opaque must be the leaseKey.
func (t *Table) writeError(ctx context.Context, op string, l leases.Lease, err error) error {
	if err == nil {
		return nil
	}
	row, err := t.refusedRow(ctx, op, t.options.Table, Item{attrKey: textAttribute(l.Opaque)}, err)
	if err != nil {
		return err
	}
	if len(row) == 0 {
		return &leases.Conflict{Missing: true}
	}
	current, err := decode(row)
	if err != nil { // the error is transient, because an operator can repair the row
		return pipeline.Transient(&state.Error{Op: op, Table: t.options.Table, Action: -1, Detail: err.Error(),
			Hint: "repair the row; whoever deletes it loses what was not read of its shard"})
	}
	return &leases.Conflict{Current: current}
}

// refusedRow returns the row that made the condition of a write fail; nil if there is no row. writeErr is the error of
// the write. If it is not a failed condition, refusedRow returns it, marked as transient or fatal.
func (t *Table) refusedRow(ctx context.Context, op, table string, key Item, writeErr error) (Item, error) {
	failedCheck, ok := errors.AsType[*types.ConditionalCheckFailedException](writeErr)
	if !ok {
		return nil, callError(ctx, op, table, writeErr)
	}
	if len(failedCheck.Item) > 0 {
		return failedCheck.Item, nil
	}
	// There is no row, or the server does not return it.
	in := &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)}
	out, err := read(ctx, t.options.Client.GetItem, in)
	if err != nil {
		return nil, callError(ctx, "GetItem", table, err)
	}
	return out.Item, nil
}

// write makes a call that writes, once and limited by writeTimeout.
func write[I, O any](ctx context.Context, call dynamoCall[I, O], in I) (O, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return call(ctx, in, verified, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
}

// read makes a call that reads, with the client's own retries and limited by readTimeout.
func read[I, O any](ctx context.Context, call dynamoCall[I, O], in I) (O, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return call(ctx, in, verified)
}

// dynamoCall is a method of a [Client].
type dynamoCall[I, O any] func(context.Context, I, ...func(*dynamodb.Options)) (O, error)

// verified makes the client reject an answer that comes from a proxy and not from the service.
func verified(o *dynamodb.Options) { o.HTTPClient = awshttp.Verify(awshttp.KeepBody(o.HTTPClient)) }

// callError classifies the error of a call; nil stays nil. An error that is not transient is fatal.
func callError(ctx context.Context, op, table string, err error) error {
	if err == nil {
		return nil
	}
	err = state.Classify(ctx, op, table, err)
	if _, again := pipeline.Retryable(err); !again {
		err = pipeline.Fatal(err)
	}
	return err
}
