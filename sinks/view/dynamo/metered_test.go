package dynamo_test

import (
	"context"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// metered is a client that adds up the consumed capacity as DynamoDB computes it. DynamoDB Local computes it
// differently: it rounds the sum of a transaction's writes to a table, and a read that finds nothing is free. DynamoDB
// rounds each item, counts the item twice in a transaction, and charges a unit for finding nothing (Developer Guide,
// Read and write operations). So metered sends the writes of a transaction separately, and adds a unit for each missing
// item.
type metered struct {
	*dynamodb.Client
	mu            sync.Mutex
	reads, writes float64
}

// meteredTable returns a new metered client, and a store with the table of orders.
func meteredTable(t *testing.T) (*metered, *dynamo.Store) {
	t.Helper()
	m := &metered{Client: dynamotest.Open(t).Client("", nil)}
	return m, withTable(t, statedynamo.Options{Client: m}, orders.Table)
}

func (m *metered) reset() { m.reads, m.writes = 0, 0 }

func (m *metered) count(into *float64, units float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*into += units
}

func (m *metered) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.PutItem(ctx, in, o...)
	if err == nil {
		m.count(&m.writes, *out.ConsumedCapacity.CapacityUnits)
	}
	return out, err
}

func (m *metered) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.UpdateItem(ctx, in, o...)
	if err == nil {
		m.count(&m.writes, *out.ConsumedCapacity.CapacityUnits)
	}
	return out, err
}

func (m *metered) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.DeleteItem(ctx, in, o...)
	if err == nil {
		m.count(&m.writes, *out.ConsumedCapacity.CapacityUnits)
	}
	return out, err
}

func (m *metered) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	db, err := statedynamo.New(statedynamo.Options{Client: m, Table: "state", Pipeline: "p"})
	if err != nil {
		return nil, err
	}
	before := m.writes
	for _, a := range in.TransactItems {
		if a.ConditionCheck != nil { // a check of a tombstone or of nothing: at most 1 KB
			m.writes++
			continue
		}
		if err := db.Write(ctx, a); err != nil {
			return nil, err
		}
	}
	m.writes += m.writes - before
	return new(dynamodb.TransactWriteItemsOutput), nil
}

func (m *metered) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.BatchGetItem(ctx, in, o...)
	if err != nil {
		return out, err
	}
	for _, cc := range out.ConsumedCapacity {
		m.count(&m.reads, *cc.CapacityUnits)
	}
	for table, keys := range in.RequestItems {
		m.count(&m.reads, float64(len(keys.Keys)-len(out.Responses[table])))
	}
	return out, nil
}

func (m *metered) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.Query(ctx, in, o...)
	if err == nil {
		m.count(&m.reads, max(1, *out.ConsumedCapacity.CapacityUnits))
	}
	return out, err
}
