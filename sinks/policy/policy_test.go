package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
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
		fmt.Fprintf(&b, "%s: %s on %s\n", s.Sid, strings.Join(s.Actions, " "), strings.Join(s.Resources, " "))
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
  old_ones: {archive: {bucket: shop-archive, prefix: changes/x, kms_key: 'alias/archive'}}
dead_letters: {queue: 'https://sqs.eu-central-1.amazonaws.com/123456789012/dead', redrive: auto}
`
	got := lines(policy.Of(parse(t, file), policy.Options{Names: map[string]string{"shop": "${Table}", "dead": "${Queue.QueueName}"}}))
	want := `SourceStream: dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator on arn:aws:dynamodb:REGION:ACCOUNT:table/${Table}/stream/*
SourceStreams: dynamodb:ListStreams on *
SearchA: es:ESHttpGet es:ESHttpPost es:ESHttpPut on arn:aws:es:REGION:ACCOUNT:domain/shop-docs/*
SearchB: sts:AssumeRole on arn:aws:iam::123456789012:role/search
ArchiveOldOnes: s3:AbortMultipartUpload s3:GetObject s3:PutObject on arn:aws:s3:::shop-archive/changes/*
ArchiveOldOnesMissing: s3:ListBucket on arn:aws:s3:::shop-archive
ArchiveOldOnesKey: kms:Decrypt kms:GenerateDataKey on arn:aws:kms:REGION:ACCOUNT:key/*
State: dynamodb:BatchGetItem dynamodb:DeleteItem dynamodb:DescribeTable dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem on arn:aws:dynamodb:REGION:ACCOUNT:table/tablewake-state
DeadLetters: sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage sqs:SendMessage on arn:aws:sqs:REGION:ACCOUNT:${Queue.QueueName}
DeadLettersLarge: s3:DeleteObject s3:GetObject s3:PutObject on arn:aws:s3:::shop-archive/changes/.~fingerprints/dead/shop/*
DeadLettersLargeBucket: s3:ListBucket on arn:aws:s3:::shop-archive
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a function (-want +got):\n%s", diff)
	}
	got = lines(policy.Of(parse(t, file), policy.Options{Runner: policy.Creator, Partition: "aws-cn", Region: "cn-north-1", Account: "123456789012"}))
	want = `CreateTables: dynamodb:CreateTable dynamodb:DescribeTable dynamodb:DescribeTimeToLive dynamodb:UpdateTimeToLive on arn:aws-cn:dynamodb:cn-north-1:123456789012:table/shop-leases arn:aws-cn:dynamodb:cn-north-1:123456789012:table/tablewake-state
CreateBuckets: s3:CreateBucket s3:ListBucket s3:PutLifecycleConfiguration on arn:aws-cn:s3:::shop-archive
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who creates (-want +got):\n%s", diff)
	}
}

func TestDocument(t *testing.T) {
	b, err := json.Marshal(policy.Document(policy.Of(parse(t, "source: {stream: 'arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678'}\nsinks: {all: {archive: {prefix: x/}}}\n"), policy.Options{Runner: policy.Consumer})))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Version":"2012-10-17","Statement":[{"Sid":"SourceStream","Effect":"Allow","Action":["dynamodb:DescribeStream","dynamodb:GetRecords","dynamodb:GetShardIterator"],"Resource":["arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"]}]}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
}
