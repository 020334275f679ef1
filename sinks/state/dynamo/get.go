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
	Key   Item // the key attributes alone
}

// Get reads items consistently, and returns them in the order of refs; nil for a missing item. refs may
// contain an item several times. Keys that the server leaves unprocessed are requested again. Get is no
// snapshot: it may see some of the writes that happen meanwhile.
func (db *DB) Get(ctx context.Context, refs []Ref) ([]Item, error) {
	keys := make([]string, len(refs))
	found := make(map[string]Item, len(refs)) // by keys
	var unique []Ref                          // each once
	for i, r := range refs {
		keys[i] = keyText(r.Table, r.Key, r.Key)
		if _, again := found[keys[i]]; !again {
			found[keys[i]] = nil
			unique = append(unique, r)
		}
	}
	batches := slices.Collect(slices.Chunk(unique, maxKeys))
	answers := make([][]answer, len(batches))
	err := db.each(ctx, len(batches), func(i int) (err error) {
		answers[i], err = db.getBatch(ctx, batches[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make(map[string]Item, 2) // of the key attributes, by table
	for _, r := range unique {
		names[r.Table] = r.Key
	}
	for _, batch := range answers {
		for _, a := range batch {
			found[keyText(a.table, a.item, names[a.table])] = a.item
		}
	}
	items := make([]Item, len(refs))
	for i, k := range keys {
		items[i] = found[k]
	}
	return items, nil
}

// getOne reads an item consistently; nil if there is none.
func (db *DB) getOne(ctx context.Context, ref Ref) (Item, error) {
	items, err := db.Get(ctx, []Ref{ref})
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

type answer struct {
	table string
	item  Item
}

// getBatch reads up to 100 items. It requests unprocessed keys again, which the server leaves if the
// answer is full or the table throttled, until several attempts in a row bring nothing.
func (db *DB) getBatch(ctx context.Context, refs []Ref) ([]answer, error) {
	left := make(map[string]types.KeysAndAttributes)
	for _, r := range refs {
		ks := left[r.Table]
		ks.ConsistentRead, ks.Keys = aws.Bool(true), append(ks.Keys, r.Key)
		left[r.Table] = ks
	}
	var all []answer
	for idle := 0; len(left) > 0; {
		out, err := call(ctx, db, "BatchGetItem", tableName(left), &dynamodb.BatchGetItemInput{RequestItems: left}, db.client.BatchGetItem)
		if err != nil {
			return nil, err
		}
		came := 0
		for table, items := range out.Responses {
			came += len(items)
			for _, item := range items {
				all = append(all, answer{table, item})
			}
		}
		left = out.UnprocessedKeys
		switch {
		case len(left) == 0 || came > 0:
			idle = 0
		case idle+1 >= db.attempts:
			return nil, (&Error{Op: "BatchGetItem", Table: tableName(left), Action: -1, Kind: ErrThrottled, Detail: "keys come back unprocessed"}).marked(0)
		default:
			idle++
		}
		if len(left) > 0 && pipeline.Sleep(ctx, db.backoff.Delay(idle, 0)) != nil {
			return nil, stopped(ctx)
		}
	}
	return all, nil
}

// tableName returns the name of the requested table, "" if there are several.
func tableName(left map[string]types.KeysAndAttributes) string {
	if len(left) != 1 {
		return ""
	}
	for table := range left {
		return table
	}
	return ""
}

// keyText returns a text that identifies an item by its table and the attributes named in key.
func keyText(table string, item, key Item) string {
	b := append(make([]byte, 0, 128), table...)
	for _, name := range slices.Sorted(maps.Keys(key)) {
		b = append(append(append(b, 0), name...), 0)
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			b = append(strconv.AppendInt(append(b, 'S'), int64(len(v.Value)), 10), ':') // a text may hold anything
			b = append(b, v.Value...)
		case *types.AttributeValueMemberN: // 1.0 comes back as 1
			b = append(b, 'N')
			if d, err := decimal.Parse(v.Value); err == nil {
				b = d.Append(b)
			} else {
				b = append(b, v.Value...)
			}
		case *types.AttributeValueMemberB:
			b = base64.StdEncoding.AppendEncode(append(b, 'B'), v.Value)
		}
	}
	return string(b)
}
