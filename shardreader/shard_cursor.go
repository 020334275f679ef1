package shardreader

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline/record"
)

// ShardCursor reads the pages of a shard, one after the other. API and Position are required.
type ShardCursor struct {
	API API
	// Position is where the next iterator begins. After a page with records, it is the position after the last of them.
	Position ShardPosition
	Iterator string // iterator of the next page. Default: a new one at Position
}

// Next returns the next page. After [ErrExpiredIterator] the caller may call Next again. [ErrTrimmed] means that the
// stream has dropped the record at the position. Then the caller may call Restart, and the records before the oldest
// one are lost.
func (c *ShardCursor) Next(ctx context.Context) (page record.GetRecordsPage, err error) {
	if c.Iterator == "" {
		c.Iterator, err = c.API.GetShardIterator(ctx, c.Position)
		if err != nil {
			return page, err
		}
	}
	query := RecordsQuery{Iterator: c.Iterator, StreamARN: c.Position.StreamARN, Shard: c.Position.Shard}
	page, err = c.API.GetRecords(ctx, query)
	if errors.Is(err, ErrExpiredIterator) {
		c.Iterator = ""
	}
	if err != nil {
		return page, err
	}
	c.Iterator = page.NextIterator
	if last := page.Page.LastSequence(); last != "" {
		c.Position.Type, c.Position.Sequence = AfterSequence, last
	}
	return page, nil
}

// Restart moves the cursor to the oldest record left.
func (c *ShardCursor) Restart() {
	c.Iterator, c.Position.Type, c.Position.Sequence = "", TrimHorizon, ""
}

// hasRead reports whether the position is after a record that was read.
func (c *ShardCursor) hasRead() bool { return c.Position.Type == AfterSequence }
