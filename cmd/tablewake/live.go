package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/pipeline/telemetry"
	"github.com/tablewake/tablewake/sinks/aws"
)

// openLive opens the real stores that cfg names, once it has said which they are; tel may be
// nil.
func openLive(ctx context.Context, cfg *config.Config, w io.Writer, tel *telemetry.Telemetry, opts ...aws.Option) (*stores, error) {
	sdk, err := loadObserved(ctx, tel)
	if err != nil {
		return nil, err
	}
	announce(ctx, sdk, cfg, w)
	return liveStores(sdk, opts...), nil
}

// liveStores are the stores that sdk reaches.
func liveStores(sdk awssdk.Config, opts ...aws.Option) *stores {
	opened := aws.Stores(sdk, opts...)
	return &stores{Stores: opened, close: []func() error{opened.Close}}
}

// loadAWS is the SDK's configuration as the standard variables and files have it.
func loadAWS(ctx context.Context) (awssdk.Config, error) {
	// What the SDK would log are connections that it tries again.
	sdk, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(logging.Nop{}))
	switch {
	case err != nil:
		return sdk, fmt.Errorf("AWS configuration: %w", err)
	case sdk.Region == "":
		return sdk, errors.New("no AWS Region is set: export AWS_REGION, or choose a profile with AWS_PROFILE")
	}
	return sdk, nil
}

// announce says whose stores are used, and which. Who may not ask whose credentials
// these are may still use the stores.
func announce(ctx context.Context, sdk awssdk.Config, cfg *config.Config, w io.Writer) {
	fmt.Fprintf(w, "account %s, Region %s\n", accountOf(ctx, sdk), sdk.Region)
	announceStores(cfg, w)
}

// accountOf is the account whose credentials sdk has, as far as it may be asked for.
func accountOf(ctx context.Context, sdk awssdk.Config) string {
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	id, err := sts.NewFromConfig(sdk, func(o *sts.Options) { o.RetryMaxAttempts = 1 }).GetCallerIdentity(short, nil)
	if err != nil {
		return "unknown (sts:GetCallerIdentity does not answer)"
	}
	return awssdk.ToString(id.Account)
}

// announceStores says which stores cfg names.
func announceStores(cfg *config.Config, w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range cfg.Sinks {
		fmt.Fprintf(tw, "  %s\t%s\n", s.Name, destination(cfg, s))
	}
	if cfg.State != nil {
		fmt.Fprintf(tw, "  state\ttable %s\n", cfg.State.Table)
	}
	if d := cfg.DeadLetters; d != nil {
		fmt.Fprintf(tw, "  dead letters\t%s\n", either(d.Queue != "", "queue "+d.Queue, either(d.Bucket != "", "bucket "+d.Bucket+" "+d.Prefix, "folder "+d.Dir)))
	}
	_ = tw.Flush()
}

// destination returns in words where a sink writes.
func destination(cfg *config.Config, s config.Sink) string {
	switch {
	case s.View != nil:
		return "table " + s.View.Table
	case s.Aggregate != nil:
		return "table " + s.Aggregate.Table
	case s.Search != nil:
		for _, c := range cfg.Connections {
			if c.Name == s.Search.Connection {
				return "index " + s.Search.Index.String() + " at " + c.OpenSearch
			}
		}
		return "index " + s.Search.Index.String()
	case s.Archive != nil:
		return "bucket " + s.Archive.Bucket + " " + s.Archive.Prefix
	case s.Notify != nil:
		return either(s.Notify.Queue != "", "queue "+s.Notify.Queue, either(s.Notify.Topic != "", "topic "+s.Notify.Topic, "bus "+s.Notify.Bus))
	default:
		return "a Go sink"
	}
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// readItem reads an item of a table, consistently, and its key with its names. item
// does not exist where the table has none.
func readItem(ctx context.Context, table string, key itemKey) (keys, item pipeline.Image, err error) {
	sdk, err := loadAWS(ctx)
	if err != nil {
		return keys, item, err
	}
	client := dynamodb.NewFromConfig(sdk)
	about, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return keys, item, err
	}
	asked, err := keyOf(key, about.Table)
	if err != nil {
		return keys, item, err
	}
	consistent := true
	got, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: asked, ConsistentRead: &consistent})
	if err != nil {
		return keys, item, err
	}
	if keys, err = sdkvalue.Image(asked); err != nil || got.Item == nil {
		return keys, item, err
	}
	item, err = sdkvalue.Image(got.Item)
	return keys, item, err
}

// keyOf is the key as a table of that description asks for it.
func keyOf(key itemKey, table *types.TableDescription) (map[string]types.AttributeValue, error) {
	if key.attributes.Exists() {
		return sdkvalue.Item(key.attributes), nil
	}
	_, values, err := key.canonical.Decode()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, 2)
	for _, k := range table.KeySchema {
		names = append(names, awssdk.ToString(k.AttributeName))
	}
	if len(names) != len(values) {
		return nil, fmt.Errorf("the key of %s has %d attributes, and %s has %d", awssdk.ToString(table.TableName), len(names), key.canonical, len(values))
	}
	if len(names) == 2 && names[0] > names[1] { // a canonical key is in the order of names
		names[0], names[1] = names[1], names[0]
	}
	asked := make(map[string]types.AttributeValue, len(names))
	for i, name := range names {
		asked[name] = sdkvalue.Of(values[i])
	}
	return asked, nil
}
