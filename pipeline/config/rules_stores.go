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
	if t.Name == "" {
		return
	}
	var conflicting []rowSpec
	for _, s := range c.sinks {
		if r, ok := rowsOf(s); ok && r.table.Name == t.Name {
			conflicting = append(conflicting, r)
		}
	}
	switch len(conflicting) {
	case 0:
	case 1:
		c.Fail(conflicting[0].table, "give the rows a table of their own", "%s is the table of %s", yamlbind.Quoted(t.Name),
			usedBy)
	default:
		names := textsOf(conflicting, func(r rowSpec) string { return r.sink.Name })
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
	if cfg.DeadLetters != nil {
		return nil
	}
	for i := range cfg.Sinks {
		if s := &cfg.Sinks[i]; s.Archive == nil {
			return s
		}
	}
	return nil
}

// checkDeadLetters checks where dead letters are stored, and max_hold. If the file has no dead letters, it warns of a
// sink that can refuse a change permanently in a consumer.
func (c *checker) checkDeadLetters() {
	letters, leases := c.cfg.DeadLetters, c.cfg.Leases
	if letters == nil {
		if s := c.cfg.SinkWithoutDeadLetters(); s != nil && leases != nil {
			c.Warn(s, "add dead_letters: {queue: NAME} or another place for them",
				"a change that this sink can never write blocks its item and the checkpoint: the file has no dead_letters")
		}
		return
	}
	c.checkBucket(&letters.Bucket)
	c.checkTargetName(&letters.Queue, "queue")
	c.failOnServersIf(strings.HasSuffix(letters.Queue, ".fifo"), &letters.Queue, "name a standard queue",
		"a FIFO queue would drop a letter that comes again within five minutes")
	hasOtherPlace := c.Has(&letters.Queue) || c.Has(&letters.Dir)
	if hasOtherPlace && !c.Has(&letters.Bucket) {
		c.Refuse(&letters.Prefix, "remove it", "a prefix is of a bucket's objects")
	}
	c.warnSharedBucket(letters)
	hasLeaseTable := leases != nil && leases.Table.Name != ""
	c.WarnIf(letters.Dir != "" && hasLeaseTable, &letters.Dir,
		"give dead_letters a bucket or a queue; or write leases: {file: PATH} if there is only one consumer",
		"leases in a table are for consumers on several hosts, and a folder is one host's: each would keep letters that the others, and a redrive there, do not see")
	c.checkMaxHold(&letters.MaxHold)
}

func (c *checker) checkMaxHold(maxHold *time.Duration) {
	c.FailIf(c.Sound(maxHold) && *maxHold <= 0, maxHold, "write a duration such as 12h",
		"a change must be tried for some time before it is given up")
	c.FailIf(*maxHold >= streamRetention, maxHold,
		"write less, so that time is left for what waits after it: 12h is the default",
		"a stream keeps records for 24 h: what is held that long is lost before it is given up")
}

// checkTargetName checks the characters in the name of a queue or a bus. kind is "queue" or "bus".
func (c *checker) checkTargetName(name *string, kind string) {
	isForbidden := func(r rune) bool { return r <= ' ' || r >= 0x7F }
	c.FailIf(strings.ContainsFunc(*name, isForbidden), name, "write it as AWS shows it",
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
		if s.Archive == nil || s.Archive.Bucket == "" {
			continue
		}
		switch {
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
	names := textsOf(c.cfg.Connections, func(conn Connection) string { return conn.Name })
	for _, s := range c.sinks {
		if s.Search == nil || s.Search.Connection == "" {
			continue
		}
		name := s.Search.Connection
		used[name] = true
		c.FailIf(!slices.Contains(names, name), &s.Search.Connection, yamlbind.Hint(name, names, "connections has"),
			"no connection is named %s", yamlbind.Quoted(name))
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
	for _, k := range []struct {
		name  string
		field *string
	}{{"user", &conn.User}, {"password", &conn.Password}} {
		if conn.Auth == "basic" {
			c.FailIf(!c.Has(k.field), conn, "add "+k.name+": '${NAME}'", "auth: basic wants a user and a password")
		} else {
			c.Refuse(k.field, "write auth: basic, or remove it", "%q is of auth: basic", k.name)
		}
	}
	if conn.Auth != "sigv4" {
		c.Refuse(&conn.Region, "write auth: sigv4, or remove it", "%q is of auth: sigv4", "region")
		c.Refuse(&conn.AssumeRole, "write auth: sigv4, or remove it", "%q is of auth: sigv4", "assume_role")
	}
	isUnencrypted := server != nil && server.Scheme == "http" && !isLocalHost(server.Hostname())
	c.FailIf(conn.Auth == "basic" && isUnencrypted, &conn.OpenSearch, "write https://",
		"the password would cross the network in the clear")
}

func isLocalHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().IsLoopback() {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// serverURL parses the URL of a server. If the URL is wrong, it notes a problem and returns nil.
func (c *checker) serverURL(address *string) *url.URL {
	if *address == "" {
		return nil
	}
	server, err := url.Parse(*address)
	switch {
	case err != nil || !slices.Contains([]string{"https", "http"}, server.Scheme) || server.Host == "":
		c.Fail(address, "write https://HOST", "it is not the URL of a server")
	case server.User != nil:
		c.Fail(address, "write auth: basic, user and password beside it", "a password in a URL ends up in logs")
	case server.RawQuery != "" || server.Fragment != "":
		c.Fail(address, "write https://HOST alone", "it holds a query or a fragment")
	default:
		return server
	}
	return nil
}
