package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Fact 33: Kinesis records are ordered by ApproximateCreationDateTime.
func TestFact33_KinesisRecords(t *testing.T) {
	document := `{"Records":[` + pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord) + `]}`
	c := one(t, record.DecoderOptions{}, document)
	if c.Op != record.Insert || c.Key != "Acme" || c.Sequence != pipelinetest.KinesisSequence || c.EventID != "8d4a4f21-0d3f-4b1b-9d4c-0f3d6f0b8a11" ||
		c.Table != "Music" || c.StreamARN != pipelinetest.KinesisARN || c.Region != "us-east-1" || c.Shard != "shardId-000000000006" || c.SizeBytes != 59 {
		t.Errorf("%+v", c)
	}
	if want := time.Date(2026, 11, 21, 9, 1, 0, 123456000, time.UTC); c.Time != want {
		t.Errorf("time %v", c.Time)
	}
	if got := c.Version.String(); !c.Version.Kinesis() || got != "k1795251660123456"+"0000"+pipelinetest.KinesisSequence {
		t.Errorf("version %s", got)
	}
	if v, ok := c.New.Lookup("Year"); !ok || v.String() != `{"N":"1999"}` {
		t.Errorf("%v", v)
	}
	if string(c.Raw) != pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord) {
		t.Errorf("raw %s", c.Raw)
	}
	if d := c.Clone(); !d.New.Equal(c.New) || d.Version != c.Version || d.Sequence != c.Sequence {
		t.Errorf("clone %+v", d)
	}
	later := one(t, record.DecoderOptions{}, pipelinetest.KinesisEvent(pipelinetest.With(pipelinetest.MicrosecondRecord, "660123456", "660123457")))
	if later.Version.Compare(c.Version) <= 0 || later.Version.String() <= c.Version.String() {
		t.Error("a later creation time does not win")
	}
}

func TestKinesisTakesMicrosecondsOnly(t *testing.T) {
	for _, data := range []string{
		pipelinetest.With(pipelinetest.MicrosecondRecord, "1795251660123456", "1795251660123"),
		pipelinetest.With(pipelinetest.With(pipelinetest.MicrosecondRecord, "1795251660123456", "1795251660123"), `"ApproximateCreationDateTimePrecision":"MICROSECOND",`, ``),
		pipelinetest.With(pipelinetest.MicrosecondRecord, `"MICROSECOND"`, `"MILLISECOND"`),
	} {
		e := refused(t, record.DecoderOptions{}, pipelinetest.KinesisEvent(data))
		if e.Path != "kinesis.data.dynamodb.ApproximateCreationDateTime" || !strings.Contains(e.Error(), "MICROSECOND") || e.Key != "Acme" || e.Sequence != pipelinetest.KinesisSequence {
			t.Errorf("%+v", e)
		}
	}
}

func TestUnsoundKinesisRecords(t *testing.T) {
	for _, tt := range []struct{ name, record, path, err string }{
		{"no sequence number", pipelinetest.With(pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord), `"sequenceNumber":"`+pipelinetest.KinesisSequence+`",`, ``), "kinesis.sequenceNumber", "is missing"},
		{"sequence number of letters", pipelinetest.With(pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord), `"sequenceNumber":"4`, `"sequenceNumber":"x`), "kinesis.sequenceNumber", "60 digits"},
		{"no data", `{"kinesis":{"sequenceNumber":"1"}}`, "kinesis.data", "is missing"},
		{"data no base64", `{"kinesis":{"sequenceNumber":"1","data":"-"}}`, "kinesis.data", "base64"},
		{"data no JSON", pipelinetest.KinesisEvent("hello"), "kinesis.data", "want a record"},
		{"data cut", pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord[:len(pipelinetest.MicrosecondRecord)-20]), "kinesis.data", "too early"},
		{"data twice", pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord + pipelinetest.MicrosecondRecord), "kinesis.data", "follows"},
		{"no keys", pipelinetest.KinesisEvent(pipelinetest.With(pipelinetest.MicrosecondRecord, `"Keys":{"Artist":{"S":"Acme"}},`, ``)), "kinesis.data.dynamodb.Keys", "is missing"},
		{"empty key", pipelinetest.KinesisEvent(pipelinetest.With(pipelinetest.MicrosecondRecord, `"Keys":{"Artist":{"S":"Acme"}}`, `"Keys":{"Artist":{"S":""}}`)), "kinesis.data.dynamodb.Keys.Artist", "empty"},
		{"no operation", pipelinetest.KinesisEvent(pipelinetest.With(pipelinetest.MicrosecondRecord, `"eventName":"INSERT",`, ``)), "kinesis.data.eventName", "is missing"},
		{"no dynamodb", pipelinetest.KinesisEvent(`{"eventName":"INSERT"}`), "kinesis.data.dynamodb", "is missing"},
		{"no new image", pipelinetest.KinesisEvent(pipelinetest.With(pipelinetest.MicrosecondRecord, `"NewImage"`, `"Image"`)), "kinesis.data.dynamodb.NewImage", "is missing"},
		{"unsound attribute", pipelinetest.KinesisEvent(pipelinetest.With(pipelinetest.MicrosecondRecord, `"1999"`, `"MCMXCIX"`)), "kinesis.data.dynamodb.NewImage.Year", "not a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := refused(t, record.DecoderOptions{}, tt.record)
			if e.Path != tt.path || !strings.Contains(e.Err.Error(), tt.err) || string(e.Raw) != tt.record {
				t.Errorf("got %v, want %q at %s", e, tt.err, tt.path)
			}
		})
	}
}
