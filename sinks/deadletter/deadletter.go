// Package deadletter is the form in which changes that could not be delivered
// are kept: whole, one JSON object a line, so that redriving a letter needs
// nothing else.
package deadletter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// line is a letter as JSON. The record stands in Record where it is JSON, without
// insignificant white space, and in Base64 where it is not.
type line struct {
	ID        string          `json:"id"`
	Pipeline  string          `json:"pipeline,omitempty"`
	Sink      string          `json:"sink,omitempty"`
	Class     string          `json:"class"`
	Error     string          `json:"error"`
	Key       string          `json:"key,omitempty"`
	Version   string          `json:"version,omitempty"`
	Sequence  string          `json:"sequence,omitempty"`
	StreamARN string          `json:"stream_arn,omitempty"`
	Table     string          `json:"table,omitempty"`
	Partition string          `json:"partition,omitempty"`
	Index     int             `json:"index"`
	Time      time.Time       `json:"time"`
	Record    json.RawMessage `json:"record,omitempty"`
	Base64    []byte          `json:"record_base64,omitempty"`
}

// ID names what could not be delivered, and where to: the sink with the item's
// key and the change's version, and where these are not known the place of the
// record. Of a record that could not be decoded its bytes count too: what it says
// of itself may be what is wrong. The same letter of two runs has one ID. It is 32
// hex digits.
func ID(l *pipeline.DeadLetter) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s,", len(s), s) }
	part(l.Sink)
	part(string(l.Key))
	part(version(l.Version))
	if l.Key == "" || l.Version.IsZero() {
		part(l.Partition)
		part(strconv.Itoa(l.Index))
		part(l.Sequence)
	}
	if l.Sink == "" || l.Key == "" || l.Version.IsZero() {
		raw, _ := compact(l.Raw) // what Parse brings back has the same ID
		part(string(raw))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// compact is a record as a letter holds it: without insignificant white space where
// it is JSON, else as it is.
func compact(raw []byte) (record []byte, isJSON bool) {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return raw, false
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw, false
	}
	return b.Bytes(), true
}

// Append appends l to dst as one JSON object on one line, without a newline.
func Append(dst []byte, l *pipeline.DeadLetter) ([]byte, error) {
	out := line{
		ID: ID(l), Pipeline: l.Pipeline, Sink: l.Sink, Class: l.Class, Error: l.Error,
		Key: string(l.Key), Version: version(l.Version), Sequence: l.Sequence,
		StreamARN: l.StreamARN, Table: l.Table, Partition: l.Partition, Index: l.Index, Time: l.Time.UTC(),
	}
	if record, isJSON := compact(l.Raw); isJSON {
		out.Record = record
	} else {
		out.Base64 = record
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}

// Parse reads what Append wrote, and its ID. The letter owns its bytes.
func Parse(b []byte) (pipeline.DeadLetter, string, error) {
	var in line
	if err := json.Unmarshal(b, &in); err != nil {
		return pipeline.DeadLetter{}, "", fmt.Errorf("deadletter: not a letter: %w", err)
	}
	if in.ID == "" || in.Class == "" {
		return pipeline.DeadLetter{}, "", errs.New("deadletter: not a letter: it has no id or no class")
	}
	l := pipeline.DeadLetter{
		Pipeline: in.Pipeline, Sink: in.Sink, Class: in.Class, Error: in.Error,
		Key: item.Key(in.Key), Sequence: in.Sequence,
		StreamARN: in.StreamARN, Table: in.Table, Partition: in.Partition, Index: in.Index, Time: in.Time,
		Raw: in.Record,
	}
	if l.Raw == nil {
		l.Raw = in.Base64
	}
	if in.Version != "" {
		v, err := record.ParseVersion(in.Version)
		if err != nil {
			return pipeline.DeadLetter{}, "", fmt.Errorf("deadletter: letter %s: %w", in.ID, err)
		}
		l.Version = v
	}
	return l, in.ID, nil
}

// version is v as text, "" where there is none.
func version(v record.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}
