package telemetry

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// The metrics of a consumer arrive at a collector: the records that it read, their cost, and its pipeline.
func TestCollector_Consume(t *testing.T) {
	const items = 40
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
	endpoint, _, file := collector(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "tablewake.yaml")
	if err := os.WriteFile(config, []byte(`
version: 1
name: orders
source: {table: orders, polling: {max_idle: 250ms}}
leases: {file: `+filepath.Join(dir, "leases")+`}
metrics: otlp
sinks:
  rows: {view: {table: rows, key: {PK: 'S#{Status}', SK: '{@key}'}}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), built(t, "./cmd/tablewake"), "consume", "-c", config, "--local", filepath.Join(dir, "out"), "--exit-when-idle", "1s", "--health", "off")
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_METRIC_EXPORT_INTERVAL=300",
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+streams.URL, "AWS_ENDPOINT_URL_STS="+streams.URL,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := read(t, file)
	for _, want := range []struct {
		name  string
		value float64
		attrs []string
	}{
		{"tablewake.reader.records", items, []string{"table=orders"}},
		{"tablewake.sink.deliveries", items, []string{"sink=rows", "outcome=written"}},
		{"tablewake.reader.leases", 1, []string{"table=orders"}},
		{"tablewake.reader.contact", 1, nil},
		{"tablewake.reader.loss", 24, []string{"table=orders"}},
	} {
		if v, there := got.total(want.name, append(want.attrs, "pipeline=orders")...); !there || v != want.value {
			t.Errorf("%s is %v (there: %v), want %v", want.name, v, there, want.value)
		}
	}
	calls, _ := got.total("tablewake.aws.requests", "pipeline=orders", "service=dynamodbstreams", "operation=GetRecords", "outcome=ok")
	units, _ := got.total("tablewake.aws.units", "pipeline=orders", "service=dynamodbstreams", "unit=read")
	dollars, _ := got.total("tablewake.aws.cost", "pipeline=orders", "service=dynamodbstreams")
	if calls == 0 || units != calls || dollars <= 0 {
		t.Errorf("%v calls are %v units and $%v", calls, units, dollars)
	}
	for _, s := range got.spans {
		if s.Name == "DynamoDB Streams.GetRecords" {
			t.Fatal("a shard that is polled is a trace each time")
		}
	}
	if bytes.Contains(got.raw, []byte("canary")) {
		t.Error("the collector received something of an item")
	}
}
