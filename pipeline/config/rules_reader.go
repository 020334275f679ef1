package config

import (
	"time"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// What a lease may last. A shorter one is lost in a pause of the machine; a longer one
// leaves the shards of a consumer that died unread for that long.
const (
	shortestLease = 3 * time.Second
	longestLease  = 5 * time.Minute
)

// longestIdle is the longest pause between two polls: an iterator lives 15 minutes.
const longestIdle = 5 * time.Minute

// readerRules checks what a consumer needs: leases, and how it polls.
func (c *checker) readerRules() {
	if e := c.Of(&c.cfg.Source.Polling.MaxIdle); c.Sound(e) {
		switch idle := yamlbind.As[time.Duration](e); {
		case idle <= 0:
			c.Fail(e, "write a duration such as 5s; 50ms polls eagerly", "an idle shard is asked after a pause")
		case idle > longestIdle:
			c.Fail(e, "write 5m or less", "a shard that is looked at less often may split unseen, and its iterator expires after 15 minutes")
		}
	}
	l := c.cfg.Leases
	if l == nil {
		return
	}
	c.liveTable(&l.Table)
	if e := c.Of(&l.Duration); c.Sound(e) && (yamlbind.As[time.Duration](e) < shortestLease || l.Duration > longestLease) {
		c.Fail(e, "write 3s to 5m; 6s is the default", "a consumer must be able to show within it that it lives, and what dies is replaced only after it")
	}
	switch own := "give leases a table of their own"; {
	case l.Table.Name == "":
	case c.cfg.State == nil:
		c.Fail(&l.Table, "add state: {table: NAME}", "leases in a table want a state table beside it: consumers, their common quota and gaps are kept there, not among leases")
	case c.cfg.State.Table.Name == l.Table.Name:
		c.Fail(&l.Table, own, "it is the table of state")
	case c.isSource(l.Table.Name):
		c.Fail(&l.Table, own, comesBack)
	}
}

// kinesisRules checks what holds of a table's changes that come over Kinesis: repeated, and
// not always in the order of the writes. Versions are creation times then.
func (c *checker) kinesisRules() {
	src := &c.cfg.Source
	if !c.Sound(&src.Kinesis) {
		return
	}
	c.FailIf(c.Of(src).Get("table") == nil, &src.Kinesis, "write source: {table: NAME, kinesis: ARN}",
		"wants the name of the one table that writes to it")
	for _, of := range []any{&src.Start, &src.ContinueOnGap, &src.Polling, &c.cfg.Leases} {
		c.Refuse(of, "remove it: where a Lambda begins is its event source mapping's to say", "is of the table's own stream, and the source is a Kinesis stream")
	}
	for _, s := range c.sinks {
		switch {
		case s.Aggregate != nil:
			c.Fail(s.Aggregate, "read the table's own stream (remove source.kinesis), or query the archive",
				"an aggregate over a Kinesis stream is refused: its records may repeat and come late")
		case s.Search != nil && s.Search.Fast:
			c.Fail(&s.Search.Fast, "write mode: exact", "compares whole seconds, and records of a Kinesis stream come in another order than they were written")
		case s.Notify != nil:
			c.Warn(s.Notify, "give it the table's own stream where order matters", outOfOrder)
		case s.Custom != nil:
			c.Warn(s.Custom, "give it the table's own stream where order matters", outOfOrder)
		}
	}
}

const outOfOrder = "records of a Kinesis stream may repeat, and come in another order than they were written"
