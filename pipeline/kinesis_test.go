package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// Fact 33: order is by ApproximateCreationDateTime.
func TestFact33_KinesisRecords(t *testing.T) {
	document := `{"Records":[` + kinesisEvent(microsecondRecord) + `]}`
	c := one(t, pipeline.DecoderOptions{}, document)
	if c.Op != pipeline.Insert || c.Key != "Acme" || c.Sequence != kinesisSequence || c.EventID != "8d4a4f21-0d3f-4b1b-9d4c-0f3d6f0b8a11" ||
		c.Table != "Music" || c.StreamARN != kinesisARN || c.Region != "us-east-1" || c.Shard != "shardId-000000000006" || c.SizeBytes != 59 {
		t.Errorf("%+v", c)
	}
	if want := time.Date(2026, 11, 21, 9, 1, 0, 123456000, time.UTC); c.Time != want {
		t.Errorf("time %v", c.Time)
	}
	if got := c.Version.String(); !c.Version.Kinesis() || got != "k1795251660123456"+"0000"+kinesisSequence {
		t.Errorf("version %s", got)
	}
	if v, ok := c.New.Lookup("Year"); !ok || v.String() != `{"N":"1999"}` {
		t.Errorf("%v", v)
	}
	if string(c.Raw) != kinesisEvent(microsecondRecord) {
		t.Errorf("raw %s", c.Raw)
	}
	if d := c.Clone(); !d.New.Equal(c.New) || d.Version != c.Version || d.Sequence != c.Sequence {
		t.Errorf("clone %+v", d)
	}
	later := one(t, pipeline.DecoderOptions{}, kinesisEvent(with(microsecondRecord, "660123456", "660123457")))
	if later.Version.Compare(c.Version) <= 0 || later.Version.String() <= c.Version.String() {
		t.Error("a later creation time does not win")
	}
}

func TestKinesisTakesMicrosecondsOnly(t *testing.T) {
	for _, data := range []string{
		with(microsecondRecord, "1795251660123456", "1795251660123"),
		with(with(microsecondRecord, "1795251660123456", "1795251660123"), `"ApproximateCreationDateTimePrecision":"MICROSECOND",`, ``),
		with(microsecondRecord, `"MICROSECOND"`, `"MILLISECOND"`),
	} {
		e := refused(t, pipeline.DecoderOptions{}, kinesisEvent(data))
		if e.Path != "kinesis.data.dynamodb.ApproximateCreationDateTime" || !strings.Contains(e.Error(), "MICROSECOND") || e.Key != "Acme" || e.Sequence != kinesisSequence {
			t.Errorf("%+v", e)
		}
	}
}

func TestUnsoundKinesisRecords(t *testing.T) {
	for _, tt := range []struct{ name, record, path, err string }{
		{"no sequence number", with(kinesisEvent(microsecondRecord), `"sequenceNumber":"`+kinesisSequence+`",`, ``), "kinesis.sequenceNumber", "is missing"},
		{"sequence number of letters", with(kinesisEvent(microsecondRecord), `"sequenceNumber":"4`, `"sequenceNumber":"x`), "kinesis.sequenceNumber", "60 digits"},
		{"no data", `{"kinesis":{"sequenceNumber":"1"}}`, "kinesis.data", "is missing"},
		{"data no base64", `{"kinesis":{"sequenceNumber":"1","data":"-"}}`, "kinesis.data", "base64"},
		{"data no JSON", kinesisEvent("hello"), "kinesis.data", "want a record"},
		{"data cut", kinesisEvent(microsecondRecord[:len(microsecondRecord)-20]), "kinesis.data", "too early"},
		{"data twice", kinesisEvent(microsecondRecord + microsecondRecord), "kinesis.data", "follows"},
		{"no keys", kinesisEvent(with(microsecondRecord, `"Keys":{"Artist":{"S":"Acme"}},`, ``)), "kinesis.data.dynamodb.Keys", "is missing"},
		{"empty key", kinesisEvent(with(microsecondRecord, `"Keys":{"Artist":{"S":"Acme"}}`, `"Keys":{"Artist":{"S":""}}`)), "kinesis.data.dynamodb.Keys.Artist", "empty"},
		{"no operation", kinesisEvent(with(microsecondRecord, `"eventName":"INSERT",`, ``)), "kinesis.data.eventName", "is missing"},
		{"no dynamodb", kinesisEvent(`{"eventName":"INSERT"}`), "kinesis.data.dynamodb", "is missing"},
		{"no new image", kinesisEvent(with(microsecondRecord, `"NewImage"`, `"Image"`)), "kinesis.data.dynamodb.NewImage", "is missing"},
		{"unsound attribute", kinesisEvent(with(microsecondRecord, `"1999"`, `"MCMXCIX"`)), "kinesis.data.dynamodb.NewImage.Year", "not a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := refused(t, pipeline.DecoderOptions{}, tt.record)
			if e.Path != tt.path || !strings.Contains(e.Err.Error(), tt.err) || string(e.Raw) != tt.record {
				t.Errorf("got %v, want %q at %s", e, tt.err, tt.path)
			}
		})
	}
}
