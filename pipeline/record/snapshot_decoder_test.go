package record_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
)

const (
	itemText   = `{"PK":{"S":"USER#1"},"Email":{"S":"a@example.com"},"SK":{"N":"7.0"}}`
	exportLine = `{"Item":` + itemText + `}`
	keysText   = `{"PK":{"S":"USER#1"},"SK":{"N":"7"}}`
	modifyLine = `{"Metadata":{"WriteTimestampMicros":{"N":"1795251660123456"}},"Keys":` + keysText + `,"NewImage":` + itemText +
		`,"OldImage":{"PK":{"S":"USER#1"},"SK":{"N":"7"}}}`
	insertLine = `{"Metadata":{"WriteTimestampMicros":{"N":"1795251660123456"}},"Keys":` + keysText + `,"NewImage":` + itemText + `}`
	removeLine = `{"Metadata":{"WriteTimestampMicros":{"N":"1795251660123456"}},"Keys":` + keysText + `,"OldImage":` + itemText + `}`
	goneLine   = `{"Metadata":{"WriteTimestampMicros":{"N":"1795251660123456"}},"Keys":` + keysText + `}`
)

// snapshotOptions returns the usual options.
func snapshotOptions(layer int) record.SnapshotOptions {
	return record.SnapshotOptions{DecoderOptions: record.DecoderOptions{StreamARN: pipelinetest.StreamARN}, Keys: []string{"PK", "SK"}, Layer: layer}
}

// line decodes one valid line.
func line(t testing.TB, o record.SnapshotOptions, text string) *record.Change {
	t.Helper()
	page := record.NewSnapshotDecoder(o).DecodeLines([]byte(text))
	if len(page.Changes) != 1 || len(page.Errors) != 0 || page.Bytes != len(text) {
		t.Fatalf("%s: %d changes, %v", text, len(page.Changes), page.Errors)
	}
	return &page.Changes[0]
}

// badLine decodes one invalid line.
func badLine(t testing.TB, o record.SnapshotOptions, text string) *record.RecordError {
	t.Helper()
	page := record.NewSnapshotDecoder(o).DecodeLines([]byte(text))
	if len(page.Changes) != 0 || len(page.Errors) != 1 {
		t.Fatalf("%s: %d changes, %v", text, len(page.Changes), page.Errors)
	}
	return page.Errors[0]
}

func TestSnapshot_Items(t *testing.T) {
	for _, text := range []string{
		exportLine, itemText,
		` { "Item" : {"PK" : {"S" : "USER#1"} , "Email":{"S":"a@example.com"}, "SK":{"N":"7.0"} } } `,
		`{"P\u004b" :{"S":"USER#1"} ,"Email":{"S":"a@example.com"},"SK": { "N" : "7.0" } }`,
	} {
		c := line(t, snapshotOptions(0), text)
		if c.Op != record.Snapshot || c.EventName != "SNAPSHOT" || c.Key != "USER%231,+7" || c.Table != "shop" || c.Region != "eu-west-1" || c.StreamARN != pipelinetest.StreamARN {
			t.Errorf("%s: %+v", text, c)
		}
		if !c.Keys.Equal(pipelinetest.PlainItem(t, `{"PK":"USER#1","SK":7}`)) || !c.New.Equal(pipelinetest.PlainItem(t, `{"PK":"USER#1","Email":"a@example.com","SK":7}`)) || c.Old.Exists() {
			t.Errorf("%s: keys %s, item %s", text, c.Keys.Bytes(), c.New.Bytes())
		}
		pipelinetest.CheckImage(t, c.Keys)
		pipelinetest.CheckImage(t, c.New)
		if c.Sequence != "0" || c.Version.String() != "1795251600"+strings.Repeat("0", 40) || !c.Time.IsZero() || string(c.Raw) != strings.TrimSpace(text) {
			t.Errorf("%s: version %v, raw %s", text, c.Version, c.Raw)
		}
		if first := one(t, record.DecoderOptions{}, pipelinetest.Insert); c.Version.Compare(first.Version) >= 0 {
			t.Errorf("%v is not older than %v", c.Version, first.Version)
		}
	}
}

func TestSnapshot_IncrementalLines(t *testing.T) {
	for _, tt := range []struct {
		text     string
		view     record.ViewType // view type of the export
		op       record.Operation
		lineView record.ViewType
	}{
		{insertLine, 0, record.Insert, record.NewAndOldImages},
		{modifyLine, record.NewAndOldImages, record.Modify, record.NewAndOldImages},
		{removeLine, 0, record.Remove, record.NewAndOldImages},
		{insertLine, record.NewImage, record.Modify, record.NewImage}, // an insert or an update
		{goneLine, record.NewImage, record.Remove, record.NewImage},
		{goneLine, 0, record.Remove, record.NewAndOldImages}, // inserted and removed since the previous layer
	} {
		o := snapshotOptions(2)
		o.ViewType, o.Keys = tt.view, nil
		c := line(t, o, tt.text)
		if c.Op != tt.op || c.EventName != tt.op.String() || c.ViewType != tt.lineView || c.Key != "USER%231,+7" || string(c.Raw) != tt.text {
			t.Errorf("%s: %+v", tt.text, c)
		}
		if c.New.Exists() != strings.Contains(tt.text, "NewImage") || c.Old.Exists() != strings.Contains(tt.text, "OldImage") || c.Keys.Len() != 2 {
			t.Errorf("%s: images %s %s", tt.text, c.New.Bytes(), c.Old.Bytes())
		}
		if c.Sequence != "2" || c.Version.String() != "1795251600"+strings.Repeat("0", 39)+"2" || !c.Time.Equal(time.UnixMicro(1795251660123456)) {
			t.Errorf("%s: version %v, time %v", tt.text, c.Version, c.Time)
		}
	}
}

// An item can have attributes with the names of an export's fields.
func TestSnapshot_FormOfALine(t *testing.T) {
	for _, tt := range []struct{ text, keys, want string }{
		{`{"Item":{"S":"x"}}`, "Item", `{"Item":{"S":"x"}}`},
		{`{"Item":{"PK":{"S":"x"}}}`, "PK", `{"PK":{"S":"x"}}`},
		{`{"Item":{"S":{"S":"x"}}}`, "S", `{"S":{"S":"x"}}`},
		{`{"Item":{"M":{"S":"x"}}}`, "M", `{"M":{"S":"x"}}`},
		{`{"Item":{"M":{"M":{}},"PK":{"S":"x"}}}`, "PK", `{"M":{"M":{}},"PK":{"S":"x"}}`},
		{`{"Item":{"M":{}},"PK":{"S":"x"}}`, "PK", `{"Item":{"M":{}},"PK":{"S":"x"}}`},
		{`{"Item":{"M":{"a":{"S":"y"}}},"PK":{"S":"x"}}`, "PK", `{"Item":{"M":{"a":{"S":"y"}}},"PK":{"S":"x"}}`},
		{`{"Item":{"M":{"S":{"S":"y"}}},"PK":{"S":"x"}}`, "PK", `{"Item":{"M":{"S":{"S":"y"}}},"PK":{"S":"x"}}`},
		{`{"Item":{"L":[{"S":"y"}]},"PK":{"S":"x"}}`, "PK", `{"Item":{"L":[{"S":"y"}]},"PK":{"S":"x"}}`},
		{`{"Item":{"L":{"S":"x"}}}`, "L", `{"L":{"S":"x"}}`},
		{`{"Item":{"NULL":true},"PK":{"S":"x"}}`, "PK", `{"Item":{"NULL":true},"PK":{"S":"x"}}`},
		{`{"PK":{"S":"x"},"Item":{"S":"y"}}`, "PK", `{"PK":{"S":"x"},"Item":{"S":"y"}}`},
		{`{"Keys":{"SS":["y"]},"PK":{"S":"x"}}`, "PK", `{"Keys":{"SS":["y"]},"PK":{"S":"x"}}`},
		{`{"Metadata":{"M":{"WriteTimestampMicros":{"N":"1"}}},"PK":{"S":"x"}}`, "PK", `{"Metadata":{"M":{"WriteTimestampMicros":{"N":"1"}}},"PK":{"S":"x"}}`},
		{`{"NewImage":{"B":"AA=="},"OldImage":{"BOOL":true},"PK":{"S":"x"}}`, "PK", `{"NewImage":{"B":"AA=="},"OldImage":{"BOOL":true},"PK":{"S":"x"}}`},
	} {
		o := snapshotOptions(0)
		o.Keys = []string{tt.keys}
		if c := line(t, o, tt.text); string(c.New.Bytes()) != tt.want || c.Key != "x" || c.Op != record.Snapshot {
			t.Errorf("%s: %s %s", tt.text, c.Key, c.New.Bytes())
		}
	}
}

func TestSnapshot_BadLines(t *testing.T) {
	for _, tt := range []struct {
		text, path, want string
		layer            int
		key              string
		framing          bool
	}{
		{text: `{"Item":{"PK":{"S":"a"}}}`, path: "Item.SK", want: "check --keys"},
		{text: `{"PK":{"S":"a"}}`, path: "Item.SK", want: "check --keys"},
		{text: `{"PK":{"S":"a"},"SK":{"BOOL":true}}`, path: "Item.SK", want: "check --keys"},
		{text: `{"PK":{"S":"a"},"SK":{"S":""}}`, path: "Item.SK", want: "a key attribute is empty"},
		{text: `{"Item":{"PK":{"S":"a"},"SK":{"N":"1"},"Total":{"N":"ten"}}}`, path: "Item.Total", want: "not a number", key: "a,+1"},
		{text: `{"Total":{"M":{"x":{"N":"ten"}}},"PK":{"S":"a"},"SK":{"N":"1"}}`, path: "Item.Total.x", want: "not a number", key: "a,+1"},
		{text: `{"Item":{"PK":{"S":"a"},"SK":{"N":"1"},"PK":{"S":"b"}}}`, path: "Item.PK", want: "named twice"},
		{text: `{"Item":{"PK":{"S":"a"},"SK":{"N":"1"}},"Item":{}}`, path: "Item", want: "occurs twice", key: "a,+1"},
		{text: `{"Item":null}`, path: "Item", want: "is missing"},
		{text: `{}`, path: "Item.PK", want: "check --keys"},
		{text: `{"Foo":` + itemText + `}`, path: "Item.Foo", want: "want a type tag"},
		{text: `{"PK":"a","SK":1}`, path: "Item.PK", want: `want a value such as {"S":"text"}`},
		{text: `{"Item":{"PK":{"S":"a"},"SK":{"N":"1"},"x":{"S":"cut`, path: "Item.x", want: "ends too early", key: "a,+1", framing: true},
		{text: `$ion_1_0 {Item:{PK:"a",SK:1.}}`, want: "DYNAMODB_JSON", framing: true},
		{text: `{Item:{PK:"a",SK:1.}}`, want: "DYNAMODB_JSON", framing: true},
		{text: `PK,SK,Total`, want: "want a line of an export", framing: true},
		{text: `[` + itemText + `]`, want: "want a line of an export", framing: true},
		{text: goneLine, want: "full export before it", key: "USER%231,+7"},
		{text: `{"Metadata":{"WriteTimestampMicros":{"N":"1795251660123456"}},"NewImage":{"PK":{"S":"a"}}}`, layer: 1, path: "Keys", want: "is missing"},
		{text: `{"Keys":` + keysText + `,"NewImage":` + itemText + `}`, layer: 1, path: "Metadata", want: "is missing", key: "USER%231,+7"},
		{text: pipelinetest.With(insertLine, `"N":"1795251660123456"`, `"S":"1795251660123456"`), layer: 1, path: "Metadata.WriteTimestampMicros", want: "microseconds", key: "USER%231,+7"},
		{text: pipelinetest.With(insertLine, `"WriteTimestampMicros"`, `"Other"`), layer: 1, path: "Metadata.WriteTimestampMicros", want: "is missing", key: "USER%231,+7"},
		{text: pipelinetest.With(insertLine, `{"S":"USER#1"}`, `{"S":"USER#2"}`), layer: 1, path: "NewImage.PK", want: "of another item", key: "USER%232,+7"},
		{text: pipelinetest.With(insertLine, `{"S":"USER#1"}`, `{"SS":["USER#2"]}`), layer: 1, path: "Keys.PK", want: "an S, an N or a B"},
	} {
		e := badLine(t, snapshotOptions(tt.layer), tt.text)
		_, framing := errors.AsType[*record.FramingError](error(e))
		if e.Path != tt.path || !strings.Contains(e.Error(), tt.want) || string(e.Key) != tt.key || framing != tt.framing || string(e.Raw) != tt.text || e.Keys.Exists() != (tt.key != "") {
			t.Errorf("%s:\npath %q, key %q, framing %t: %v", tt.text, e.Path, e.Key, framing, e)
		}
	}
}

// Each bad line gives one error. The lines around it are decoded.
func TestSnapshot_BadLinesLoseNothingElse(t *testing.T) {
	lines := []string{exportLine, `{"Item":{"PK":{"S":"a"}}}`, itemText, ``, exportLine[:40], `$ion_1_0 {}`, exportLine + exportLine, itemText + "\r", exportLine}
	text := strings.Join(lines, "\n")
	page := record.NewSnapshotDecoder(snapshotOptions(0)).DecodeLines([]byte(text))
	if len(page.Changes) != 6 || len(page.Errors) != 3 {
		t.Fatalf("%d changes, %v", len(page.Changes), page.Errors)
	}
	for n, index := range []int{1, 3, 4} {
		e := page.Errors[n]
		if e.Index != index || !strings.HasPrefix(text[e.Offset:], string(e.Raw)+"\n") {
			t.Errorf("error %d: %+v", n, e)
		}
	}
}

func TestSnapshot_Options(t *testing.T) {
	o := snapshotOptions(0)
	o.StreamARN = ""
	if e := badLine(t, o, exportLine); e.Path != "" || !strings.Contains(e.Error(), "--stream-arn") || e.Key != "USER%231,+7" {
		t.Errorf("%v", e)
	}
	if o.EpochZero, o.Table, o.TableInKey = true, "shop", true; line(t, o, exportLine).Key != "shop!USER%231,+7" {
		t.Errorf("%v", line(t, o, exportLine).Key)
	}
	if c := line(t, o, exportLine); c.Version.String() != strings.Repeat("0", 50) || c.Version.IsZero() || c.Table != "shop" {
		t.Errorf("%+v", c)
	}
	if o.Table = ""; !strings.Contains(badLine(t, o, exportLine).Error(), "keys of several tables") {
		t.Errorf("%v", badLine(t, o, exportLine))
	}
	for _, keys := range [][]string{nil, {"PK", "PK"}, {"PK", "SK", "Email"}} {
		o := snapshotOptions(0)
		o.Keys = keys
		if e := badLine(t, o, exportLine); !strings.Contains(e.Error(), "--keys") {
			t.Errorf("%v: %v", keys, e)
		}
	}
}

// With Kinesis, every version of an export is older than all versions of the stream.
func TestSnapshot_Kinesis(t *testing.T) {
	o := snapshotOptions(3)
	o.Kinesis, o.StreamARN, o.Table = true, pipelinetest.KinesisARN, "Music"
	c := line(t, o, modifyLine)
	if c.Version.String() != "k"+strings.Repeat("0", 75)+"3" || !c.Version.Kinesis() || c.StreamARN != pipelinetest.KinesisARN || c.Table != "Music" {
		t.Errorf("%+v", c)
	}
	if first := one(t, record.DecoderOptions{}, pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord)); c.Version.Compare(first.Version) >= 0 {
		t.Errorf("%v is not older than %v", c.Version, first.Version)
	}
}

// An item of 400 KB, the largest in DynamoDB, is decoded, even if its key comes after long texts.
func TestSnapshot_LargestItem(t *testing.T) {
	name, value := strings.Repeat("n", 300), strings.Repeat("v", 1000)
	doc := `{"text":{"S":"` + strings.Repeat("x", 400<<10) + `"},"` + name + `" :   {"S":"` + value + `"},"SK":{"N":"7"}}`
	o := snapshotOptions(0)
	o.Keys = []string{name, "SK"}
	for _, text := range []string{doc, `{"Item":` + doc + `}`} {
		c := line(t, o, text)
		if c.Keys.Len() != 2 || len(c.Key) != len(value)+len(",+7") {
			t.Fatalf("key of %d bytes", len(c.Key))
		}
		pipelinetest.CheckImage(t, c.Keys)
		if v, ok := c.Keys.Get(name); !ok || len(v.Raw()) != len(value) {
			t.Errorf("%s", c.Keys.Bytes())
		}
	}
}

// Logs show the attribute of an error, but no names inside the attribute, since these may be data.
func TestSnapshot_RedactedErrors(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		layer      int
	}{
		{text: `{"Item":{"PK":{"S":"a"},"SK":{"N":"1"},"Emails":{"M":{"secret@example.com":{"N":"x"}}}}}`, want: "Item.Emails"},
		{text: `{"PK":{"S":"a"},"SK":{"N":"1"},"Emails":{"M":{"secret@example.com":{"N":"x"}}}}`, want: "Item.Emails"},
		{text: pipelinetest.With(modifyLine, `"OldImage":{`, `"OldImage":{"Emails":{"M":{"secret@example.com":{"N":"x"}}},`), want: "OldImage.Emails", layer: 1},
		{text: pipelinetest.With(modifyLine, `{"WriteTimestampMicros":{"N":"1795251660123456"}}`, `{"a":{"M":{"secret":{"N":"x"}}}}`), want: "Metadata.a", layer: 1},
		{text: `{"Item":{"PK":{"S":"a"},"SK":{"SS":["secret"]}}}`, want: "Item.SK"},
	} {
		e := badLine(t, snapshotOptions(tt.layer), tt.text)
		_, field := e.Describe()
		if field != tt.want || strings.Contains(e.Redacted(), "secret") || !strings.Contains(e.Redacted(), tt.want) {
			t.Errorf("%s: field %s, %s", tt.text, field, e.Redacted())
		}
	}
}

func TestLineError(t *testing.T) {
	item := `{"PK":{"S":"a"},"Emails":{"M":{"secret@example.com":{"N":"x"}}},"SK":{"N":"1"}}`
	for _, text := range []string{item, `{"Item":` + item + `}`, pipelinetest.With(modifyLine, `"NewImage":`+itemText, `"NewImage":`+item), item[:60]} {
		e := badLine(t, snapshotOptions(1), text)
		if again, ok := record.RedecodeLine(e.Raw, e.Error()); !ok || again.Path != e.Path || !strings.Contains(e.Path, "secret") {
			t.Errorf("%s: %v, and again %v", text, e, again)
		}
	}
	for _, text := range []string{exportLine, `{"PK":{"S":"a"}}`, pipelinetest.Insert, "$ion_1_0", ""} {
		if e, ok := record.RedecodeLine([]byte(text), "record 0 (byte 0), Item.SK: is missing"); ok {
			t.Errorf("%s: %v", text, e)
		}
	}
	broken := pipelinetest.With(pipelinetest.Insert, `"Email":{"S"`, `"Email":{"N"`)
	if e, ok := record.RedecodeLine([]byte(broken), refused(t, record.DecoderOptions{}, broken).Error()); ok {
		t.Errorf("a record is a line: %v", e)
	}
}
