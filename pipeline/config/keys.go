package config

// grammar is the table of every key of the file. Keys stand in the order in
// which they are read: attributes first, since expressions are checked by them.
func grammar() *rule {
	return object(
		key{name: "version", rule: &rule{shape: integerShape, least: 1, most: 1}, required: true, doc: "Version of the file's format."},
		key{name: "name", rule: name(), required: true, doc: "Name of the pipeline: keeps leases, state and fingerprints apart, and names its own writes."},
		key{name: "source", rule: source(), required: true, doc: "The table whose changes are carried."},
		key{name: "attributes", rule: mapOf(nil, words("S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS")), doc: "Types of top-level attributes: makes a typo or a type error in an expression an error when the file is loaded. An N is a double in a search index that is made, unless its mapping says otherwise."},
		key{name: "connections", tuning: true, rule: mapOf(name(), connection()), doc: "Servers that sinks write to; secrets by ${ENV} or by reference."},
		key{name: "leases", tuning: true, rule: leases(), doc: "Where consumers agree on who reads which shard, and keep how far they came."},
		key{name: "state", tuning: true, rule: object(
			key{name: "table", rule: table(), required: true, doc: "DynamoDB table of guards, contributions and quarantine, of consumers and gaps. Not used by --local, whose folder holds them."},
			key{name: "guard_retention", rule: duration(), def: "30d", doc: "How long the guard of a row that is gone lives; 24h at least."},
		), doc: "What sinks remember of items."},
		key{name: "hmac_key", rule: secret(), doc: "Secret behind masked values, hashed fields and hashed ids; 16 bytes at least."},
		key{name: "sensitive", rule: list(pattern()), doc: "Paths that are masked and reach no sink unless it says so; ** for a subtree."},
		key{name: "filters", rule: filters(), doc: "What to drop before any sink, in order; each drop is counted by its name."},
		key{name: "detect", rule: mapOf(name(), detector()), doc: "Events to raise, by name."},
		key{name: "sinks", rule: mapOf(name(), sink()), required: true, doc: "Where changes go, by name."},
		key{name: "dead_letters", tuning: true, rule: deadLetters(), doc: "Where what cannot be delivered goes."},
		key{name: "metrics", tuning: true, rule: words("emf", "otlp", "none"), doc: "How metrics leave the process. Default: emf on Lambda, else otlp."},
	)
}

func name() *rule {
	r := textLike(`[A-Za-z][A-Za-z0-9_-]{0,63}`, "a name (a letter, then letters, digits, _ or -; 64 at most)")
	r.ref = "name"
	return r
}

// arn is a pattern of an ARN of a DynamoDB table or stream; what follows table/.
func arn(rest string) string {
	return `arn:[a-z0-9-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]+` + rest
}

func table() *rule {
	r := textLike(`[A-Za-z0-9_.-]{1,255}|`+arn(``), "a table's name or ARN")
	r.ref = "table"
	return r
}

func source() *rule {
	return object(
		key{name: "table", rule: table(), doc: "Name or ARN of the table."},
		key{name: "stream", rule: textLike(arn(`/stream/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+`), "a stream's ARN"), doc: "ARN of the table's stream."},
		key{name: "tables", rule: list(table()), doc: "Several tables; canonical keys then hold the table's name."},
		key{name: "ttl_attribute", rule: text(), doc: "Attribute of the table's TTL, epoch seconds."},
		key{name: "emulator", tuning: true, rule: words("dynamodb-local"), doc: "Records come from DynamoDB Local: {} is the empty map."},
		key{name: "start", tuning: true, rule: textLike(`trim_horizon|latest|[0-9]{4}-[0-9]{2}-[0-9]{2}T.+`, "trim_horizon, latest or a time as 2026-01-31T12:00:00Z"), def: "trim_horizon", doc: "Where a stream is begun that nobody has read before."},
		key{name: "on_gap", tuning: true, rule: words("stop", "continue"), def: "stop", doc: "What becomes of a shard that lost records before they were read."},
		key{name: "polling", tuning: true, rule: object(
			key{name: "max_idle", rule: duration(), def: "5s", doc: "Longest pause between two polls of an idle shard; 5m at most."},
			key{name: "calls_per_month", rule: integer(1), doc: "Budget of GetRecords calls of all consumers together, in 30 days. Default: none."},
		), doc: "How often shards are read."},
		key{name: "kinesis", rule: textLike(`arn:[a-z0-9-]+:kinesis:.+`, "a Kinesis stream's ARN"), doc: "ARN of the Kinesis stream that source.table writes to, which a Lambda reads instead of the table's own."},
	).one("table", "stream", "tables")
}

func leases() *rule {
	return object(
		key{name: "table", rule: table(), doc: "DynamoDB table of leases, which Amazon's KCL can take over. Not used by --local, whose folder holds them."},
		key{name: "file", rule: text(), doc: "File of leases, for one process."},
		key{name: "duration", rule: duration(), def: "6s", doc: "How long a consumer may be silent before others take its shards; 3s to 5m."},
	).one("table", "file")
}

func connection() *rule {
	return object(
		key{name: "opensearch", rule: text(), required: true, doc: "URL of the OpenSearch cluster."},
		key{name: "auth", rule: words("sigv4", "basic", "none"), def: "sigv4", doc: "How requests are signed."},
		key{name: "region", rule: text(), doc: "AWS Region that requests are signed for."},
		key{name: "assume_role", rule: text(), doc: "ARN of the role to assume."},
		key{name: "ca", rule: text(), doc: "File of the certificate authority."},
		key{name: "user", rule: text(), doc: "User of basic authentication."},
		key{name: "password", rule: secret(), doc: "Password of basic authentication, by ${ENV} or reference."},
	)
}

func deadLetters() *rule {
	return object(
		key{name: "bucket", rule: bucket(), doc: "S3 bucket; beside queue, of letters that are too large for a message."},
		key{name: "prefix", rule: text(), doc: "Prefix of the objects in the bucket."},
		key{name: "queue", rule: text(), doc: "URL of an SQS queue."},
		key{name: "dir", rule: text(), doc: "Local directory."},
		key{name: "max_hold", rule: duration(), def: "12h", doc: "How long a transient failure blocks its key before it is given up; below 24h."},
		key{name: "quarantine", rule: words("key", "none"), def: "key", doc: "What is held back behind a letter."},
		key{name: "redrive", rule: words("manual", "auto"), def: "manual", doc: "Who brings letters back."},
		key{name: "undecodable", rule: words("dead_letter", "block"), def: "dead_letter", doc: "What becomes of a record that cannot be decoded."},
	).atMostOne("bucket", "dir").atMostOne("queue", "dir")
}

func bucket() *rule {
	r := textLike(`[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]`, "an S3 bucket's name (3 to 63 of a-z, 0-9, . and -)")
	r.ref = "bucket"
	return r
}
