package why

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// finder finds the item that --key names.
type finder struct {
	o     *options
	cfg   *config.Config
	table config.Table // table of the item
	key   itemkey.Key
}

// foundItem is the item, with the place where it was read.
type foundItem struct {
	audit.ItemState
	source string
}

func newFinder(o *options, cfg *config.Config) (*finder, error) {
	table, err := cli.SourceTable(cfg, o.table)
	if err != nil {
		return nil, err
	}
	key, err := itemkey.Parse(o.key, cfg, table.Name)
	return &finder{o: o, cfg: cfg, table: table, key: key}, err
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
	return foundItem{audit.ItemState{Change: c, Evidence: audit.NoEvidence}, "no records were named"}, err
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
	return foundItem{audit.LastState(*last), "its last record"}, nil
}

// inTable reads the item from the source table. If the table does not have the item, it returns a REMOVE.
func (f *finder) inTable(ctx context.Context) (foundItem, error) {
	found, err := f.readTable(ctx)
	if err != nil {
		return foundItem{}, fmt.Errorf("read the item: %w", err)
	}
	f.key.Attributes = found.Keys // a canonical key has no names
	stored := foundItem{source: "table " + f.table.Name}
	if found.Removed() {
		stored.Change, err = f.change("REMOVE", record.KeysOnly, item.Image{})
	} else {
		stored.Change, err = f.change("SNAPSHOT", record.NewAndOldImages, found.New)
	}
	return stored, err
}

// readTable reads the item with a consistent read, as an audit does.
func (f *finder) readTable(ctx context.Context) (found record.Change, err error) {
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return found, err
	}
	client, table := dynamodb.NewFromConfig(sdk), cmp.Or(f.table.ARN, f.table.Name)
	described, err := scan.Describe(ctx, client, table)
	if err != nil {
		return found, err
	}
	if err := f.key.Check(described.Keys); err != nil {
		return found, err
	}
	for _, name := range described.Keys {
		if _, isGiven := f.key.Attributes.Get(name); f.key.Attributes.Exists() && !isGiven {
			return found, cli.Usagef("--key: the key attribute %s of %s is missing; %s", name, f.table.Name, itemkey.Usage)
		}
	}
	d := f.o.Decoder(f.cfg)
	d.Table = f.table.Name
	o := run.SnapshotOptions(f.cfg, d, described.Keys)
	reads := &limitedReads{client, f.table.Name, maxReads}
	items, err := run.NewTableLookup(reads, table, o, run.NewBudget(0)).Read(ctx, []item.Key{f.key.Canonical})
	if err != nil {
		return found, err
	}
	return items[0].Change, items[0].Err
}

// maxReads is how often a throttled read is sent, each time with the retries of the SDK.
const maxReads = 3

// limitedReads ends the repetition of a throttled read, which has no end in an audit.
type limitedReads struct {
	*dynamodb.Client
	table string
	left  int // number of requests that may still be sent
}

// BatchGetItem sends a request, or returns an error if no more may be sent.
func (l *limitedReads) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	if l.left == 0 {
		return nil, fmt.Errorf("the table %s throttles the read: repeat the command later", l.table)
	}
	l.left--
	return l.Client.BatchGetItem(ctx, in, o...)
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
	d.Table = f.table.Name
	return itemkey.Change(d, event, v, keys, item)
}
