// Package promql holds the dashboard of deploy/grafana, the rules of deploy/prometheus and the answer to a scrape
// against Prometheus' own parsers and engine and the page of metrics. It is a module of its own, as
// Prometheus is large.
package promql
