// Package prometheus serves metrics in Prometheus' text format, version 0.0.4. Prometheus reads them at each scrape.
//
// Prometheus' OTLP receiver makes the same names and labels from the same metrics, so dashboards and alerts fit both
// ways of collecting. In a name, dots become underscores, the unit follows, and then _total on counters. The resource
// becomes the series target_info. The tests in test/promql read the output with Prometheus' parser.
//
// This package does not use OpenTelemetry's own exporter. That exporter links Prometheus' client with its registry and
// its collectors of the process: eight modules for one page of text.
//
// The format: https://prometheus.io/docs/instrumenting/exposition_formats/. The names:
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/.
package prometheus

import (
	"bytes"
	"net/http"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ContentType is the content type of the answer to a scrape.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Exporter collects metrics at each scrape. It is both a reader for a meter provider and the HTTP handler of the
// scrapes. It is safe for concurrent use.
type Exporter struct{ *sdkmetric.ManualReader }

var (
	_ sdkmetric.Reader = (*Exporter)(nil)
	_ http.Handler     = (*Exporter)(nil)
)

// New returns an Exporter. Pass it to one meter provider.
func New() *Exporter { return &Exporter{sdkmetric.NewManualReader()} }

// ServeHTTP writes all metrics. It answers with status 500 if it cannot collect any metric. This happens before a meter
// provider has the Exporter, and after the meter provider is shut down. If a callback fails, only the metrics of this
// callback are missing.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var rm metricdata.ResourceMetrics
	if err := e.Collect(r.Context(), &rm); err != nil && len(rm.ScopeMetrics) == 0 {
		http.Error(w, "there are no metrics: OTEL_SDK_DISABLED is true, or the pipeline has stopped",
			http.StatusInternalServerError)
		return
	}
	var page bytes.Buffer
	Write(&page, &rm)
	w.Header().Set("Content-Type", ContentType)
	_, _ = w.Write(page.Bytes()) // Write fails only if the client is gone
}
