// Package promql holds the dashboard of deploy/grafana and the rules of deploy/prometheus
// against Prometheus' own parser and engine and the page of metrics. It is a module of its own, as
// Prometheus is large.
package promql
