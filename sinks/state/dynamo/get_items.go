package dynamo

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
)

// maxKeys is the maximum number of keys in a BatchGetItem request (DynamoDB API reference).
const maxKeys = 100

// Ref identifies an item by its table and key.
type Ref struct {
	Table string
	Key   Item // only the key attributes
}

// ID returns a text that identifies the item among the items of all tables.
func (r Ref) ID() string { return keyText(r.Table, r.Key, r.Key) }

// Get reads items consistently. It returns them in the order of refs, with nil for a missing item. refs may contain an
// item several times. If the server leaves keys unprocessed, Get requests them again. The result is not a snapshot. Get
// may see some of the writes that happen during the read, and miss others.
func (db *DB) Get(ctx context.Context, refs []Ref) ([]Item, error) {
	ids := make([]string, len(refs))
	itemsByID := make(map[string]Item, len(refs))
	var unique []Ref // refs without duplicates
	for i, r := range refs {
		ids[i] = r.ID()
		if _, isDuplicate := itemsByID[ids[i]]; !isDuplicate {
			itemsByID[ids[i]] = nil
			unique = append(unique, r)
		}
	}

	found, err := db.getBatches(ctx, unique)
	if err != nil {
		return nil, err
	}
	keyOfTable := make(map[string]Item, 2) // any key of each table, for the names of its attributes
	for _, r := range unique {
		keyOfTable[r.Table] = r.Key
	}
	for _, batch := range found {
		for _, f := range batch {
			itemsByID[keyText(f.table, f.item, keyOfTable[f.table])] = f.item
		}
	}

	items := make([]Item, len(refs))
	for i, id := range ids {
		items[i] = itemsByID[id]
	}
	return items, nil
}

// getOne reads one item consistently. It returns nil if the item is missing.
func (db *DB) getOne(ctx context.Context, ref Ref) (Item, error) {
	items, err := db.Get(ctx, []Ref{ref})
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// tableItem is an item with the name of its table.
type tableItem struct {
	table string
	item  Item
}

// getBatches reads different items in batches, and returns the items of each batch.
func (db *DB) getBatches(ctx context.Context, refs []Ref) ([][]tableItem, error) {
	batches := slices.Collect(slices.Chunk(refs, maxKeys))
	found := make([][]tableItem, len(batches))
	err := db.each(ctx, len(batches), func(i int) (err error) {
		found[i], err = db.getBatch(ctx, batches[i])
		return err
	})
	return found, err
}

// getBatch reads up to 100 items. The server leaves keys unprocessed if the answer is full or the table is throttled.
// getBatch requests these keys again. It fails after Options.Attempts answers in a row without an item.
func (db *DB) getBatch(ctx context.Context, refs []Ref) ([]tableItem, error) {
	var all []tableItem
	idle := 0 // number of answers in a row without an item
	remaining := requestsOf(refs)
	for {
		out, err := call(ctx, db, "BatchGetItem", tableName(remaining), &dynamodb.BatchGetItemInput{RequestItems: remaining},
			db.client.BatchGetItem)
		if err != nil {
			return nil, err
		}

		before := len(all)
		for table, items := range out.Responses {
			for _, item := range items {
				all = append(all, tableItem{table, item})
			}
		}
		remaining = out.UnprocessedKeys
		if len(remaining) == 0 {
			return all, nil
		}
		idle++
		if len(all) > before { // the answer had items
			idle = 0
		}
		if idle >= db.attempts {
			return nil, (&Error{Op: "BatchGetItem", Table: tableName(remaining), Action: -1, Kind: ErrThrottled,
				Detail: "keys come back unprocessed"}).marked(0)
		}
		if pipeline.Sleep(ctx, db.backoff.Delay(idle, 0)) != nil {
			return nil, stoppedError(ctx)
		}
	}
}

// requestsOf returns requests of the items, by table. The items are read consistently.
func requestsOf(refs []Ref) map[string]types.KeysAndAttributes {
	requests := make(map[string]types.KeysAndAttributes)
	for _, r := range refs {
		request := requests[r.Table]
		request.ConsistentRead = aws.Bool(true)
		request.Keys = append(request.Keys, r.Key)
		requests[r.Table] = request
	}
	return requests
}

// tableName returns the name of the requested table, or "" if several tables are requested.
func tableName(requests map[string]types.KeysAndAttributes) string {
	if len(requests) != 1 {
		return ""
	}
	for table := range requests {
		return table
	}
	return ""
}

// keyText returns a text that identifies an item by its table and the attributes whose names are in key.
func keyText(table string, item, key Item) string {
	b := append(make([]byte, 0, 128), table...)
	for _, name := range slices.Sorted(maps.Keys(key)) {
		b = append(b, 0)
		b = append(b, name...)
		b = append(b, 0)
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			// the text is preceded by its length, because it may contain any byte
			b = append(b, 'S')
			b = strconv.AppendInt(b, int64(len(v.Value)), 10)
			b = append(b, ':')
			b = append(b, v.Value...)
		case *types.AttributeValueMemberN: // parsed, because DynamoDB returns 1.0 as 1
			b = append(b, 'N')
			if d, err := decimal.Parse(v.Value); err == nil {
				b = d.Append(b)
			} else {
				b = append(b, v.Value...)
			}
		case *types.AttributeValueMemberB:
			b = append(b, 'B')
			b = base64.StdEncoding.AppendEncode(b, v.Value)
		}
	}
	return string(b)
}
