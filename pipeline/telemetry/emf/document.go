package emf

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The limits of a document, of the specification of the embedded metric format.
const (
	maxMetrics = 100 // of a document
	maxValues  = 100 // of a metric
)

// envelope is what tells CloudWatch which members of a document are metrics.
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

// documents are the lines, each with its end.
func (b *board) documents() [][]byte {
	var lines [][]byte
	for _, place := range b.order {
		s := b.at[place]
		names := slices.DeleteFunc(slices.Clone(s.order), func(name string) bool { return !s.cells[name].set })
		for some := range slices.Chunk(names, maxMetrics) {
			lines = append(lines, s.document(place, some))
		}
	}
	return lines
}

func (s *sheet) document(at place, names []string) []byte {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{pipelineKey}}}
	if at.sink != "" {
		d.Dimensions[0] = append(d.Dimensions[0], sinkKey)
	}
	for _, name := range names {
		d.Metrics = append(d.Metrics, metric{name, unitOf(s.cells[name].unit)})
	}
	if s.time.IsZero() {
		s.time = time.Now()
	}
	line := append([]byte(`{"_aws":`), text(envelope{s.time.UnixMilli(), []directive{d}})...)
	line = member(line, pipelineKey, at.pipeline)
	if at.sink != "" {
		line = member(line, sinkKey, at.sink)
	}
	for _, name := range names {
		if c := s.cells[name]; c.spots != nil {
			line = member(line, name, c.spots.histogram())
		} else {
			line = member(line, name, c.value)
		}
	}
	return append(line, '}', '\n')
}

func member(line []byte, name string, value any) []byte {
	line = append(append(line, ','), text(name)...)
	return append(append(line, ':'), text(value)...)
}

// text is JSON of what always has one: texts, finite numbers, and structs of them.
func text(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

// unitOf is CloudWatch's name of a unit; it has none of hours and dollars.
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
