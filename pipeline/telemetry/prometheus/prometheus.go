// Package prometheus serves metrics in Prometheus' text form, version 0.0.4, for a scrape.
//
// Names and labels are those that Prometheus' OTLP receiver makes of the same metrics: dots become underscores, then
// the unit follows, then _total on counters. So dashboards and alerts fit both ways of collecting. The resource is the
// series target_info. OpenTelemetry's own exporter is not used: it links Prometheus' client with its registry and its
// collectors of the process, eight modules for one page of text. Prometheus' parser reads the output in test/promql.
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

// Exporter collects metrics at each scrape. It is a reader for a meter provider and the handler of the scrapes. It is
// safe for concurrent use.
type Exporter struct{ *sdkmetric.ManualReader }

var (
	_ sdkmetric.Reader = (*Exporter)(nil)
	_ http.Handler     = (*Exporter)(nil)
)

// New returns an Exporter. Pass it to one meter provider.
func New() *Exporter { return &Exporter{sdkmetric.NewManualReader()} }

// ServeHTTP writes all metrics. It answers 500 if nothing can be collected: before a meter provider has the Exporter,
// and after that is shut down. A callback that fails leaves out only its own metrics.
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
	_, _ = w.Write(page.Bytes()) // it fails only if the client is gone
}
