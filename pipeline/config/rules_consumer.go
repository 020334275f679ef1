package config

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// minLease and maxLease limit the duration of a lease. A shorter lease would be lost in a short pause of the process.
// With a longer lease, the shards of a dead consumer would stay unread for longer.
const (
	minLease = 3 * time.Second
	maxLease = 5 * time.Minute
)

// maxIdle is the maximum pause between two polls. It is well below 15 minutes, because a shard iterator expires after
// that time.
const maxIdle = 5 * time.Minute

// checkConsumer checks the keys of the consumer: polling and leases.
func (c *checker) checkConsumer() {
	idle := &c.cfg.Source.Polling.MaxIdle
	c.FailIf(c.Sound(idle) && *idle <= 0, idle, "write a duration such as 5s; 50ms polls eagerly",
		"an idle shard is asked after a pause")
	c.FailIf(*idle > maxIdle, idle, "write 5m or less",
		"a shard that is looked at less often may split unseen, and its iterator expires after 15 minutes")
	c.checkGapRepair()
	if c.cfg.Leases != nil {
		c.checkLeases(c.cfg.Leases)
	}
}

// checkLeases checks the table of leases, and the duration of a lease.
func (c *checker) checkLeases(l *Leases) {
	c.refuseRows(&l.Table, "leases")
	c.checkTableNameLength(&l.Table)
	isAllowed := minLease <= l.Duration && l.Duration <= maxLease
	c.FailIf(c.Sound(&l.Duration) && !isAllowed, &l.Duration, "write 3s to 5m; 6s is the default",
		"a consumer must be able to show within it that it lives, and what dies is replaced only after it")
	if l.Table.Name == "" {
		return
	}
	const hint = "give leases a table of their own"
	switch {
	case c.cfg.State == nil:
		c.Fail(&l.Table, "add state: {table: NAME}",
			"leases in a table want a state table beside it: consumers, their common quota and gaps are kept there, not among leases")
	case c.cfg.State.Table.Name == l.Table.Name:
		c.Fail(&l.Table, hint, "it is the table of state")
	case c.isSource(l.Table.Name):
		c.Fail(&l.Table, hint, sourceTableMessage)
	}
}

// checkGapRepair checks the sinks that on_gap: repair repairs. A repair recomputes a sink's output from the items of
// the table. So only views, aggregates and search sinks over one table can be repaired.
func (c *checker) checkGapRepair() {
	src := &c.cfg.Source
	if src.OnGap != OnGapRepair {
		c.Refuse(&src.RepairSinks, "write on_gap: repair, or remove it", "names what on_gap: repair repairs")
		return
	}
	_, names := c.stateSinks()
	c.FailIf(len(names) == 0, &src.OnGap, "write on_gap: continue",
		"a repair makes views, aggregates and search indexes equal to the table, and the file has none")
	c.FailIf(len(src.Tables) > 1, &src.OnGap, "write on_gap: continue, or give each table a file of its own",
		"a repair compares sinks with one source table, and the file has several")
	c.WarnIf(c.cfg.Leases == nil, &src.OnGap,
		"repair what a function noted with `tablewake gaps --repair`, or add leases for a consumer",
		"a Lambda function notes gaps and repairs none, as an audit takes longer than an invocation")
	if len(names) == 0 {
		return
	}
	for i, e := range c.ValueOf(&src.RepairSinks).All() {
		name := e.Text()
		if name == "" {
			continue // yamlbind has reported it
		}
		c.FailIf(!slices.Contains(names, name), e, yamlbind.Hint(name, names, "these are the names of such sinks:"),
			"%s is not the name of a view, an aggregate or a search sink: nothing else can be repaired from the table",
			yamlbind.Quoted(name))
		c.failIfRepeated(src.RepairSinks[:i], e)
	}
}

// checkKinesis refuses keys and sinks that do not fit a Kinesis source. Kinesis may deliver a record twice, and may
// deliver records in another order than the writes. The versions of these records are creation times.
func (c *checker) checkKinesis() {
	src := &c.cfg.Source
	if !c.Sound(&src.Kinesis) {
		return
	}
	c.FailIf(c.ValueOf(src).Get("table") == nil, &src.Kinesis, "write source: {table: NAME, kinesis: ARN}",
		"wants the name of the one table that writes to it")
	for _, field := range []any{&src.Start, &src.OnGap, &src.Polling, &c.cfg.Leases} {
		c.Refuse(field, "remove it: the event source mapping of a function says where it begins",
			"is of the table's own stream, and the source is a Kinesis stream")
	}
	for _, s := range c.sinks {
		switch {
		case s.Aggregate != nil:
			c.Fail(s.Aggregate, "read the table's own stream (remove source.kinesis), or query the archive",
				"an aggregate over a Kinesis stream is refused: its records may repeat and come late")
		case s.Search != nil && s.Search.Fast:
			c.Fail(&s.Search.Fast, "write mode: exact",
				"compares whole seconds, and records of a Kinesis stream come in another order than they were written")
		case s.Notify != nil:
			c.Warn(s.Notify, "give it the table's own stream where order matters", outOfOrderMessage)
		case s.Custom != nil:
			c.Warn(s.Custom, "give it the table's own stream where order matters", outOfOrderMessage)
		}
	}
}

const outOfOrderMessage = "records of a Kinesis stream may repeat, and come in another order than they were written"
