package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/test/iam"
)

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte("version: 1\nname: shop\n"+text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func lines(ss []policy.Statement) string {
	var b strings.Builder
	for _, s := range ss {
		fmt.Fprintf(&b, "%s: %s on %s", s.Sid, strings.Join(s.Actions, " "), strings.Join(s.Resources, " "))
		for _, c := range s.Conditions {
			fmt.Fprintf(&b, ", %s %s %s", c.Operator, c.Key, strings.Join(c.Values, " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestOf(t *testing.T) {
	const file = `source: {table: shop}
leases: {table: shop-leases}
state: {table: tablewake-state}
connections:
  os: {opensearch: 'https://search-shop-docs-abcdefghijklmnopqrstuvwxyz.eu-central-1.es.amazonaws.com', auth: sigv4}
  other: {opensearch: 'https://search-x-a.eu-central-1.es.amazonaws.com', auth: sigv4, assume_role: 'arn:aws:iam::123456789012:role/search'}
  plain: {opensearch: 'http://localhost:9200', auth: none}
sinks:
  a: {search: {connection: os, index: a}}
  b: {search: {connection: other, index: b}}
  c: {search: {connection: plain, index: c}}
  d: {search: {connection: os, index: 'd-{Type}', mode: fast, create: on_demand}}
  old_ones: {archive: {bucket: shop-archive, prefix: changes/x, kms_key: 'alias/archive'}}
dead_letters: {queue: 'https://sqs.eu-central-1.amazonaws.com/123456789012/dead', redrive: auto}
`
	got := lines(policy.Statements(parse(t, file), policy.Options{Names: map[string]string{"shop": "${Table}", "dead": "${Queue.QueueName}"}}))
	want := `SourceStream: dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator on arn:aws:dynamodb:REGION:ACCOUNT:table/${Table}/stream/*
SourceStreams: dynamodb:ListStreams on *
SearchA: es:ESHttpGet es:ESHttpPost es:ESHttpPut on arn:aws:es:REGION:ACCOUNT:domain/shop-docs/a,a.tw1 arn:aws:es:REGION:ACCOUNT:domain/shop-docs/a.tw1 arn:aws:es:REGION:ACCOUNT:domain/shop-docs/a.tw1/* arn:aws:es:REGION:ACCOUNT:domain/shop-docs/a/*
SearchARecord: es:ESHttpGet es:ESHttpPut on arn:aws:es:REGION:ACCOUNT:domain/shop-docs/tablewake arn:aws:es:REGION:ACCOUNT:domain/shop-docs/tablewake/_doc/shop,a
SearchAScript: es:ESHttpGet es:ESHttpPut on arn:aws:es:REGION:ACCOUNT:domain/shop-docs/_scripts/tablewake-*
SearchB: sts:AssumeRole on arn:aws:iam::123456789012:role/search
SearchD: es:ESHttpGet es:ESHttpPost es:ESHttpPut on arn:aws:es:REGION:ACCOUNT:domain/shop-docs/d-*
SearchDSeveral: es:ESHttpPost on arn:aws:es:REGION:ACCOUNT:domain/shop-docs/_bulk arn:aws:es:REGION:ACCOUNT:domain/shop-docs/_mget
SearchDRecord: es:ESHttpGet es:ESHttpPut on arn:aws:es:REGION:ACCOUNT:domain/shop-docs/tablewake arn:aws:es:REGION:ACCOUNT:domain/shop-docs/tablewake/_doc/shop,d
ArchiveOldOnes: s3:AbortMultipartUpload s3:GetObject s3:PutObject on arn:aws:s3:::shop-archive/changes/*
ArchiveOldOnesMissing: s3:ListBucket on arn:aws:s3:::shop-archive
ArchiveOldOnesKey: kms:Decrypt kms:GenerateDataKey on arn:aws:kms:REGION:ACCOUNT:key/*, StringEquals kms:ViaService s3.REGION.amazonaws.com, ForAnyValue:StringEquals kms:ResourceAliases alias/archive
State: dynamodb:BatchGetItem dynamodb:DeleteItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem on arn:aws:dynamodb:REGION:ACCOUNT:table/tablewake-state, ForAllValues:StringLike dynamodb:LeadingKeys shop#*, Null dynamodb:LeadingKeys false
StateTable: dynamodb:DescribeTable on arn:aws:dynamodb:REGION:ACCOUNT:table/tablewake-state
DeadLetters: sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage sqs:SendMessage on arn:aws:sqs:REGION:ACCOUNT:${Queue.QueueName}
DeadLettersLarge: s3:DeleteObject s3:GetObject s3:PutObject on arn:aws:s3:::shop-archive/changes/.~fingerprints/dead/shop/*
DeadLettersLargeBucket: s3:ListBucket on arn:aws:s3:::shop-archive
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a function (-want +got):\n%s", diff)
	}
	got = lines(policy.Statements(parse(t, file), policy.Options{Runner: policy.Creator, Partition: "aws-cn", Region: "cn-north-1", Account: "123456789012"}))
	want = `CreateTables: dynamodb:CreateTable dynamodb:DescribeTable dynamodb:DescribeTimeToLive dynamodb:UpdateTimeToLive on arn:aws-cn:dynamodb:cn-north-1:123456789012:table/shop-leases arn:aws-cn:dynamodb:cn-north-1:123456789012:table/tablewake-state
CreateBuckets: s3:CreateBucket s3:ListBucket s3:PutLifecycleConfiguration on arn:aws-cn:s3:::shop-archive
CreateQueues: sqs:CreateQueue sqs:GetQueueAttributes on arn:aws-cn:sqs:cn-north-1:123456789012:dead
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who creates (-want +got):\n%s", diff)
	}
}

// A condition allows a KMS key only for S3. If the file names the key by its alias, a second condition names the alias.
func TestKeys(t *testing.T) {
	for key, want := range map[string]string{
		"1234":          "arn:aws-cn:kms:cn-north-1:123456789012:key/1234, StringEquals kms:ViaService s3.cn-north-1.amazonaws.com.cn",
		"alias/archive": "arn:aws-cn:kms:cn-north-1:123456789012:key/*, StringEquals kms:ViaService s3.cn-north-1.amazonaws.com.cn, ForAnyValue:StringEquals kms:ResourceAliases alias/archive",
		"arn:aws-cn:kms:cn-northwest-1:210987654321:key/1234":        "arn:aws-cn:kms:cn-northwest-1:210987654321:key/1234, StringEquals kms:ViaService s3.cn-northwest-1.amazonaws.com.cn",
		"arn:aws-cn:kms:cn-northwest-1:210987654321:alias/archive/x": "arn:aws-cn:kms:cn-northwest-1:210987654321:key/*, StringEquals kms:ViaService s3.cn-northwest-1.amazonaws.com.cn, ForAnyValue:StringEquals kms:ResourceAliases alias/archive/x",
	} {
		cfg := parse(t, "source: {table: shop}\nsinks: {all: {archive: {bucket: archive, prefix: x/, kms_key: '"+key+"'}}}\n")
		got := lines(policy.Statements(cfg, policy.Options{Partition: "aws-cn", Region: "cn-north-1", Account: "123456789012"}))
		if !strings.Contains(got, "ArchiveAllKey: kms:Decrypt kms:GenerateDataKey on "+want+"\n") {
			t.Errorf("%s: %s\nwant %s", key, got, want)
		}
	}
}

// A backfill may read the table and its exports, and the leases or the functions of the consumer. It may not read a
// stream.
func TestBackfill(t *testing.T) {
	const sinks = `state: {table: state}
sinks:
  users: {view: {table: rows, key: {PK: '{Email}'}}}
`
	const source = `SourceTable: dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/shop
SourceStreams: dynamodb:ListStreams on *
Export: dynamodb:DescribeContinuousBackups dynamodb:ExportTableToPointInTime on arn:aws:dynamodb:REGION:ACCOUNT:table/shop
ExportStatus: dynamodb:DescribeExport on arn:aws:dynamodb:REGION:ACCOUNT:table/shop/export/*
ExportObjects: s3:AbortMultipartUpload s3:GetObject s3:PutObject s3:PutObjectAcl on arn:aws:s3:::EXPORT-BUCKET/*
ExportBucket: s3:ListBucket on arn:aws:s3:::EXPORT-BUCKET
`
	const rest = `ViewUsers: dynamodb:BatchGetItem dynamodb:DeleteItem dynamodb:DescribeTable dynamodb:PutItem dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/rows
State: dynamodb:BatchGetItem dynamodb:ConditionCheckItem dynamodb:DeleteItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem on arn:aws:dynamodb:REGION:ACCOUNT:table/state, ForAllValues:StringLike dynamodb:LeadingKeys shop#*, Null dynamodb:LeadingKeys false
StateTable: dynamodb:DescribeTable on arn:aws:dynamodb:REGION:ACCOUNT:table/state
StateClaims: dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/state
`
	for file, want := range map[string]string{
		"source: {table: shop}\nleases: {table: leases}\n": source + "Leases: dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/leases\n" + rest,
		"source: {table: shop}\n": source + `Function: lambda:GetFunctionConfiguration on arn:aws:lambda:REGION:ACCOUNT:function:*
Mappings: lambda:GetEventSourceMapping lambda:ListEventSourceMappings on *
` + rest,
	} {
		got := lines(policy.Statements(parse(t, file+sinks), policy.Options{Runner: policy.Backfill}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// A tail may read the streams of the source tables, and nothing of sinks, leases and state.
func TestTail(t *testing.T) {
	const sinks = `leases: {table: leases}
state: {table: state}
sinks:
  users: {view: {table: rows, key: {PK: '{Email}'}}}
`
	const stream = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"
	const actions = "SourceStream: dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator on "
	const table = "SourceTable: dynamodb:DescribeTable on arn:aws:dynamodb:REGION:ACCOUNT:table/shop\n"
	for source, want := range map[string]string{
		"{table: shop}": actions + "arn:aws:dynamodb:REGION:ACCOUNT:table/shop/stream/*\n" +
			"SourceStreams: dynamodb:ListStreams on *\n" + table,
		"{stream: '" + stream + "'}": actions + stream + "\n" + table,
	} {
		got := lines(policy.Statements(parse(t, "source: "+source+"\n"+sinks), policy.Options{Runner: policy.Tail}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

// If tombstones are apart and the key of a row identifies its item, the row guards itself. A transaction that creates
// such a row must check the tombstone in the state table. The key identifies the item by {@key} or by the unique names
// of its entity.
func TestTombstonesApart(t *testing.T) {
	const file = `source: {table: shop}
state: {table: state}
entities:
  Order: {key: {PK: 'USER#{UserId}', SK: 'ORDER#{OrderId}'}, unique: OrderId}
sinks:
  rows: {view: {of: Order, table: rows, `
	for view, want := range map[string]bool{
		"key: {PK: '{Status}', SK: '{@key}'}":                                                true,
		"key: {PK: '{Status|lower}', SK: '{OrderId}'}":                                       true,
		"key: {PK: 'STATUS#{Status}#{@shard}', SK: '{OrderId}'}, shards: 10":                 true,
		"key: {PK: '{Status|lower}', SK: '{OrderId}'}, tombstones: in_place":                 false,
		"key: {PK: '{Status|lower}', SK: '{OrderId}'}, on_collision: keep_first":             false, // guarded by item
		"key: {PK: 'S#{Status}#{UserId}'}":                                                   false, // guarded by item
		"key: {PK: '{each.sku}', SK: '{OrderId}#{@each}'}, for_each: {path: Lines, by: sku}": false, // guarded by the contribution
	} {
		for _, runner := range []policy.Runner{policy.Function, policy.Consumer, policy.Backfill} {
			cfg := parse(t, file+view+"}}\n")
			if runner == policy.Consumer {
				cfg = parse(t, "leases: {table: leases}\n"+file+view+"}}\n")
			}
			var on []string
			for _, s := range policy.Statements(cfg, policy.Options{Runner: runner}) {
				if slices.Contains(s.Actions, "dynamodb:ConditionCheckItem") {
					on = append(on, s.Resources...)
				}
			}
			if got := slices.Equal(on, []string{"arn:aws:dynamodb:REGION:ACCOUNT:table/state"}); got != want || !want && len(on) > 0 {
				t.Errorf("%s, runner %d: ConditionCheckItem on %q, want on the state table: %v", view, runner, on, want)
			}
		}
	}
}

// An audit may read the output and the state of all sinks, and may write nothing.
func TestAudit(t *testing.T) {
	const file = `source: {table: shop}
leases: {table: leases}
connections:
  os: {opensearch: 'https://search-docs-abcdefghijklmnopqrstuvwxyz.eu-central-1.es.amazonaws.com', auth: sigv4}
sinks:
  docs: {search: {connection: os, index: 'a-{Type}', create: on_demand}}
`
	const state = `state: {table: state}
`
	const more = `  users: {view: {table: rows, key: {PK: '{Email}'}}}
  sums: {aggregate: {table: groups, group: {PK: '{Type}'}, values: {n: count}, on_ttl_delete: retract}}
`
	const source = `SourceTable: dynamodb:BatchGetItem dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/shop
ExportObjects: s3:GetObject on arn:aws:s3:::EXPORT-BUCKET/*
ExportBucket: s3:ListBucket on arn:aws:s3:::EXPORT-BUCKET
Leases: dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/leases
SearchDocs: es:ESHttpGet es:ESHttpPost on arn:aws:es:REGION:ACCOUNT:domain/docs/a-*
SearchDocsSeveral: es:ESHttpPost on arn:aws:es:REGION:ACCOUNT:domain/docs/_mget
SearchDocsScroll: es:ESHttpDelete es:ESHttpPost on arn:aws:es:REGION:ACCOUNT:domain/docs/_search/scroll
SearchDocsRecord: es:ESHttpGet on arn:aws:es:REGION:ACCOUNT:domain/docs/tablewake arn:aws:es:REGION:ACCOUNT:domain/docs/tablewake/_doc/shop,docs
`
	const remembered = `State: dynamodb:BatchGetItem dynamodb:Query on arn:aws:dynamodb:REGION:ACCOUNT:table/state, ForAllValues:StringLike dynamodb:LeadingKeys shop#*, Null dynamodb:LeadingKeys false
StateTable: dynamodb:DescribeTable on arn:aws:dynamodb:REGION:ACCOUNT:table/state
`
	for text, want := range map[string]string{
		state + file: source + remembered,
		state + file + more: source + `ViewUsers: dynamodb:BatchGetItem dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/rows
AggregateSums: dynamodb:BatchGetItem dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/groups
` + remembered + "StateScan: dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/state\n",
		state + file + `dead_letters: {bucket: dead, prefix: p, redrive: auto}
`: source + `DeadLetters: s3:GetObject on arn:aws:s3:::dead/p/shop/*
DeadLettersBucket: s3:ListBucket on arn:aws:s3:::dead
` + remembered,
		state + file + `dead_letters: {queue: dead}
`: source + `DeadLetters: sqs:ChangeMessageVisibility sqs:GetQueueAttributes sqs:GetQueueUrl sqs:ReceiveMessage on arn:aws:sqs:REGION:ACCOUNT:dead
` + remembered,
	} {
		if diff := cmp.Diff(want, lines(policy.Statements(parse(t, text), policy.Options{Runner: policy.Audit}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// A consumer that repairs gaps has the additional rights of an audit by scan for the sinks that it repairs. A function,
// or a consumer that continues after a gap, does not have these rights.
func TestRepair(t *testing.T) {
	file := func(onGap string) *config.Config {
		return parse(t, `source: {table: shop, `+onGap+`}
leases: {table: leases}
state: {table: state}
sinks:
  users: {view: {table: rows, key: {PK: '{Email}'}}}
  own: {view: {table: own, key: {PK: '{@key}'}}}
  sums: {aggregate: {table: groups, group: {PK: '{Type}'}, values: {n: count}, on_ttl_delete: retract}}
`)
	}
	const source, own, rest = `RepairSourceTable: dynamodb:BatchGetItem dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/shop
`, `RepairViewOwn: dynamodb:BatchGetItem dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/own
`, `RepairAggregateSums: dynamodb:BatchGetItem dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/groups
RepairStateScan: dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/state
`
	reader := lines(policy.Statements(file("on_gap: continue"), policy.Options{Runner: policy.Consumer}))
	for onGap, want := range map[string]string{
		"on_gap: repair, repair_sinks: [own]": source + own,
		"on_gap: repair": source + `RepairViewUsers: dynamodb:BatchGetItem dynamodb:DescribeTable dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/rows
` + own + rest,
	} {
		got := lines(policy.Statements(file(onGap), policy.Options{Runner: policy.Consumer}))
		if diff := cmp.Diff(reader+want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", onGap, diff)
		}
	}
	if got := lines(policy.Statements(file("on_gap: repair"), policy.Options{Runner: policy.Function})); strings.Contains(got, "Repair") {
		t.Errorf("a function has\n%s", got)
	}
}

// A policy allows no row, record or dead letter of another pipeline, even if the name of the other pipeline begins with
// the name of this pipeline.
func TestNothingOfAnotherPipelineIsAllowed(t *testing.T) {
	file := func(name string) *config.Config {
		cfg := parse(t, `source: {table: shop}
leases: {table: leases}
state: {table: state}
connections:
  os: {opensearch: 'https://search-docs-abcdefghijklmnopqrstuvwxyz.eu-central-1.es.amazonaws.com', auth: sigv4}
sinks:
  docs: {search: {connection: os, index: a}}
dead_letters: {bucket: dead}
`)
		cfg.Name = name
		return cfg
	}
	ask := func(pipe, action, resource string, keys ...string) bool {
		r := iam.Request{Action: action, Resource: resource, Context: map[string][]string{}}
		if len(keys) > 0 {
			r.Context["dynamodb:LeadingKeys"] = keys
		}
		return iam.Allows(policy.Statements(file(pipe), policy.Options{Runner: policy.Consumer, Redrive: true}), r)
	}
	const table, domain = "arn:aws:dynamodb:REGION:ACCOUNT:table/state", "arn:aws:es:REGION:ACCOUNT:domain/docs"
	for _, action := range []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"} {
		for _, key := range []string{"ab#guard#docs", "ab#memory", "a", "ab", "b#marks", "guard#a", "memory", "#leases#other"} {
			if ask("a", action, table, key) || ask("a", action, table, "a#marks", key) {
				t.Errorf("the pipeline a may %s rows under %s", action, key)
			}
		}
		if ask("a", action, table) {
			t.Errorf("the pipeline a may %s where no keys are told", action)
		}
		if !ask("a", action, table, "a#guard#docs", "a#memory") || !ask("a*", action, table, "a%2A#memory") {
			t.Errorf("a pipeline may not %s its own rows", action)
		}
	}
	if ask("a*", "dynamodb:Query", table, "ab#memory") {
		t.Error("a name with a star reaches the rows of others")
	}
	if ask("a", "dynamodb:Scan", table) || ask("a", "dynamodb:GetItem", table, "a#memory") || !ask("a", "dynamodb:DescribeTable", table) {
		t.Error("the whole table is read, or cannot be looked for")
	}
	for path, want := range map[string]bool{"/a/_bulk": true, "/a,a.tw1": true, "/a.tw1/_mget": true, "/ab/_bulk": false, "/ab.tw1": false, "/_bulk": false, "/_all": false, "/_cluster/settings": false, "/tablewake/_doc/ab,docs": false, "/tablewake/_doc/a,docs": true, "/tablewake/_search": false} {
		if got := ask("a", "es:ESHttpGet", domain+path) || ask("a", "es:ESHttpPost", domain+path); got != want {
			t.Errorf("%s is allowed: %t", path, got)
		}
	}
	if ask("a", "s3:GetObject", "arn:aws:s3:::dead/ab/x") || !ask("a", "s3:GetObject", "arn:aws:s3:::dead/a/x") {
		t.Error("letters of another pipeline are read, or its own are not")
	}
}

// Dead letters that are too large for a message go to the bucket of dead_letters, even if there is an archive.
func TestLargeLetters(t *testing.T) {
	cfg := parse(t, "source: {table: shop}\nsinks: {all: {archive: {bucket: archive, prefix: x/}}}\ndead_letters: {queue: dead, bucket: large}\n")
	got := lines(policy.Statements(cfg, policy.Options{}))
	want := `DeadLetters: sqs:GetQueueAttributes sqs:GetQueueUrl sqs:SendMessage on arn:aws:sqs:REGION:ACCOUNT:dead
DeadLettersLarge: s3:PutObject on arn:aws:s3:::large/shop/*
DeadLettersLargeBucket: s3:ListBucket on arn:aws:s3:::large
`
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end\n%s", got, want)
	}
}

func TestPurge(t *testing.T) {
	ss := policy.Statements(parse(t, "source: {table: shop}\nstate: {table: state}\nsinks: {all: {archive: {prefix: x/}}}\n"), policy.Options{Purge: true})
	if got, want := lines(ss), "StatePurge: dynamodb:Scan on arn:aws:dynamodb:REGION:ACCOUNT:table/state\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end %s", got, want)
	}
}

// If the file names a table by its ARN, the policy allows exactly this ARN, even in another Region or account.
func TestTablesByTheirARN(t *testing.T) {
	const at = "arn:aws:dynamodb:eu-west-1:999999999999:table/"
	file := "source: {table: shop}\nstate: {table: '" + at + "remembered'}\nleases: {table: '" + at + "shards'}\nsinks:\n" +
		"  rows: {view: {table: '" + at + "rows', key: {PK: '{@key}'}}}\n" +
		"  claims: {view: {table: '" + at + "claims', key: {PK: '{Mail}'}, on_collision: last}}\n" +
		"  sums: {aggregate: {table: '" + at + "sums', group: {PK: '{Mail}'}, values: {n: count}, on_ttl_delete: retract}}\n"
	got := lines(policy.Statements(parse(t, file), policy.Options{Runner: policy.Consumer})) + lines(policy.Statements(parse(t, file), policy.Options{Runner: policy.Creator}))
	for _, table := range []string{"remembered", "shards", "rows", "claims", "sums"} {
		if !strings.Contains(got, at+table) || strings.Count(got, "table/"+table) != strings.Count(got, at+table) {
			t.Errorf("table %s is not allowed by its ARN alone:\n%s", table, got)
		}
	}
}
