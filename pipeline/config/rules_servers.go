package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// streamRetention is the time that DynamoDB Streams keeps a record.
const streamRetention = 24 * time.Hour

// sourceTableMessage is the message for a source table that is also the table of state or leases.
const sourceTableMessage = "it is a source table: what is written there would come back as changes"

// checkState checks the state table.
func (c *checker) checkState() {
	s := c.cfg.State
	if s == nil {
		return
	}
	c.FailIf(c.Sound(&s.GuardRetention) && s.GuardRetention < streamRetention, &s.GuardRetention,
		"write 24h or more; 30d is the default",
		"a stream keeps records for 24 h, and the guards that refuse old ones must outlive them")
	c.FailIf(s.Table.Name != "" && c.isSource(s.Table.Name), &s.Table, "give state a table of its own", sourceTableMessage)
	c.refuseRows(&s.Table, "state")
	c.checkTableNameLength(&s.Table)
}

// refuseRows refuses rows of sinks in the table t. usedBy is the key that names t: "state" or "leases".
func (c *checker) refuseRows(t *Table, usedBy string) {
	var conflicting []rows
	for _, s := range c.sinks {
		if r, ok := rowsOf(s); ok && t.Name != "" && r.table.Name == t.Name {
			conflicting = append(conflicting, r)
		}
	}
	switch names := texts(conflicting, func(r rows) string { return r.sink.Name }); len(conflicting) {
	case 0:
	case 1:
		c.Fail(conflicting[0].table, "give the rows a table of their own", "%s is the table of %s", yamlbind.Quoted(t.Name),
			usedBy)
	default:
		c.Fail(t, "write another name here", "it is the table of %s, and %s write their rows into it", usedBy,
			yamlbind.Enumerate(names, "and"))
	}
}

// CheckFunctionLetters returns an error if the file stores dead letters in a folder. A Lambda function cannot use a
// folder, because the folder is removed together with the environment of the function.
func (cfg *Config) CheckFunctionLetters() error {
	if d := cfg.DeadLetters; d != nil && d.Dir != "" {
		return fmt.Errorf(
			"%s:%d: dead_letters.dir: the folders of a function do not last, nor do dead letters in them: write dead_letters.bucket or dead_letters.queue", cfg.File, d.Line)
	}
	return nil
}

// SinkWithoutDeadLetters returns the first sink that can refuse a change permanently, if the file has no dead letters.
// It returns nil if the file has dead letters or only archives.
func (cfg *Config) SinkWithoutDeadLetters() *Sink {
	i := slices.IndexFunc(cfg.Sinks, func(s Sink) bool { return s.Archive == nil })
	if cfg.DeadLetters != nil || i < 0 {
		return nil
	}
	return &cfg.Sinks[i]
}

// checkDeadLetters checks where dead letters are stored, and max_hold. If the file has no dead letters, it warns of a
// sink that can refuse a change permanently in a consumer.
func (c *checker) checkDeadLetters() {
	d, inTable := c.cfg.DeadLetters, c.cfg.Leases != nil && c.cfg.Leases.Table.Name != ""
	if d == nil {
		if s := c.cfg.SinkWithoutDeadLetters(); c.cfg.Leases != nil && s != nil {
			c.Warn(s, "add dead_letters: {queue: NAME} or another place for them",
				"a change that this sink can never write blocks its item and the checkpoint: the file has no dead_letters")
		}
		return
	}
	c.checkBucket(&d.Bucket)
	c.checkTargetName(&d.Queue, "queue")
	c.failOnServersIf(strings.HasSuffix(d.Queue, ".fifo"), &d.Queue, "name a standard queue",
		"a FIFO queue would drop a letter that comes again within five minutes")
	if !c.Has(&d.Bucket) && (c.Has(&d.Queue) || c.Has(&d.Dir)) {
		c.Refuse(&d.Prefix, "remove it", "a prefix is of a bucket's objects")
	}
	c.warnSharedBucket(d)
	if d.Dir != "" && inTable {
		c.Warn(&d.Dir, "give dead_letters a bucket or a queue; or write leases: {file: PATH} where one consumer is all",
			"leases in a table are for consumers on several hosts, and a folder is one host's: each would keep letters that the others, and a redrive there, do not see")
	}
	c.checkMaxHold(c.ValueOf(&d.MaxHold))
}

func (c *checker) checkMaxHold(v *value) {
	switch hold := yamlbind.As[time.Duration](v); {
	case !c.Sound(v):
	case hold <= 0:
		c.Fail(v, "write a duration such as 12h", "a change must be tried for some time before it is given up")
	case hold >= streamRetention:
		c.Fail(v, "write less, so that time is left for what waits behind it: 12h is the default",
			"a stream keeps records for 24 h: what is held that long is lost before it is given up")
	}
}

// checkTargetName checks the characters in the name of a queue or a bus. kind is "queue" or "bus".
func (c *checker) checkTargetName(name *string, kind string) {
	c.FailIf(strings.ContainsFunc(*name, func(r rune) bool { return r <= ' ' || r >= 0x7F }), name,
		"write it as AWS shows it",
		"%s is no %s's name or address: it holds a space, or a letter that is not ASCII", yamlbind.Quoted(*name), kind)
}

// warnSharedBucket warns of dead letters in the bucket of an archive. Whoever may read a masked archive could read
// unmasked dead letters there. A lifecycle rule for the bucket would expire the archive together with the dead letters.
func (c *checker) warnSharedBucket(d *DeadLetters) {
	if d.Dir != "" {
		return
	}
	const hint = "give dead letters a bucket of their own (dead_letters.bucket), with a lifecycle rule that expires them after guard_retention, 30 days by default"
	for _, s := range c.sinks {
		switch {
		case s.Archive == nil || s.Archive.Bucket == "":
		case d.Bucket == s.Archive.Bucket:
			c.Warn(&d.Bucket, hint,
				"sinks.%s.archive.bucket is the same bucket: dead letters hold changes whole and unmasked, and expire, which an archive does not", s.Name)
		case d.Bucket == "" && d.Queue != "":
			c.Warn(&d.Queue, hint,
				"dead letters that are too large for a message go to sinks.%s.archive.bucket: they hold changes whole and unmasked, and expire, which an archive does not", s.Name)
			return // such dead letters go only to the bucket of the first archive
		}
	}
}

// checkConnections checks each connection, and that each search sink names an existing one. It warns of unused
// connections.
func (c *checker) checkConnections() {
	used := make(map[string]bool)
	names := texts(c.cfg.Connections, func(conn Connection) string { return conn.Name })
	for _, s := range c.sinks {
		if s.Search == nil || s.Search.Connection == "" {
			continue
		}
		name := &s.Search.Connection
		if used[*name] = true; !slices.Contains(names, *name) {
			c.Fail(name, yamlbind.Hint(*name, names, "connections has"), "no connection is named %s", yamlbind.Quoted(*name))
		}
	}
	for i := range c.cfg.Connections {
		conn := &c.cfg.Connections[i]
		c.WarnIf(!used[conn.Name], conn, "name it in the connection of a search sink, or remove it",
			"nobody uses this connection")
		c.checkAuth(conn, c.serverURL(&conn.OpenSearch))
	}
}

// checkAuth checks that a connection has exactly the keys of its auth mode. server is the URL of the server; it is nil
// if the URL is missing or wrong.
func (c *checker) checkAuth(conn *Connection, server *url.URL) {
	basic := conn.Auth == "basic"
	for _, k := range []struct {
		name  string
		field *string
	}{{"user", &conn.User}, {"password", &conn.Password}} {
		switch {
		case basic && !c.Has(k.field):
			c.Fail(conn, "add "+k.name+": '${NAME}'", "auth: basic wants a user and a password")
		case !basic:
			c.Refuse(k.field, "write auth: basic, or remove it", "%q is of auth: basic", k.name)
		}
	}
	if conn.Auth != "sigv4" {
		c.Refuse(&conn.Region, "write auth: sigv4, or remove it", "%q is of auth: sigv4", "region")
		c.Refuse(&conn.AssumeRole, "write auth: sigv4, or remove it", "%q is of auth: sigv4", "assume_role")
	}
	c.FailIf(basic && server != nil && server.Scheme == "http" && !loopback(server.Hostname()), &conn.OpenSearch,
		"write https://", "the password would cross the network in the clear")
}

// loopback reports whether host is the local host.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// serverURL parses the URL of a server. If the URL is wrong, it notes a problem and returns nil.
func (c *checker) serverURL(address *string) *url.URL {
	if *address == "" {
		return nil
	}
	u, err := url.Parse(*address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		c.Fail(address, "write https://HOST", "it is no URL of a server")
		return nil
	case u.User != nil:
		c.Fail(address, "write auth: basic, user and password beside it", "a password in a URL ends up in logs")
		return nil
	case u.RawQuery != "" || u.Fragment != "":
		c.Fail(address, "write https://HOST alone", "it holds a query or a fragment")
		return nil
	}
	return u
}
