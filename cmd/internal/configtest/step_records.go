package configtest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
)

// defaultStart is the creation time of a case's first change, unless the case sets another time. It is also the
// creation time in the ARN of a stream that the configuration does not name.
var defaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// recorder makes stream records of the steps of a case.
type recorder struct {
	cfg      *config.Config
	sequence int
	last     time.Time // creation time of the previous change
}

// streamOf returns the stream ARN of a table.
func streamOf(cfg *config.Config, table string) string {
	for _, t := range cfg.Source.Tables {
		if t.Name == table && t.StreamARN != "" {
			return t.StreamARN
		}
	}
	return "arn:aws:dynamodb:eu-central-1:123456789012:table/" + table + "/stream/" +
		defaultStart.Format("2006-01-02T15:04:05.000")
}

// source opens the change or the fixture of a step. The caller must close the source.
func (r *recorder) source(s step) (*replay.Source, error) {
	o := replay.Options{Paths: []string{"-"}, Decoder: sinks.Decoder(r.cfg)}
	if len(r.cfg.Source.Tables) == 1 {
		o.Decoder.StreamARN = streamOf(r.cfg, o.Decoder.Table)
	}
	var records []byte
	switch {
	case s.Fixture == "":
		records = r.record(s)
	case s.firstLine > 0:
		var err error
		if records, err = readLines(s.Fixture, s.firstLine, s.lastLine); err != nil {
			return nil, err
		}
	default:
		o.Paths = []string{s.Fixture}
	}
	o.Stdin = bytes.NewReader(records)
	return replay.Open(o)
}

// record returns a change as a stream record. Each record has the next sequence number. A SNAPSHOT has the number 0,
// which is below all other numbers.
func (r *recorder) record(s step) []byte {
	r.sequence++
	sequence := fmt.Sprintf("1%020d", r.sequence)
	if s.op == record.Snapshot {
		sequence = "0"
	}
	var user, images string
	if s.TTL {
		user = `,"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}`
	}
	if s.Old.Exists() {
		images = `,"OldImage":` + string(s.Old.Bytes())
	}
	if s.New.Exists() {
		images += `,"NewImage":` + string(s.New.Bytes())
	}
	return fmt.Appendf(nil, `{"eventID":"%032x","eventName":%q,"eventVersion":"1.1","eventSource":"aws:dynamodb",`+
		`"eventSourceARN":%s%s,"dynamodb":{"ApproximateCreationDateTime":%s,"Keys":%s%s,"SequenceNumber":%q,`+
		`"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		r.sequence, s.op, item.StringValue(streamOf(r.cfg, s.Table)).AppendJSON(nil), user, r.creationTime(s),
		s.keyValue().Raw(), images, sequence)
}

// creationTime returns the creation time of a step in JSON. It stores this time in last, because the default is one
// second after the previous change.
func (r *recorder) creationTime(s step) string {
	switch {
	case !s.At.IsZero():
		r.last = s.At
	case r.last.IsZero():
		r.last = defaultStart
	default:
		r.last = r.last.Add(time.Second)
	}
	if r.last.Nanosecond() == 0 {
		return strconv.FormatInt(r.last.Unix(), 10)
	}
	return r.last.UTC().Format(`"` + time.RFC3339Nano + `"`)
}

// readLines returns the lines of a file from number first to number last. The first line of the file has number 1.
func readLines(path string, first, last int) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(b))
	if last > len(lines) {
		return nil, fmt.Errorf("%s has %d lines, and no line %d", path, len(lines), last)
	}
	return bytes.Join(lines[first-1:last], nil), nil
}
