package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// resolveKeys finds the names of the table's key attributes, and makes the narrowing, which needs them. If the table
// can be described, the names are the table's, and --keys must equal them. Later calls do nothing.
func (j *job) resolveKeys(ctx context.Context) error {
	if j.keys != nil {
		return nil
	}
	keys := j.o.keys
	if j.o.Live {
		var err error
		if keys, err = j.describeKeys(ctx); err != nil {
			return err
		}
	} else if len(keys) == 0 {
		return cli.Usagef("name the key attributes of the table with --keys PK,SK: a --local folder asks no table")
	}
	if err := errors.Join(j.checkEntityKeys(), j.o.CheckItemKeys(keys)); err != nil {
		return err
	}
	narrowing, err := j.o.narrowing.Build(j.cfg, keys[0])
	if err != nil {
		return err
	}
	j.keys, j.narrowing = keys, narrowing
	j.warnOfLeftOutItems()
	return nil
}

// checkEntityKeys returns an error if --keys lacks an attribute for which an entity has a pattern: no item would belong
// to the entity.
func (j *job) checkEntityKeys() error {
	for _, e := range j.cfg.Entities {
		isMissing := func(k config.KeyPattern) bool { return !slices.Contains(j.o.keys, k.Attribute) }
		if i := slices.IndexFunc(e.Key, isMissing); i >= 0 && len(j.o.keys) > 0 {
			return cli.Usagef("--keys names %s, and the entity %s has a pattern for the key attribute %s: name it, too",
				strings.Join(j.o.keys, ","), e.Name, e.Key[i].Attribute)
		}
	}
	return nil
}

// warnOfLeftOutItems warns of each sink of the file that may take items that the narrowing leaves out.
func (j *job) warnOfLeftOutItems() {
	for _, s := range j.cfg.Sinks {
		isFilled := slices.Contains(j.selection.names(), s.Name)
		if isFilled && !j.narrowing.Covers(s.WhenItem) {
			fmt.Fprintf(j.streams.Err,
				cli.Warning+
					"the sink %s may take items that --type, --key-prefix and --filter leave out (%s): they are missing until they change\n", s.Name, j.narrowing)
		}
	}
}

// describeKeys describes the table, and returns its key attributes. If the table cannot be described, it returns --keys
// if they are enough for the source.
func (j *job) describeKeys(ctx context.Context) (keys []string, err error) {
	j.table, err = scan.Describe(ctx, dynamodb.NewFromConfig(j.aws), j.tableName())
	needsTable := len(j.o.keys) == 0 || j.o.scan || j.o.startExport
	switch {
	case err != nil && needsTable:
		return nil, fmt.Errorf("%w (--keys names the key attributes of --export and --items without asking the table)", err)
	case err != nil:
		fmt.Fprintf(j.streams.Err, cli.Warning+"--keys is not compared with the table: %v\n", err)
		return j.o.keys, nil
	case len(j.o.keys) > 0 && !slices.Equal(j.o.keys, j.table.Keys):
		return nil, cli.Usagef("--keys names %s, and the key of the table %s is %s", strings.Join(j.o.keys, ","),
			j.table.Name, strings.Join(j.table.Keys, ","))
	}
	return j.table.Keys, nil
}

// checkedParts is the maximum number of parts in which checkKeys looks for signs of wrong keys.
const checkedParts = 3

// checkKeys returns an error if it finds a sign of wrong --keys in the first pages of up to checkedParts parts. One
// sign is a page in which no item has the keys. Another sign is two items with the same key in a page. The last sign is
// a change in an incremental export whose key has other attributes. checkKeys checks nothing if DescribeTable returned
// the keys, or if the run is stored.
func (j *job) checkKeys(ctx context.Context, snap snapshot.Snapshot) error {
	if j.table.Name != "" || j.selection.isStored() {
		return nil
	}
	unchecked := checkedParts
	for _, part := range snap.Parts() {
		if unchecked == 0 {
			break
		}
		page, err := firstPage(ctx, snap, part.ID)
		if err != nil {
			return err
		}
		if page == nil {
			continue
		}
		unchecked--
		if err := j.checkPageKeys(part.ID, page); err != nil {
			return err
		}
	}
	return nil
}

// checkPageKeys is [job.checkKeys] for one page of a part.
func (j *job) checkPageKeys(part string, page *record.Page) error {
	names := strings.Join(j.keys, ",")
	if len(page.Changes) == 0 && len(page.Errors) > 0 {
		return cli.Usagef("%s: none of its first %d items can be decoded; are --keys %s the key attributes of the table? %w",
			part, len(page.Errors), names, page.Errors[0])
	}
	known := make(map[item.Key]bool)
	for i := range page.Changes {
		c := &page.Changes[i]
		isItem := c.Op == record.Snapshot
		switch {
		case !isItem && !j.hasKeyNames(c.Keys):
			return cli.Usagef("%s: the changes of the export have another key than --keys %s", part, names)
		case isItem && known[c.Key]:
			return cli.Usagef(
				"%s: two items have the same key by --keys %s: name all key attributes of the table, partition key first",
				part, names)
		case isItem:
			known[c.Key] = true
		}
	}
	return nil
}

// hasKeyNames reports whether the attributes of a key are those of j.keys.
func (j *job) hasKeyNames(key item.Image) bool {
	isMissing := func(name string) bool {
		_, found := key.Get(name)
		return !found
	}
	return key.Len() == len(j.keys) && !slices.ContainsFunc(j.keys, isMissing)
}

// firstPage returns the first decoded page of a part, or nil if the part has no page.
func firstPage(ctx context.Context, snap snapshot.Snapshot, id string) (*record.Page, error) {
	part, err := snap.Open(ctx, id, "")
	if err != nil {
		return nil, err
	}
	defer part.Close()
	for page, err := range pipeline.DecodedPages(ctx, part) {
		return page, err
	}
	return nil, nil
}
