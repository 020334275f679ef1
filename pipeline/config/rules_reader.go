package config

import (
	"slices"
	"time"
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
func (c *checker) readerRules(cfg *Config, root *value) {
	if e := root.get("source").get("polling").get("max_idle"); e != nil && e.data != nil {
		switch idle := e.duration(); {
		case idle <= 0:
			c.fail(e, "write a duration such as 5s; 50ms polls eagerly", "an idle shard is asked after a pause")
		case idle > longestIdle:
			c.fail(e, "write 5m or less", "a shard that is looked at less often may split unseen, and its iterator expires after 15 minutes")
		}
	}
	v := root.get("leases")
	if v == nil || cfg.Leases == nil {
		return
	}
	if e := v.get("duration"); e != nil && e.data != nil && (e.duration() < shortestLease || e.duration() > longestLease) {
		c.fail(e, "write 3s to 5m; 6s is the default", "a consumer must be able to show within it that it lives, and what dies is replaced only after it")
	}
	table := cfg.Leases.Table
	if table == "" {
		return
	}
	switch e := v.get("table"); {
	case cfg.State == nil:
		c.fail(e, "add state: {table: NAME}", "leases in a table want a state table beside it: consumers, their common quota and gaps are kept there, not among leases")
	case cfg.State.Table == table:
		c.fail(e, "give leases a table of their own", "it is the table of state")
	case slices.ContainsFunc(cfg.Source.Tables, func(t Table) bool { return t.Name == table }):
		c.fail(e, "give leases a table of their own", "it is a source table: what is written there would come back as changes")
	}
}
