package redrive_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// emptyMap is an attribute with an empty value, which only DynamoDB Local sends.
const emptyMap = `"T":{}`

// fillFrom runs a pipeline that fills the sink safe from lines of a snapshot and puts its dead letters into a folder.
func fillFrom(t *testing.T, w *world, folder *dir.Store, o record.SnapshotOptions, lines string) {
	t.Helper()
	backfill := newWorld(t, func(p *pipeline.Options) {
		p.DeadLetters, p.Quarantine = folder, w.marks
		p.Routes = []pipeline.Route{{Name: "safe", Sink: w.safe}}
	})
	page := record.NewSnapshotDecoder(o).DecodeLines([]byte(lines))
	read := false
	src := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if read {
			return nil, io.EOF
		}
		read = true
		return &pipeline.Page{Page: *page, Partition: "items.jsonl", Position: "1"}, nil
	})
	if err := backfill.Run(t.Context(), src, nil); err != nil {
		t.Fatal(err)
	}
}

// Run decodes an undecodable line of a snapshot with the options of its source, and delivers the line only to the sinks
// of its backfill. As long as the line cannot be decoded, its dead letter stays.
func TestRun_UndecodableLineOfASnapshot(t *testing.T) {
	for _, test := range []struct {
		name    string
		options record.SnapshotOptions
		line    string
		want    string // key and layer
	}{
		{name: "item", line: `{"Item":{"PK":{"S":"a"},` + emptyMap + `}}`, want: "a0"},
		{name: "plain item", line: `{"PK":{"S":"a"},` + emptyMap + `}`, want: "a0"},
		{name: "unknown stream", options: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true, Table: "shop"}},
			line: `{"Item":{"PK":{"S":"a"},` + emptyMap + `}}`, want: "a0"},
		{name: "incremental", options: record.SnapshotOptions{Layer: 2},
			line: `{"Metadata":{"WriteTimestampMicros":{"N":"1767323045000000"}},"Keys":{"PK":{"S":"a"}},"OldImage":{"PK":{"S":"a"},` + emptyMap + `}}`, want: "a2"},
		{name: "incremental with new images", options: record.SnapshotOptions{Layer: 2, ViewType: record.NewImage},
			line: `{"Metadata":{"WriteTimestampMicros":{"N":"1767323045000000"}},"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"},` + emptyMap + `}}`, want: "a2"},
		{name: "kinesis", options: record.SnapshotOptions{Kinesis: true, DecoderOptions: record.DecoderOptions{Table: "shop"}},
			line: `{"Item":{"PK":{"S":"a"},` + emptyMap + `}}`, want: "a0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder, err := dir.New(dir.Options{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			w, o := newWorld(t), test.options
			o.Keys = []string{"PK"}
			if !o.EpochZero && !o.Kinesis {
				o.StreamARN = arn
			}
			fillFrom(t, w, folder, o, test.line+"\n")
			run := func(local bool, change func(*redrive.Options)) redrive.Report {
				return w.redrive(t, func(r *redrive.Options) {
					r.Letters, r.Decoder = folder, record.DecoderOptions{EpochZero: true, Table: "shop", DynamoDBLocal: local}
					change(r)
				})
			}
			none := func(*redrive.Options) {}
			report := run(false, none)
			if report.Undecodable != 1 || len(report.Failures) != 1 || !strings.Contains(report.Failures[0].Error, "a line of the backfill's source items.jsonl: ") {
				t.Fatalf("as it was read, the line is %+v", report)
			}
			if report := run(true, func(r *redrive.Options) { r.Sink = "free" }); report.Decoded != 0 || report.Undecodable != 0 {
				t.Errorf("for a sink that the backfill does not fill: %+v", report)
			}
			if report := run(true, none); report.Left() != 0 || report.Decoded != 1 {
				t.Errorf("once it can be decoded: %+v", report)
			}
			if got := w.free.take() + "|" + w.safe.take(); got != "|"+test.want {
				t.Errorf("the sinks got %q, want |%s", got, test.want)
			}
			for l := range folder.Read(t.Context()) {
				t.Errorf("the letter %s stays", deadletter.ID(&l))
			}
		})
	}
}

// If the sink of an undecodable line no longer exists, the dead letter stays, and the report says why. The dead letter
// can be moved to another sink.
func TestRun_UndecodableLineOfASinkThatIsGone(t *testing.T) {
	folder, err := dir.New(dir.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	w := newWorld(t)
	fillFrom(t, w, folder, record.SnapshotOptions{DecoderOptions: record.DecoderOptions{StreamARN: arn}, Keys: []string{"PK"}}, `{"Item":{"PK":{"S":"a"},`+emptyMap+"}}\n")
	renamed := &sink{guarded: true, keepsOrder: true}
	after := newWorld(t, func(o *pipeline.Options) { o.Routes[1] = pipeline.Route{Name: "renamed", Sink: renamed} })
	after.marks = w.marks
	local := func(o *redrive.Options) { o.Letters, o.Decoder.DynamoDBLocal = folder, true }
	report := after.redrive(t, local)
	if report.Left() == 0 || !strings.Contains(report.Failures[0].Error, "its backfill filled safe, which the pipeline has no more") {
		t.Errorf("without its sink: %+v", report)
	}
	report = after.redrive(t, local, func(o *redrive.Options) { o.Sink, o.To = "safe", "renamed" })
	if got := renamed.take(); report.Left() != 0 || got != "a0" || after.free.take() != "" {
		t.Errorf("moved to the new name: %q, %+v", got, report)
	}
}
