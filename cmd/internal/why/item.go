package why

import (
	"context"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
)

// finder finds the item that --key names.
type finder struct {
	o     *options
	cfg   *config.Config
	table string // table of the item
	key   itemkey.Key
}

// foundItem is the item as a change, with the place where it was read.
type foundItem struct {
	change   record.Change
	source   string
	hasImage bool // false: only the key of the item is known
}

func newFinder(o *options, cfg *config.Config) (*finder, error) {
	table, err := cli.SourceTable(cfg, o.table)
	if err != nil {
		return nil, err
	}
	f := &finder{o: o, cfg: cfg, table: table.Name}
	prefix := ""
	if len(cfg.Source.Tables) > 1 {
		prefix = f.table
	}
	f.key, err = itemkey.Parse(o.key, cfg, prefix)
	return f, err
}

// item reads the item from the records at paths, or with --live from the source table. Without both it returns a change
// that has only the key.
func (f *finder) item(ctx context.Context, s cli.Streams, paths []string) (foundItem, error) {
	switch {
	case len(paths) > 0:
		return f.inRecords(ctx, s, paths)
	case f.o.Live:
		return f.inTable(ctx)
	}
	c, err := f.change("REMOVE", record.KeysOnly, item.Image{})
	return foundItem{c, "no records were named", false}, err
}

// inRecords returns the last state of the item in saved records. It is an error if no record has the key.
func (f *finder) inRecords(ctx context.Context, s cli.Streams, paths []string) (foundItem, error) {
	var last *record.Change
	for page, err := range f.o.Pages(ctx, f.cfg, s, paths) {
		for i := range page.Changes {
			c := &page.Changes[i]
			isNewest := last == nil || c.Version.Compare(last.Version) > 0
			if c.Key == f.key.Canonical && isNewest {
				last = c.Clone()
			}
		}
		if err != nil {
			return foundItem{}, err
		}
	}
	if last == nil {
		return foundItem{}, fmt.Errorf(
			"no record belongs to the item %s; --key takes a key as explain prints it, or PK=...,SK=...", f.key.Canonical)
	}
	if !last.Removed() {
		last.Op, last.EventName, last.Old = record.Snapshot, "SNAPSHOT", item.Image{}
	}
	return foundItem{*last, "its last record", true}, nil
}

// inTable reads the item from the source table. If the table does not have the item, it returns a REMOVE.
func (f *finder) inTable(ctx context.Context) (foundItem, error) {
	keys, item, err := readItem(ctx, f.table, f.key)
	if err != nil {
		return foundItem{}, fmt.Errorf("read the item: %w", err)
	}
	f.key.Attributes = keys
	stored := foundItem{source: "table " + f.table, hasImage: true}
	if item.Exists() {
		stored.change, err = f.change("SNAPSHOT", record.NewAndOldImages, item)
	} else {
		stored.change, err = f.change("REMOVE", record.KeysOnly, item)
	}
	return stored, err
}

// change returns a change of the item, as if a stream had sent it.
func (f *finder) change(event string, v record.ViewType, item item.Image) (record.Change, error) {
	keys := f.key.Attributes
	if !keys.Exists() {
		var err error
		if keys, err = itemkey.Nameless(f.key.Canonical); err != nil {
			return record.Change{}, err
		}
	}
	d := f.o.Decoder(f.cfg)
	d.Table = f.table
	return itemkey.Change(d, event, v, keys, item)
}

// readItem reads an item with a consistent read. keys are the key attributes with their names, which a canonical key
// lacks. If the table has no such item, the result item is absent.
func readItem(ctx context.Context, table string, key itemkey.Key) (keys, item item.Image, err error) {
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return keys, item, err
	}
	client := dynamodb.NewFromConfig(sdk)
	description, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return keys, item, err
	}
	tableKey, err := keyOf(key, description.Table)
	if err != nil {
		return keys, item, err
	}
	got, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: tableKey, ConsistentRead: new(true)})
	if err != nil {
		return keys, item, err
	}
	keys, err = sdkvalue.Image(tableKey)
	if err != nil || got.Item == nil {
		return keys, item, err
	}
	item, err = sdkvalue.Image(got.Item)
	return keys, item, err
}

// keyOf converts a key to the key attributes of a table. The key from --key may be canonical, and then has no names.
func keyOf(key itemkey.Key, table *types.TableDescription) (map[string]types.AttributeValue, error) {
	if key.Attributes.Exists() {
		return sdkvalue.Item(key.Attributes), nil
	}
	_, values, err := key.Canonical.Decode()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, 2)
	for _, k := range table.KeySchema {
		names = append(names, awssdk.ToString(k.AttributeName))
	}
	if len(names) != len(values) {
		return nil, fmt.Errorf("the key of %s has %d attributes, and %s has %d", awssdk.ToString(table.TableName), len(names),
			key.Canonical, len(values))
	}
	slices.Sort(names) // a canonical key has its values in the order of the attribute names
	keyValues := make(map[string]types.AttributeValue, len(names))
	for i, name := range names {
		keyValues[name] = sdkvalue.Of(values[i])
	}
	return keyValues, nil
}
