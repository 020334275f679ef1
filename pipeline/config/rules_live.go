package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/indexmap"
)

// live notes what keeps the file from running on real servers, and not in a folder of embedded
// stores.
func (c *checker) live(v *value, hint, format string, args ...any) {
	c.localOnly = append(c.localOnly, Problem{c.file, v.node.Line, v.node.Column, v.field, fmt.Sprintf(format, args...), hint})
}

// liveRules checks that sink i says all that its real server needs. An embedded store needs none
// of it.
func (c *checker) liveRules(cfg *Config, i int, v *value) {
	switch s := cfg.Sinks[i]; {
	case s.Aggregate != nil:
		if cfg.State == nil {
			c.live(v, "add state: {table: NAME}", "what it remembers of items is in the state table, and the file names none")
		}
		c.liveTable(v.get("table"))
		c.keyTypeRules(cfg, i, v)
	case s.View != nil:
		c.liveTable(v.get("table"))
		c.keyTypeRules(cfg, i, v)
	case s.Search != nil:
		if s.Search.Connection == "" {
			c.live(v, "add connection: NAME, one of connections", "no server is named")
		}
		c.serverlessRules(cfg, s.Search, v)
		c.scaledRules(s.Search, v)
	case s.Archive != nil:
		if s.Archive.Bucket == "" {
			c.live(v, "add bucket: NAME", "no bucket is named")
		}
	case s.Notify != nil:
		if s.Notify.Queue == "" && s.Notify.Topic == "" && s.Notify.Bus == "" {
			c.live(v, "add queue, topic or bus", "nothing is named that takes the events")
		}
		c.topicRules(s.Notify, v)
	}
}

// shortestTable is the least length of a DynamoDB table's name.
const shortestTable = 3

func (c *checker) liveTable(v *value) {
	if name := tableName(v.text()); name != "" && len(name) < shortestTable {
		c.live(v, "give it a longer name", "a DynamoDB table's name has 3 characters or more, and %s has %d", quoted(name), len(name))
	}
}

// keyTypeRules checks that the sinks of one table agree on the types of its key attributes.
func (c *checker) keyTypeRules(cfg *Config, i int, v *value) {
	r, _ := rowsOf(cfg.Sinks[i])
	types := cfg.keyTypes(cfg.Sinks[i])
	for _, other := range cfg.Sinks[:i] {
		o, ok := rowsOf(other)
		if !ok || o.table != r.table || columnNames(o.key) != columnNames(r.key) {
			continue
		}
		for j, theirs := range cfg.keyTypes(other) {
			if mine := types[j]; mine != anyKey && theirs != anyKey && mine != theirs {
				c.live(v.get(r.keyField).entries[j], "make both a text, or both the attribute itself",
					"a key attribute of a table has one type: it is %s here, and %s in the %s %s of the same table", mine, theirs, o.noun, other.Name)
				return
			}
		}
	}
}

// anyKey is the type of a key attribute that only the items tell.
const anyKey = pipeline.Kind(0)

// keyTypes are the types of the key attributes of a sink's rows.
func (cfg *Config) keyTypes(s Sink) []pipeline.Kind {
	r, _ := rowsOf(s)
	types := make([]pipeline.Kind, len(r.key))
	for j, col := range r.key {
		types[j] = pipeline.KindS
		path, whole := col.Template.Path()
		if !whole || j == 0 && s.Aggregate != nil && s.Aggregate.Shards > 1 {
			continue
		}
		switch kind, declared := cfg.Attributes[path]; {
		case !declared:
			types[j] = anyKey
		case kind == pipeline.KindN, kind == pipeline.KindB:
			types[j] = kind
		}
	}
	return types
}

// serverlessRules refuses the mode that OpenSearch Serverless lacks: it stores no script.
func (c *checker) serverlessRules(cfg *Config, s *Search, v *value) {
	i := slices.IndexFunc(cfg.Connections, func(conn Connection) bool { return conn.Name == s.Connection })
	if i < 0 || s.Fast || cfg.Connections[i].Auth != "sigv4" {
		return
	}
	u, err := url.Parse(cfg.Connections[i].OpenSearch)
	if err == nil && slices.Contains(strings.Split(u.Hostname(), "."), "aoss") {
		c.live(v, "write mode: fast, whose order within one second is that of one process", "mode: exact needs a stored script, and OpenSearch Serverless stores none")
	}
}

// mappingRules checks what the file of a mapping says.
func (c *checker) mappingRules(s *Search, v *value) {
	if _, _, err := indexmap.Read(s.Mapping); err != nil {
		c.fail(v.get("mapping"), "correct the file", "the mapping cannot be used: %v", err)
	}
}

// scaledRules checks that the numbers which are written for a scaled_float have one: an index keeps
// others as a float.
func (c *checker) scaledRules(s *Search, v *value) {
	_, mappings, err := indexmap.Read(s.Mapping)
	if err != nil {
		return // said as an error
	}
	for _, e := range v.get("fields").get("numbers").all() {
		if e.text() != "scaled_float" || namesOf(e.name) == nil {
			continue
		}
		if err := indexmap.Scaled(mappings, e.name, s.Rename); err != nil {
			c.live(e, "add mapping: FILE that maps it as scaled_float with its scaling_factor, or write string or double", "the index would keep it as a float, which loses digits: %v", err)
		}
	}
}

// topicRules checks that a topic is named so that its Region is known.
func (c *checker) topicRules(n *Notify, v *value) {
	if p := strings.SplitN(n.Topic, ":", 6); n.Topic != "" && (len(p) != 6 || p[0] != "arn" || p[3] == "") {
		c.live(v.get("topic"), "write arn:aws:sns:REGION:ACCOUNT:NAME", "it is no ARN of a topic")
	}
}
