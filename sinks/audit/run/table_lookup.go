package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/audit"
)

// batchGetter is the method of *dynamodb.Client that a tableLookup calls.
type batchGetter interface {
	BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
		o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// tableLookup reads items of a table.
type tableLookup struct {
	client  batchGetter
	table   string
	keys    []string // names of the key attributes, sorted
	changes *changeMaker
	budget  *Budget
}

// NewTableLookup returns a [Lookup] that reads a table. o has the options to decode items, and the names of the key
// attributes. budget counts the consumed units.
func NewTableLookup(client batchGetter, table string, o record.SnapshotOptions, budget *Budget) Lookup {
	return &tableLookup{client: client, table: table, keys: slices.Sorted(slices.Values(o.Keys)),
		changes: newChangeMaker(o), budget: budget}
}

// Read implements [Lookup].
func (t *tableLookup) Read(ctx context.Context, keys []item.Key) ([]Item, error) {
	items := make([]Item, len(keys))
	for start := 0; start < len(keys); start += itemsPerRead {
		end := min(start+itemsPerRead, len(keys))
		if err := t.readBatch(ctx, keys[start:end], items[start:end]); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// readBatch reads the items with the given keys into items, in the order of keys. There are at most itemsPerRead keys.
func (t *tableLookup) readBatch(ctx context.Context, keys []item.Key, items []Item) error {
	byKey := make(map[item.Key]*Item, len(keys))
	var unread []map[string]types.AttributeValue
	for i, key := range keys {
		attributes, err := t.keyAttributes(key)
		if err != nil {
			items[i].Err = fmt.Errorf("it is stored under a key that the table cannot have: %w", err)
			continue
		}
		// until the table returns the item, it counts as removed
		if items[i].Change, err = t.removeOf(attributes); err != nil {
			return fmt.Errorf("item %s: %w", key, err)
		}
		byKey[key] = &items[i]
		unread = append(unread, attributes)
	}
	if len(unread) == 0 {
		return nil
	}
	return t.readUntilProcessed(ctx, unread, byKey)
}

// readUntilProcessed reads the items with the given key attributes into byKey. It repeats the request for the keys that
// the table leaves unprocessed.
func (t *tableLookup) readUntilProcessed(
	ctx context.Context, unread []map[string]types.AttributeValue, byKey map[item.Key]*Item,
) error {
	for throttled := 0; ; {
		out, err := t.request(ctx, unread)
		if err != nil {
			return err
		}
		if err := t.addResponse(ctx, out, byKey); err != nil {
			return err
		}
		unread = nil
		for _, unprocessed := range out.UnprocessedKeys {
			unread = append(unread, unprocessed.Keys...)
		}
		switch {
		case len(unread) == 0:
			return nil
		case isFullResponse(out):
			continue
		}
		t.budget.pace.SlowDown()
		if err := pipeline.Sleep(ctx, audit.ThrottledWait.Delay(throttled, 0)); err != nil {
			return err
		}
		throttled++
	}
}

// fullResponseUnits are the read units of a response that has no room for another item: 16 MB, less an item of 400 KB,
// at a unit for 4 KB (API reference, BatchGetItem).
const fullResponseUnits = (16<<20 - 400<<10) / (4 << 10)

// isFullResponse reports whether the table left keys unprocessed because of the size of the response. Otherwise it was
// throttled.
func isFullResponse(out *dynamodb.BatchGetItemOutput) bool {
	units := 0.0
	for _, c := range out.ConsumedCapacity {
		units += aws.ToFloat64(c.CapacityUnits)
	}
	return units >= fullResponseUnits
}

// request requests the items with the given key attributes. The SDK retries failed requests a few times.
func (t *tableLookup) request(
	ctx context.Context, keys []map[string]types.AttributeValue,
) (out *dynamodb.BatchGetItemOutput, err error) {
	items := types.KeysAndAttributes{ConsistentRead: aws.Bool(true), Keys: keys}
	err = t.budget.retryThrottled(ctx, func() (err error) {
		out, err = t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems:           map[string]types.KeysAndAttributes{t.table: items},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		return err
	})
	return out, err
}

// addResponse sets the items of a response, and spends the units that it consumed.
func (t *tableLookup) addResponse(
	ctx context.Context, out *dynamodb.BatchGetItemOutput, byKey map[item.Key]*Item,
) error {
	for _, items := range out.Responses {
		for _, attributes := range items {
			if err := t.setItem(attributes, byKey); err != nil {
				return err
			}
		}
	}
	for _, c := range out.ConsumedCapacity {
		if c.CapacityUnits != nil {
			if err := t.budget.Spend(ctx, *c.CapacityUnits); err != nil {
				return err
			}
		}
	}
	return nil
}

// setItem decodes an item that the table returned, and sets it in byKey.
func (t *tableLookup) setItem(attributes map[string]types.AttributeValue, byKey map[item.Key]*Item) error {
	image, err := sdkvalue.Image(attributes)
	if err != nil {
		return err
	}
	c, err := t.changes.snapshotOf(image)
	if undecodable, ok := errors.AsType[*record.RecordError](err); ok {
		c.Key = undecodable.Key
	} else if err != nil {
		return err
	}
	it := byKey[c.Key]
	if it == nil {
		return errs.Errorf("table %s returned the item %s, which was not asked for", redact.Safe(t.table), c.Key)
	}
	it.Change, it.Err = c, err
	return nil
}

// removeOf returns the REMOVE, without images, of the item with the given key attributes.
func (t *tableLookup) removeOf(keyAttributes map[string]types.AttributeValue) (record.Change, error) {
	keys, err := sdkvalue.Image(keyAttributes)
	if err != nil {
		return record.Change{}, err
	}
	return t.changes.removeOf(keys)
}

// keyAttributes converts a canonical key to the key attributes of the table.
func (t *tableLookup) keyAttributes(key item.Key) (map[string]types.AttributeValue, error) {
	_, values, err := key.Decode()
	if err != nil {
		return nil, err
	}
	if len(values) != len(t.keys) {
		return nil, errs.Errorf("the key of the table %s has %d attributes, and %s has %d", redact.Safe(t.table), len(t.keys),
			key, len(values))
	}
	attributes := make(map[string]types.AttributeValue, len(values))
	for i, v := range values {
		attributes[t.keys[i]] = sdkvalue.Of(v)
	}
	return attributes, nil
}

// changeMaker makes changes from items, with the versions of a snapshot. It is safe for concurrent use.
type changeMaker struct {
	items   *record.SnapshotDecoder
	records *record.Decoder
}

func newChangeMaker(o record.SnapshotOptions) *changeMaker {
	records := o.DecoderOptions
	records.StreamARN, records.EpochZero = "", true
	return &changeMaker{record.NewSnapshotDecoder(o), record.NewDecoder(records)}
}

// snapshotOf returns the SNAPSHOT of an item.
func (m *changeMaker) snapshotOf(image item.Image) (record.Change, error) {
	b := append(image.AppendDynamoDBJSON([]byte(`{"Item":`)), "}\n"...)
	return record.OneChange(m.items.DecodeLines(b), nil)
}

// removeOf returns the REMOVE, without images, of the item with the key attributes.
func (m *changeMaker) removeOf(keys item.Image) (record.Change, error) {
	b := []byte(`{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"0","StreamViewType":"KEYS_ONLY","Keys":`)
	return record.OneChange(m.records.Decode(bytes.Clone(append(keys.AppendDynamoDBJSON(b), "}}"...))))
}
