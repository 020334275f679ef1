package aws_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/test/server"
)

func sdk(endpoint string) awssdk.Config {
	return awssdk.Config{
		Region:       server.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
		BaseEndpoint: &endpoint,
	}
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte("version: 1\nname: shop\nsource: {table: shop}\n"+text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// If the file lacks settings that real stores need, one error names all of them with their lines. No server is called
// before.
func TestWhatIsMissing(t *testing.T) {
	cfg := parse(t, `detect: {paid: {attribute: Status, to: paid}}
sinks:
  rows: {view: {table: rows, key: {PK: '{@key}'}}}
  sums: {aggregate: {table: rows, group: {PK: 'g#{Type}'}, values: {n: count}, on_ttl_delete: keep}}
  docs: {search: {index: docs}}
  log: {archive: {prefix: changes/}}
  told: {notify: {events: [paid]}}
`)
	stores := aws.Stores(sdk("http://127.0.0.1:1"))
	defer stores.Close()
	_, err := sinks.Assemble(t.Context(), cfg, stores)
	if err == nil {
		t.Fatal("it was assembled")
	}
	for _, want := range []string{
		"tablewake.yaml:6: sinks.rows: what must be remembered of items has no place: add state: {table: NAME}",
		"tablewake.yaml:7: sinks.sums: what must be remembered",
		"tablewake.yaml:8: sinks.docs: no server is named: add connection: NAME",
		"tablewake.yaml:9: sinks.log: no bucket is named: add bucket: NAME",
		"tablewake.yaml:10: sinks.told: nothing is named that takes the events: add queue, topic or bus",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}
	rows, _ := cfg.Sink("rows")
	if store, err := stores.View(t.Context(), cfg, rows); store != nil || err == nil {
		t.Errorf("a view that cannot be opened has the store %#v and the error %v", store, err)
	}
	sums, _ := cfg.Sink("sums")
	if store, err := stores.Aggregate(t.Context(), cfg, sums); store != nil || err == nil {
		t.Errorf("an aggregate that cannot be opened has the store %#v and the error %v", store, err)
	}
}

// With Create, missing tables are created with the key types from the file. Without Create, the error names the missing
// table.
func TestCreate(t *testing.T) {
	endpoint := server.DynamoDB().Endpoint(t)
	name := fmt.Sprintf("aws%d", rand.Uint64())
	cfg := parse(t, fmt.Sprintf(`state: {table: %[1]s-state}
attributes: {Rank: N}
sinks:
  ranks: {view: {table: %[1]s, key: {rank: '{Rank}', item: '{@key}'}}}
`, name))
	client := dynamodb.NewFromConfig(sdk(endpoint))
	t.Cleanup(func() {
		for _, table := range []string{name, name + "-state"} {
			if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
				t.Error(err)
			}
		}
	})

	stores := aws.Stores(sdk(endpoint))
	defer stores.Close()
	if _, err := sinks.Assemble(t.Context(), cfg, stores); err == nil || !strings.Contains(err.Error(), name+"-state") || !strings.Contains(err.Error(), "--create") {
		t.Errorf("without tables: %v; want the table's name, and what makes it", err)
	}

	making := aws.Stores(sdk(endpoint), aws.Create())
	defer making.Close()
	for range 2 { // the second time the tables exist already
		if _, err := sinks.Assemble(t.Context(), cfg, making); err != nil {
			t.Fatal(err)
		}
	}
	about, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if b := about.Table.BillingModeSummary; b == nil || b.BillingMode != types.BillingModePayPerRequest {
		t.Errorf("billed by %+v", b)
	}
	for _, a := range about.Table.AttributeDefinitions {
		if want := map[string]types.ScalarAttributeType{"rank": "N", "item": "S"}[*a.AttributeName]; a.AttributeType != want {
			t.Errorf("%s is of the type %s, want %s", *a.AttributeName, a.AttributeType, want)
		}
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if d := ttl.TimeToLiveDescription; d.AttributeName == nil || *d.AttributeName != "_tw_expires" {
		t.Errorf("the TTL is %+v", d)
	}

	again := aws.Stores(sdk(endpoint))
	defer again.Close()
	if _, err := sinks.Assemble(t.Context(), cfg, again); err != nil {
		t.Errorf("with tables: %v", err)
	}
}
