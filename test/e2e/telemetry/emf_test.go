package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/server"
)

// With `metrics: emf`, a consumer of real tables writes only documents to standard output, one on each line. Their sums
// are the work that was done, with the capacity that the tables report for writes. The summary is on standard error.
func TestEMF_Consume(t *testing.T) {
	const items = 25
	api := streamtest.New(streamtest.Options{})
	api.AddStream("orders")
	orders := api.Table("orders", "PK")
	for i := range items {
		if _, err := orders.Put(fmt.Sprintf(`{"PK":{"S":"canary#%d"},"Status":{"S":"canary"}}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	streams := httptest.NewServer(api)
	defer streams.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "tablewake.yaml")
	table := fmt.Sprintf("emf-%d", time.Now().UnixNano())
	t.Cleanup(func() { drop(t, table, table+"-state") })
	if err := os.WriteFile(config, []byte(`
version: 1
name: orders
source: {table: orders, polling: {max_idle: 250ms}}
state: {table: `+table+`-state}
leases: {file: `+filepath.Join(dir, "leases")+`}
metrics: emf
sinks:
  rows: {view: {table: `+table+`, key: {PK: 'S#{Status}', SK: '{@key}'}}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), built(t, "./cmd/tablewake"), "consume", "-c", config, "--live", "--create", "--exit-when-idle", "1s", "--health", "off")
	cmd.Env = append(os.Environ(), "OTEL_METRIC_EXPORT_INTERVAL=300", "AWS_ENDPOINT_URL_DYNAMODB="+server.DynamoDB().Endpoint(t),
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+streams.URL, "AWS_ENDPOINT_URL_STS="+streams.URL,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID="+server.AccessKey, "AWS_SECRET_ACCESS_KEY="+server.SecretKey)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	if !strings.Contains(log.String(), "telemetry: metrics as EMF") || !strings.Contains(log.String(), fmt.Sprintf("read %d = routed %d", items, items)) {
		t.Errorf("on standard error there is no summary, or not where metrics go: %s", &log)
	}
	sums := map[string]float64{}
	for line := range bytes.Lines(out.Bytes()) {
		var doc map[string]any
		if err := json.Unmarshal(line, &doc); err != nil || doc["_aws"] == nil || doc["pipeline"] != "orders" {
			t.Fatalf("this is no document of the pipeline: %s", line)
		}
		at := ""
		if sink, ok := doc["sink"].(string); ok {
			at = " " + sink
		}
		for name, v := range doc {
			if n, ok := v.(float64); ok {
				sums[name+at] += n
			}
		}
	}
	for name, want := range map[string]float64{
		"tablewake.source.records": items, "tablewake.reader.records": items,
		"tablewake.sink.deliveries": items, "tablewake.sink.deliveries rows": items,
	} {
		if sums[name] != want {
			t.Errorf("the documents add up to %v %s, want %v", sums[name], name, want)
		}
	}
	// Each item needs a row and a guard, which have 1 KB at most.
	if units, dollars := sums["tablewake.aws.units"], sums["tablewake.aws.cost"]; units < items || dollars < items*0.625e-6 {
		t.Errorf("%d rows took %v units and $%v", items, units, dollars)
	}
	if strings.Contains(out.String(), "canary") {
		t.Error("a document shows something of an item")
	}
}

// drop deletes tables.
func drop(t *testing.T, tables ...string) {
	t.Helper()
	client := dynamodb.NewFromConfig(aws.Config{
		Region: server.Region, BaseEndpoint: aws.String(os.Getenv(server.DynamoDB().Env)),
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	for _, table := range tables {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	}
}
