package config

// maxShards bounds the rows that a group is spread over: reading it asks for each.
const maxShards = 256

// sink is one entry of `sinks`: a mapping of one key, its kind.
func sink() *rule {
	r := object(
		key{name: "view", rule: viewKeys(), doc: "A row for each item."},
		key{name: "aggregate", rule: aggregateKeys(), doc: "Counts and sums by group."},
		key{name: "search", rule: searchKeys(), doc: "A document for each item."},
		key{name: "archive", rule: archiveKeys(), doc: "Every change as an immutable object."},
		key{name: "notify", rule: notifyKeys(), doc: "Detected events as CloudEvents."},
		key{name: "custom", rule: customKeys(), doc: "A Go sink given to sinks.Assemble."},
	)
	r.ref = "sink"
	return r.one(r.keyNames()...)
}

// withShared is a sink's own keys and those that every sink takes.
func withShared(when *rule, own ...key) *rule {
	return object(append(own,
		key{name: "filters", elsewhere: true, rule: filters(), doc: "What to drop before this sink alone."},
		key{name: "when", rule: when, doc: "What the sink is about, in CEL: over item in state sinks; over old, new, op, keys, time and ttl in the others."},
		key{name: "rate", tuning: true, rule: number(), doc: "Deliveries a second. Default: unlimited."},
		key{name: "concurrency", tuning: true, rule: integer(1), def: "4", doc: "Writes in flight."},
		key{name: "batch", tuning: true, rule: batch(), doc: "Bounds of one write."},
		key{name: "allow_sensitive", elsewhere: true, rule: list(pattern()), doc: "Sensitive paths that this sink may hold."},
	)...)
}

func batch() *rule {
	r := object(
		key{name: "count", rule: integer(1), def: "500", doc: "Deliveries."},
		key{name: "bytes", rule: size(), def: "4MiB", doc: "Bytes of records."},
		key{name: "linger", rule: duration(), def: "0s", doc: "How long a started batch waits to fill; 1h at most."},
	)
	r.ref = "batch"
	return r
}

func viewKeys() *rule {
	return withShared(itemExpr(),
		key{name: "table", rule: table(), required: true, doc: "Table of the rows."},
		key{name: "key", rule: keyColumns(), required: true, doc: "Partition key and sort key of a row."},
		key{name: "attributes", rule: columns(), doc: "What else a row holds."},
		key{name: "on_collision", rule: words("dead_letter", "keep_first", "last"), def: "dead_letter", doc: "What to do when several items claim a row."},
		key{name: "tombstones", rule: words("apart", "in_place"), def: "apart", doc: "Where the tombstone of a removed row is: in the state table, or at the row's key, where readers leave it out."},
	)
}

// columns is templates by attribute name.
func columns() *rule {
	r := mapOf(nil, templ())
	r.ref = "columns"
	return r
}

// keyColumns is columns of which the first is the partition key.
func keyColumns() *rule {
	r := columns()
	r.ordered = true
	return r
}

func aggregateKeys() *rule {
	each := templ()
	each.each = true
	group := mapOf(nil, each)
	group.ordered = true
	ways := []key{
		{name: "sum", rule: path(), doc: "Exact sum."},
		{name: "min", rule: path(), doc: "Least value."},
		{name: "max", rule: path(), doc: "Greatest value."},
		{name: "distinct", rule: path(), doc: "Count of distinct values."},
	}
	return withShared(itemExpr(),
		key{name: "table", rule: table(), required: true, doc: "Table of the group rows."},
		key{name: "group", rule: group, required: true, doc: "Key of a group's row."},
		key{name: "values", rule: mapOf(nil, either(words("count"), object(ways...).one("sum", "min", "max", "distinct"))), required: true, doc: "What is counted, by attribute."},
		key{name: "for_each", rule: path(), doc: "List whose elements count one by one."},
		key{name: "shards", rule: integerUpTo(1, maxShards), def: "1", doc: "Rows that a hot group is spread over."},
		key{name: "on_ttl_delete", rule: words("keep", "retract"), required: true, doc: "Whether an expired item still counts."},
	)
}

func searchKeys() *rule {
	return withShared(itemExpr(),
		key{name: "connection", tuning: true, rule: name(), doc: "One of connections."},
		key{name: "index", rule: templ(), required: true, doc: "Index of the documents."},
		key{name: "fields", rule: object(
			key{name: "include", elsewhere: true, rule: list(path()), doc: "Only these. Default: every attribute."},
			key{name: "exclude", rule: list(path()), doc: "All but these."},
			key{name: "rename", rule: mapOf(path(), text()), doc: "Field name by path."},
			key{name: "numbers", rule: mapOf(path(), words("string", "scaled_float", "double")), doc: "How long decimals are written, by path."},
			key{name: "hash", rule: list(path()), doc: "Paths that are written as an HMAC; included by that."},
		), doc: "What a document holds."},
		key{name: "mapping", elsewhere: true, rule: text(), doc: "JSON file of the index's mapping, beside this file."},
		key{name: "mode", rule: words("exact", "fast"), def: "exact", doc: "How versions are compared."},
		key{name: "id", rule: words("key", "hmac"), def: "key", doc: "What document ids are made of."},
		key{name: "routing", rule: templ(), doc: "Routing of the documents, made of keys alone."},
		key{name: "create", tuning: true, rule: words("on_start", "on_demand"), def: "on_start", doc: "When indexes are made."},
		key{name: "max_indexes", tuning: true, rule: integer(1), doc: "Bound on what an index template may make."},
	)
}

func archiveKeys() *rule {
	return withShared(changeExpr(),
		key{name: "bucket", place: true, rule: bucket(), doc: "S3 bucket; may be absent where the store is local."},
		key{name: "prefix", rule: text(), doc: "Prefix of the objects."},
		key{name: "layout", rule: words("log", "per_item"), def: "log", doc: "Objects of many changes, or one for each."},
		key{name: "kinds", rule: list(words("ttl_delete", "user_delete", "change")), doc: "What is archived. Default: all kinds."},
		key{name: "key", rule: templ(), doc: "Object key of layout per_item."},
		key{name: "partition", rule: templ(), doc: "Folder of layout log's objects."},
		key{name: "roll", tuning: true, rule: object(
			key{name: "bytes", rule: size(), def: "8MiB", doc: "Size of its records, before compression."},
			key{name: "age", rule: duration(), def: "5m", doc: "How long its first change waits for others; 1h at most. A replay ignores it: the input alone cuts its objects."},
		), doc: "When an object of layout log is closed."},
		key{name: "format", rule: words("jsonl.zst", "jsonl.gz", "parquet"), def: "jsonl.zst", doc: "Format of the objects."},
		key{name: "columns", rule: columns(), doc: "Columns of Parquet."},
		key{name: "images", rule: words("dynamodb_json", "plain_json"), def: "dynamodb_json", doc: "How images are written."},
		key{name: "storage_class", tuning: true, rule: words(storageClasses...), doc: "S3 storage class."},
		key{name: "kms_key", tuning: true, rule: text(), doc: "KMS key of the objects."},
		key{name: "tags", tuning: true, rule: columns(), doc: "Object tags."},
		key{name: "masked", elsewhere: true, rule: boolean(), def: "false", doc: "Sensitive attributes are masked."},
	)
}

// storageClasses are those of S3 that an object can be put into.
var storageClasses = []string{
	"STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE", "REDUCED_REDUNDANCY",
}

func notifyKeys() *rule {
	return withShared(changeExpr(),
		key{name: "queue", place: true, rule: text(), doc: "URL of an SQS queue."},
		key{name: "topic", place: true, rule: text(), doc: "ARN of an SNS topic."},
		key{name: "bus", place: true, rule: text(), doc: "Name or ARN of an EventBridge bus."},
		key{name: "events", rule: list(name()), required: true, doc: "Names of detectors."},
		key{name: "format", rule: words("cloudevents", "CloudEvents"), def: "cloudevents", doc: "Format of the messages."},
	).atMostOne("queue", "topic", "bus")
}

func customKeys() *rule {
	return withShared(changeExpr(),
		key{name: "name", rule: name(), required: true, doc: "Name of the Go sink."},
		key{name: "with", rule: anything(), doc: "Settings of the Go sink."},
	)
}
