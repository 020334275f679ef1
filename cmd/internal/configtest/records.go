package configtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
)

// begin is the creation time of a case's first change. It is also the creation time of the streams that the
// configuration does not name.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// recorder makes stream records of the steps of a case.
type recorder struct {
	cfg      *config.Config
	sequence int
	last     time.Time // creation time of the previous change
}

// decoderOptions returns the options to decode records, the same as for a replay.
func decoderOptions(cfg *config.Config) record.DecoderOptions {
	d := sinks.Decoder(cfg)
	if len(cfg.Source.Tables) == 1 {
		d.StreamARN = streamOf(cfg, d.Table)
	}
	return d
}

// streamOf returns the stream ARN of a table.
func streamOf(cfg *config.Config, table string) string {
	for _, t := range cfg.Source.Tables {
		if t.Name == table && t.StreamARN != "" {
			return t.StreamARN
		}
	}
	return "arn:aws:dynamodb:eu-central-1:123456789012:table/" + table + "/stream/" +
		begin.Format("2006-01-02T15:04:05.000")
}

// source returns a source of the changes of a step, and its Close function.
func (r *recorder) source(s step) (pipeline.Source, func(), error) {
	if s.Fixture != "" {
		return fixtureSource(r.cfg, s)
	}
	b := r.record(s)
	return pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if b == nil {
			return nil, io.EOF
		}
		decoded, err := record.NewDecoder(decoderOptions(r.cfg)).Decode(b)
		b = nil
		position := pipeline.Position(strconv.Itoa(r.sequence))
		return &pipeline.Page{Page: *decoded, Partition: replay.Partition, Position: position}, err
	}), func() {}, nil
}

// record returns a change as a stream record. Each record has the next sequence number. A SNAPSHOT has the number 0,
// which is below all other numbers.
func (r *recorder) record(c step) []byte {
	r.sequence++
	sequence := fmt.Sprintf("1%020d", r.sequence)
	if c.op == record.Snapshot {
		sequence = "0"
	}
	switch {
	case !c.At.IsZero():
		r.last = c.At
	case r.last.IsZero():
		r.last = begin
	default:
		r.last = r.last.Add(time.Second)
	}
	at := strconv.FormatInt(r.last.Unix(), 10)
	if r.last.Nanosecond() != 0 {
		at = jsonText(r.last.UTC().Format(time.RFC3339Nano))
	}
	var user, images string
	if c.TTL {
		user = `,"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}`
	}
	if c.Old.kind != item.Absent {
		images = `,"OldImage":` + c.Old.itemJSON()
	}
	if c.New.kind != item.Absent {
		images += `,"NewImage":` + c.New.itemJSON()
	}
	return fmt.Appendf(nil, `{"eventID":"%032x","eventName":%q,"eventVersion":"1.1","eventSource":"aws:dynamodb",`+
		`"eventSourceARN":%s%s,"dynamodb":{"ApproximateCreationDateTime":%s,"Keys":%s%s,"SequenceNumber":%q,`+
		`"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		r.sequence, c.op, jsonText(streamOf(r.cfg, c.Table)), user, at, c.keys.itemJSON(), images, sequence)
}

// fixtureSource reads the saved records of a file or folder, or some lines of a JSON lines file.
func fixtureSource(cfg *config.Config, s step) (pipeline.Source, func(), error) {
	o := replay.Options{Paths: []string{s.Fixture}, Decoder: decoderOptions(cfg)}
	if s.firstLine > 0 {
		b, err := os.ReadFile(s.Fixture)
		if err != nil {
			return nil, nil, err
		}
		lines := bytes.SplitAfter(b, []byte("\n"))
		if len(lines[len(lines)-1]) == 0 {
			lines = lines[:len(lines)-1]
		}
		if s.lastLine > len(lines) {
			return nil, nil, fmt.Errorf("%s has %d lines, and no line %d", s.Fixture, len(lines), s.lastLine)
		}
		o.Paths, o.Stdin = []string{"-"}, bytes.NewReader(bytes.Join(lines[s.firstLine-1:s.lastLine], nil))
	}
	src, err := replay.Open(o)
	if err != nil {
		return nil, nil, err
	}
	return src, func() { _ = src.Close() }, nil
}
