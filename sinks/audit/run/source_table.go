package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// Table is the source table of a configuration. It may be in use.
type Table struct {
	ARN     string
	Keys    []string               // names of the key attributes, partition key first
	Decoder record.SnapshotOptions // options to decode the items
	Lookup  Lookup

	client *dynamodb.Client
	name   string // name or ARN of the table
	budget *Budget
}

// OpenTable has DynamoDB describe the source table of cfg. cfg must have exactly one table. budget counts the units
// that the Lookup consumes.
func OpenTable(
	ctx context.Context, sdk awssdk.Config, cfg *config.Config, decoder record.DecoderOptions, budget *Budget,
) (*Table, error) {
	source := cfg.Source.Tables[0]
	t := &Table{client: dynamodb.NewFromConfig(sdk), name: cmp.Or(source.ARN, source.Name), budget: budget}
	described, err := scan.Describe(ctx, t.client, t.name)
	if err != nil {
		return nil, err
	}
	t.ARN, t.Keys = described.ARN, described.Keys
	t.Decoder = SnapshotOptions(cfg, decoder, described.Keys)
	t.Decoder.Table = described.Name
	if t.Decoder.StreamARN == "" && !t.Decoder.Kinesis {
		t.Decoder.StreamARN, t.Decoder.EpochZero = described.StreamARN, described.StreamARN == ""
	}
	t.Lookup = NewTableLookup(t.client, t.name, t.Decoder, budget)
	return t, nil
}

// SnapshotOptions returns the options to decode items of the source of cfg. keys are the names of the key attributes.
func SnapshotOptions(cfg *config.Config, decoder record.DecoderOptions, keys []string) record.SnapshotOptions {
	return record.SnapshotOptions{DecoderOptions: decoder, Keys: keys, Kinesis: cfg.Source.Kinesis != ""}
}

// Scan returns a scan of the table. retry is called for each request that is repeated.
func (t *Table) Scan(
	ctx context.Context, segments int, rcu float64, narrowing *snapshot.ItemSelection,
	retry func(err error, wait time.Duration),
) (snapshot.Snapshot, error) {
	return scan.New(ctx, scan.Options{
		Client: t.client, Table: t.name, Segments: segments, RCU: rcu, Time: time.Now().UTC().Truncate(time.Second),
		Decoder: t.Decoder, Narrowing: narrowing, OnRetry: retry, Slowed: t.budget.noteRate,
	})
}

// NewSample chooses n segments at random, of the given number of segments.
func NewSample(n, segments int) *Sample {
	chosen := rand.Perm(segments)[:n]
	slices.Sort(chosen)
	return &Sample{Segments: chosen, Of: segments}
}

// RequestDigest returns the hash of a request, for [Options.RequestDigest].
func RequestDigest(parts ...any) (string, error) {
	b, err := json.Marshal(parts)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}
