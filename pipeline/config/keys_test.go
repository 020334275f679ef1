package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// keyTable is the table of keys: path and default.
// * is a name of the user's own, [] an element of a list.
const keyTable = `
version
name
source
source.table
source.stream
source.tables
source.ttl_attribute
source.emulator
source.start | trim_horizon
source.on_gap | stop
source.repair_sinks
source.polling
source.polling.max_idle | 5s
source.polling.calls_per_month
source.kinesis
leases
leases.table
leases.duration | 6s
leases.file
state
state.table
state.guard_retention | 30d
hmac_key
sensitive
attributes
entities
entities.*.key
entities.*.unique
entities.*.attributes
entities.*.when
connections
connections.*.opensearch
connections.*.auth | sigv4
connections.*.region
connections.*.assume_role
connections.*.ca
connections.*.user
connections.*.password
filters
filters[].drop
filters[].keep
filters[].func
detect
detect.*.of
detect.*.op
detect.*.attribute
detect.*.from | *
detect.*.to | *
detect.*.below
detect.*.above
detect.*.changed
detect.*.appeared
detect.*.disappeared
detect.*.added
detect.*.removed
detect.*.func
detect.*.when
sinks
sinks.*.view
sinks.*.aggregate
sinks.*.search
sinks.*.archive
sinks.*.notify
sinks.*.custom
sinks.*.view.of
sinks.*.aggregate.of
sinks.*.search.of
sinks.*.archive.of
sinks.*.notify.of
sinks.*.custom.of
sinks.*.view.filters
sinks.*.view.when
sinks.*.view.rate
sinks.*.view.concurrency | 4
sinks.*.view.batch
sinks.*.view.batch.count | 500
sinks.*.view.batch.bytes | 4MiB
sinks.*.view.batch.linger | 0s
sinks.*.view.allow_sensitive
sinks.*.view.table
sinks.*.view.for_each
sinks.*.view.key
sinks.*.view.shards | 1
sinks.*.view.attributes
sinks.*.view.on_collision | dead_letter
sinks.*.view.tombstones | apart
sinks.*.aggregate.table
sinks.*.aggregate.group
sinks.*.aggregate.values
sinks.*.aggregate.for_each
sinks.*.aggregate.shards | 1
sinks.*.aggregate.on_ttl_delete
sinks.*.aggregate.filters
sinks.*.aggregate.when
sinks.*.aggregate.allow_sensitive
sinks.*.search.connection
sinks.*.search.index
sinks.*.search.fields
sinks.*.search.fields.include
sinks.*.search.fields.exclude
sinks.*.search.fields.rename
sinks.*.search.fields.numbers
sinks.*.search.fields.hash
sinks.*.search.mapping
sinks.*.search.mode | exact
sinks.*.search.id | key
sinks.*.search.routing
sinks.*.search.create | on_start
sinks.*.search.max_indexes
sinks.*.search.when
sinks.*.archive.bucket
sinks.*.archive.prefix
sinks.*.archive.layout | log
sinks.*.archive.kinds
sinks.*.archive.key
sinks.*.archive.names | escaped
sinks.*.archive.partition
sinks.*.archive.roll
sinks.*.archive.roll.bytes | 8MiB
sinks.*.archive.roll.age | 5m
sinks.*.archive.format | jsonl.zst
sinks.*.archive.columns
sinks.*.archive.images | dynamodb_json
sinks.*.archive.storage_class
sinks.*.archive.kms_key
sinks.*.archive.tags
sinks.*.archive.masked | false
sinks.*.archive.batch
sinks.*.notify.queue
sinks.*.notify.topic
sinks.*.notify.bus
sinks.*.notify.events
sinks.*.notify.attributes
sinks.*.notify.region
sinks.*.notify.origin
sinks.*.notify.format | cloudevents
sinks.*.notify.allow_sensitive
sinks.*.custom.name
sinks.*.custom.with
sinks.*.custom.concurrency | 4
dead_letters
dead_letters.bucket
dead_letters.prefix
dead_letters.queue
dead_letters.dir
dead_letters.max_hold | 12h
dead_letters.quarantine | key
dead_letters.redrive | manual
dead_letters.undecodable | dead_letter
metrics
`

// Every row of the table of keys is in the schema, with its default.
func TestKeyTable(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(strings.TrimSpace(keyTable), "\n") {
		path, def, _ := strings.Cut(row, " | ")
		place, ok := follow(root, root, path)
		if !ok {
			t.Errorf("%s: not in the schema", path)
			continue
		}
		if got := textOf(place["default"]); got != def {
			t.Errorf("%s: default %q, want %q", path, got, def)
		}
		if d := textOf(place["description"]); !strings.HasSuffix(d, ".") {
			t.Errorf("%s: the description %q is no sentence", path, d)
		}
	}
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// follow walks a path of the table through the schema.
func follow(root, at map[string]any, path string) (map[string]any, bool) {
	if path == "" {
		return at, true
	}
	head, rest, _ := strings.Cut(path, ".")
	name, element := strings.CutSuffix(head, "[]")
	in, ok := resolveRef(root, at)
	if !ok {
		return nil, false
	}
	var next any
	if name == "*" {
		next = in["additionalProperties"]
	} else if ps, isObject := in["properties"].(map[string]any); isObject {
		next = ps[name]
	}
	place, ok := next.(map[string]any)
	if ok && element {
		if place, ok = resolveRef(root, place); ok {
			place, ok = place["items"].(map[string]any)
		}
	}
	if !ok {
		return nil, false
	}
	return follow(root, place, rest)
}

func resolveRef(root, at map[string]any) (map[string]any, bool) {
	ref, isRef := at["$ref"].(string)
	if !isRef {
		return at, true
	}
	defs, _ := root["$defs"].(map[string]any)
	place, ok := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	return place, ok
}
