package emf_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"regexp"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/tablewake/tablewake/pipeline/telemetry/emf"
)

// A meter provider exports its metrics as documents that CloudWatch reads from the log. A Lambda function writes them
// to os.Stdout.
func Example() {
	ctx := context.Background()
	var out bytes.Buffer
	exporter, err := emf.New(emf.Options{Writer: &out, Pipeline: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	letters, err := provider.Meter("example").Int64Counter("tablewake.sink.letters", metric.WithUnit("{delivery}"))
	if err != nil {
		log.Fatal(err)
	}
	letters.Add(ctx, 2, metric.WithAttributes(attribute.String("pipeline", "shop"), attribute.String("sink", "crm")))
	if err := provider.Shutdown(ctx); err != nil { // exports the added values
		log.Fatal(err)
	}
	fmt.Print(regexp.MustCompile(`"Timestamp":\d+`).ReplaceAllString(out.String(), `"Timestamp":0`))
	// Output:
	// {"_aws":{"Timestamp":0,"CloudWatchMetrics":[{"Namespace":"tablewake","Dimensions":[["pipeline"]],"Metrics":[{"Name":"tablewake.sink.letters","Unit":"Count"}]}]},"pipeline":"shop","tablewake.sink.letters":2}
	// {"_aws":{"Timestamp":0,"CloudWatchMetrics":[{"Namespace":"tablewake","Dimensions":[["pipeline","sink"]],"Metrics":[{"Name":"tablewake.sink.letters","Unit":"Count"}]}]},"pipeline":"shop","sink":"crm","tablewake.sink.letters":2}
}
