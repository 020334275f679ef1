package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// retention is how long a stream keeps its records.
const retention = 24 * time.Hour

// serverRules checks connections, state and dead letters.
func (c *checker) serverRules(cfg *Config, root *value) {
	c.connectionRules(cfg, root)
	if v := root.get("state"); cfg.State != nil && v != nil {
		if e := v.get("guard_retention"); e != nil && e.data != nil && cfg.State.GuardRetention < retention {
			c.fail(e, "write 24h or more; 30d is the default", "a stream keeps records for 24 h, and the guards that refuse old ones must outlive them")
		}
		if slices.ContainsFunc(cfg.Source.Tables, func(t Table) bool { return t.Name == cfg.State.Table && t.Name != "" }) {
			c.fail(v.get("table"), "give state a table of its own", "it is a source table: what is written there would come back as changes")
		}
	}
	if cfg.State != nil {
		c.liveTable(root.get("state").get("table"))
	}
	if cfg.Leases != nil {
		c.liveTable(root.get("leases").get("table"))
	}
	d := root.get("dead_letters")
	c.bucketRules(d.get("bucket"))
	c.targetRules(d)
	if e := d.get("queue"); strings.HasSuffix(e.text(), ".fifo") {
		c.live(e, "name a standard queue", "a FIFO queue would drop a letter that comes again within five minutes")
	}
	if d.get("prefix") != nil && d.get("bucket") == nil && (d.get("queue") != nil || d.get("dir") != nil) {
		c.fail(d.get("prefix"), "remove it", "a prefix is of a bucket's objects")
	}
	c.ownBucketOfLetters(cfg, d)
	if cfg.DeadLetters != nil && cfg.DeadLetters.Dir != "" && cfg.Leases != nil && cfg.Leases.Table != "" {
		c.warn(d.get("dir"), "give dead_letters a bucket or a queue; or write leases: {file: PATH} where one consumer is all",
			"leases in a table are for consumers on several hosts, and a folder is one host's: each would keep letters that the others, and a redrive there, do not see")
	}
	if e := d.get("max_hold"); e != nil && e.data != nil {
		switch hold := e.duration(); {
		case hold <= 0:
			c.fail(e, "write a duration such as 12h", "a change must be tried for some time before it is given up")
		case hold >= retention:
			c.fail(e, "write less, so that time is left for what waits behind it: 12h is the default", "a stream keeps records for 24 h: what is held that long is lost before it is given up")
		}
	}
}

// ownBucketOfLetters warns of dead letters in the bucket of an archive: who may read the archive, whose sensitive
// attributes may be masked, reads them whole, and no rule expires the ones and keeps the others.
func (c *checker) ownBucketOfLetters(cfg *Config, d *value) {
	if cfg.DeadLetters == nil || cfg.DeadLetters.Dir != "" {
		return
	}
	const do = "give dead letters a bucket of their own (dead_letters.bucket), with a lifecycle rule that expires them after guard_retention, 30 days by default"
	for _, s := range cfg.Sinks {
		switch {
		case s.Archive == nil || s.Archive.Bucket == "":
		case cfg.DeadLetters.Bucket == s.Archive.Bucket:
			c.warn(d.get("bucket"), do, "sinks.%s.archive.bucket is the same bucket: dead letters hold changes whole and unmasked, and expire, which an archive does not", s.Name)
		case cfg.DeadLetters.Bucket == "" && cfg.DeadLetters.Queue != "":
			c.warn(d.get("queue"), do, "dead letters that are too large for a message go to sinks.%s.archive.bucket: they hold changes whole and unmasked, and expire, which an archive does not", s.Name)
			return // the first archive alone
		}
	}
}

// connectionRules checks that each server can be reached as the file says, and is
// used.
func (c *checker) connectionRules(cfg *Config, root *value) {
	used := make(map[string]bool)
	var names []string
	for _, conn := range cfg.Connections {
		names = append(names, conn.Name)
	}
	for i, s := range cfg.Sinks {
		if s.Search == nil || s.Search.Connection == "" {
			continue
		}
		used[s.Search.Connection] = true
		if !slices.Contains(names, s.Search.Connection) {
			v := root.get("sinks").all()[i].entries[0].get("connection")
			c.fail(v, meant(s.Search.Connection, names, "connections has"), "no connection is named %s", quoted(s.Search.Connection))
		}
	}
	for i, conn := range cfg.Connections {
		v := root.get("connections").all()[i]
		if !used[conn.Name] {
			c.warn(v, "name it in the connection of a search sink, or remove it", "nobody uses this connection")
		}
		at := c.server(v.get("opensearch"))
		for _, k := range []string{"user", "password"} {
			e := v.get(k)
			switch {
			case conn.Auth == "basic" && e == nil && v.get("auth").text() != "":
				c.fail(v, "add "+k+": '${NAME}'", "auth: basic wants a user and a password")
			case conn.Auth == "basic" && e != nil && e.data != nil && e.text() == "":
				c.fail(e, "set it", "auth: basic wants a user and a password, and this is empty")
			case conn.Auth != "basic" && e != nil:
				c.fail(e, "write auth: basic, or remove it", "%q is of auth: basic", k)
			}
		}
		for _, k := range []string{"region", "assume_role"} {
			if e := v.get(k); e != nil && conn.Auth != "sigv4" {
				c.fail(e, "write auth: sigv4, or remove it", "%q is of auth: sigv4", k)
			}
		}
		if conn.Auth == "basic" && at != nil && at.Scheme == "http" && !loopback(at.Hostname()) {
			c.fail(v.get("opensearch"), "write https://", "the password would cross the network in the clear")
		}
	}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// server is the URL that v holds; nil where it is none.
func (c *checker) server(v *value) *url.URL {
	if v.text() == "" {
		return nil
	}
	u, err := url.Parse(v.text())
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		c.fail(v, "write https://HOST", "it is no URL of a server")
		return nil
	case u.User != nil:
		c.fail(v, "write auth: basic, user and password beside it", "a password in a URL ends up in logs")
		return nil
	case u.RawQuery != "" || u.Fragment != "":
		c.fail(v, "write https://HOST alone", "it holds a query or a fragment")
		return nil
	}
	return u
}
