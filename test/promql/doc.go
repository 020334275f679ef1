// Package promql checks the dashboard of deploy/grafana, the rules of deploy/prometheus and the answer to a scrape. It
// checks them with Prometheus' own parsers and engine, and compares them with the page of metrics. It is a module of
// its own, because Prometheus is large.
package promql
