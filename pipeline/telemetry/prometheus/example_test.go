package prometheus_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/tablewake/tablewake/pipeline/telemetry/prometheus"
)

// The exporter is both a reader of a meter provider and an HTTP handler for scrapes.
func Example() {
	exporter := prometheus.New()
	service := resource.NewSchemaless(attribute.String("service.name", "shop"))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(service))
	letters, err := provider.Meter("example").Int64Counter("tablewake.sink.letters", metric.WithDescription("Dead letters."))
	if err != nil {
		log.Fatal(err)
	}
	letters.Add(context.Background(), 2, metric.WithAttributes(attribute.String("pipeline", "shop"), attribute.String("sink", "crm")))

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", exporter)
	answer := httptest.NewRecorder() // stands in for a scrape by Prometheus
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	fmt.Println(answer.Code)
	fmt.Print(answer.Body)
	// Output:
	// 200
	// # HELP tablewake_sink_letters_total Dead letters.
	// # TYPE tablewake_sink_letters_total counter
	// tablewake_sink_letters_total{pipeline="shop",sink="crm"} 2
	// # HELP target_info the resource of the metrics
	// # TYPE target_info gauge
	// target_info{service_name="shop"} 1
}
