package emf

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The limits in the specification of the embedded metric format.
const (
	maxMetrics = 100 // maximum number of metrics of a document
	maxValues  = 100 // maximum number of values of a metric
)

// envelope names the members of a document that are metrics.
type envelope struct {
	Timestamp         int64       `json:"Timestamp"` // Unix, ms
	CloudWatchMetrics []directive `json:"CloudWatchMetrics"`
}

type directive struct {
	Namespace  string     `json:"Namespace"`
	Dimensions [][]string `json:"Dimensions"`
	Metrics    []metric   `json:"Metrics"`
}

type metric struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

// lines returns the documents. Each is one line and ends with a newline.
func (e *export) lines() [][]byte {
	var lines [][]byte
	for _, dims := range e.order {
		doc := e.documents[dims]
		isUnset := func(name string) bool { return !doc.values[name].set }
		names := slices.DeleteFunc(slices.Clone(doc.order), isUnset)
		for lineNames := range slices.Chunk(names, maxMetrics) {
			lines = append(lines, doc.line(dims, lineNames))
		}
	}
	return lines
}

// line returns the document of the metrics with these names.
func (doc *document) line(dims dimensions, names []string) []byte {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{pipelineKey}}}
	if dims.sink != "" {
		d.Dimensions[0] = append(d.Dimensions[0], sinkKey)
	}
	for _, name := range names {
		d.Metrics = append(d.Metrics, metric{name, unitOf(doc.values[name].unit)})
	}
	if doc.time.IsZero() {
		doc.time = time.Now()
	}
	line := append([]byte(`{"_aws":`), mustJSON(envelope{doc.time.UnixMilli(), []directive{d}})...)
	line = appendMember(line, pipelineKey, dims.pipeline)
	if dims.sink != "" {
		line = appendMember(line, sinkKey, dims.sink)
	}
	for _, name := range names {
		if v := doc.values[name]; v.buckets != nil {
			line = appendMember(line, name, v.buckets.histogram())
		} else {
			line = appendMember(line, name, v.value)
		}
	}
	return append(line, '}', '\n')
}

func appendMember(line []byte, name string, value any) []byte {
	line = append(append(line, ','), mustJSON(name)...)
	return append(append(line, ':'), mustJSON(value)...)
}

// mustJSON returns the JSON of v. v is a text, a finite number or a struct of them, for which Marshal cannot fail.
func mustJSON(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

// unitOf returns CloudWatch's name of a unit. It returns "None" for hours and dollars, because CloudWatch has no such
// unit.
func unitOf(unit string) string {
	switch unit {
	case "s":
		return "Seconds"
	case "ms":
		return "Milliseconds"
	case "By":
		return "Bytes"
	}
	if strings.HasPrefix(unit, "{") && unit != "{USD}" {
		return "Count"
	}
	return "None"
}
