package record_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// fuzzedSnapshots returns the options with which fuzzed lines are decoded.
func fuzzedSnapshots() []record.SnapshotOptions {
	return []record.SnapshotOptions{
		{DecoderOptions: record.DecoderOptions{StreamARN: pipelinetest.StreamARN}, Keys: []string{"PK", "SK"}},
		{DecoderOptions: record.DecoderOptions{EpochZero: true, Table: "shop", TableInKey: true, DynamoDBLocal: true}, Keys: []string{"Item"}, Layer: 7},
		{DecoderOptions: record.DecoderOptions{StreamARN: pipelinetest.StreamARN}, Keys: []string{"M"}, Layer: 1, ViewType: record.NewImage},
		{DecoderOptions: record.DecoderOptions{StreamARN: pipelinetest.KinesisARN}, Keys: []string{"PK"}, Layer: 1, Kinesis: true},
	}
}

// checkSnapshotPage checks the properties that every page of a snapshot has.
func checkSnapshotPage(t *testing.T, o record.SnapshotOptions, page *record.Page) {
	t.Helper()
	var indexes []int
	for _, e := range page.Errors {
		if e.Err == nil || len(e.Raw) == 0 || e.Offset < 0 || e.Error() == "" || e.Keys.Exists() != (e.Key != "") {
			t.Fatalf("an error without a place: %+v", e)
		}
		indexes = append(indexes, e.Index)
	}
	var u record.Unpacker
	for i := range page.Changes {
		c := &page.Changes[i]
		indexes = append(indexes, int(c.Index))
		if _, _, err := c.Key.Decode(); err != nil || c.Version.IsZero() || c.Version.Kinesis() != o.Kinesis || !c.Keys.Exists() {
			t.Fatalf("key %q: %v, version %v", c.Key, err, c.Version)
		}
		if v, err := record.ParseVersion(c.Version.String()); err != nil || v != c.Version {
			t.Fatalf("version %v: %v %v", c.Version, v, err)
		}
		for _, m := range []item.Image{c.Keys, c.Old, c.New} {
			if m.Exists() {
				pipelinetest.CheckImage(t, m)
			}
		}
		var unpacked record.Change
		if _, err := u.Unpack(record.AppendPacked(nil, c), &unpacked); err != nil || pipelinetest.ChangeDifference(c, &unpacked) != "" || !unpacked.Backfill {
			t.Fatalf("packed it is another change: %v %s", err, pipelinetest.ChangeDifference(c, &unpacked))
		}
		if clone := c.Clone(); pipelinetest.ChangeDifference(c, clone) != "" {
			t.Fatalf("the clone differs in %s", pipelinetest.ChangeDifference(c, clone))
		}
		if again := record.NewSnapshotDecoder(o).DecodeLines(bytes.ReplaceAll(c.Raw, []byte("\n"), []byte(" "))); len(again.Changes) != 1 || pipelinetest.ChangeDifference(c, &again.Changes[0]) != "" {
			t.Fatalf("%s alone is another change: %v", c.Raw, again.Errors)
		}
		if c.Op == record.Remove && !c.Old.Exists() {
			c.ViewType = record.NewImage
		}
		if o.Kinesis {
			c.Time = time.Time{} // a Kinesis record has no time besides its version
		}
		again, err := record.NewDecoder(o.DecoderOptions).Decode(c.RecordJSON())
		if err != nil || len(again.Changes) != 1 || pipelinetest.ChangeDifference(c, &again.Changes[0]) != "" {
			t.Fatalf("%s does not decode: %v %v", record.AppendRecord(nil, c), err, again.Errors)
		}
	}
	slices.Sort(indexes)
	for i, index := range indexes {
		if i != index {
			t.Fatalf("indexes %v", indexes)
		}
	}
}

// checkAsRecord decodes an item in a line of an export, as a line, in an answer of Scan and in a line of an incremental
// export. It compares each with a stream record of the same item.
func checkAsRecord(t *testing.T, o record.SnapshotOptions, doc []byte) {
	t.Helper()
	want, invalid := item.Parse(doc)
	if o.DynamoDBLocal || bytes.IndexByte(doc, '\n') >= 0 {
		return
	}
	d := record.NewSnapshotDecoder(o)
	plain, export := d.DecodeLines(doc), d.DecodeLines(slices.Concat([]byte(`{"Item":`), doc, []byte("}")))
	scan, err := d.DecodeScan(slices.Concat([]byte(`{"Items":[`), doc, []byte("]}")))
	if invalid != nil {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	for name, page := range map[string]*record.Page{"plain": plain, "export": export, "scan": scan.Page} {
		if len(page.Changes)+len(page.Errors) != 1 {
			t.Fatalf("%s, %s: %d changes, %v", name, doc, len(page.Changes), page.Errors)
		}
		if len(page.Errors) > 0 {
			if text := page.Errors[0].Error(); !strings.Contains(text, "key") {
				t.Fatalf("%s, %s: %v", name, doc, text)
			}
			continue
		}
		c := &page.Changes[0]
		if !slices.Equal(attributes(c.New), attributes(want)) || c.Op != record.Snapshot {
			t.Fatalf("%s: the item is %q\n%s", name, attributes(c.New), doc)
		}
		r, err := record.NewDecoder(record.DecoderOptions{EpochZero: true, TableInKey: o.TableInKey, Table: o.Table}).Decode(slices.Concat(
			[]byte(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":`), c.Keys.Bytes(), []byte(`,"NewImage":`), doc, []byte("}}")))
		if err != nil || len(r.Changes) != 1 || !slices.Equal(attributes(r.Changes[0].New), attributes(c.New)) || r.Changes[0].Key != c.Key {
			t.Fatalf("%s: the record with the item differs: %v %v\n%s", name, err, r.Errors, doc)
		}
		if o.Layer == 0 {
			continue
		}
		change := d.DecodeLines(slices.Concat([]byte(`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"NewImage":`), doc, []byte(`,"Keys":`), c.Keys.Bytes(), []byte(`,"OldImage":`), doc, []byte("}")))
		if len(change.Changes) != 1 || change.Changes[0].Key != c.Key || !slices.Equal(attributes(change.Changes[0].Old), attributes(c.New)) {
			t.Fatalf("the change with the item differs: %v\n%s", change.Errors, doc)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	for _, text := range []string{itemText, exportLine, modifyLine, insertLine, removeLine, goneLine, scanAnswer, `{"Item":{"M":{"M":{}}}}`, `{"M":{"S":"x"},"Item":{"S":"y"}}`} {
		f.Add([]byte(text))
		f.Add([]byte(text + "\n" + exportLine + exportLine + "\r\n\n{\n" + itemText))
	}
	f.Add([]byte(`{"PK":{"B":"AA=="},"SK":{"N":"1E5"},"m":{"M":{"":{"M":{}},"l":{"L":[{"SS":["\u00e9"]},{"NS":["1","2.0"]},{"BOOL":true},{"NULL":true}]}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range fuzzedSnapshots() {
			page := record.NewSnapshotDecoder(o).DecodeLines(b)
			checkSnapshotPage(t, o, page)
			checkLinesAlone(t, func() lineDecoder { return record.NewSnapshotDecoder(o) }, b)
			more := record.NewSnapshotDecoder(o).DecodeLines(append(append([]byte{}, b...), "\n"+exportLine...))
			if len(more.Errors)+len(more.Changes) != len(page.Errors)+len(page.Changes)+1 {
				t.Fatalf("%d errors and %d changes, and with a line more %d and %d", len(page.Errors), len(page.Changes), len(more.Errors), len(more.Changes))
			}
			scan, err := record.NewSnapshotDecoder(o).DecodeScan(b)
			checkSnapshotPage(t, o, scan.Page)
			if err != nil && (scan.LastKey != nil || scan.CapacityUnits != 0) {
				t.Fatalf("%v, and yet %+v", err, scan)
			}
			checkAsRecord(t, o, b)
		}
	})
}

// TestSnapshot_AsRecords checks items of all types with checkAsRecord.
func TestSnapshot_AsRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := pipelinetest.DynamoJSON{T: rt}
		key := []string{`"PK":{"S":` + g.Quote("USER#"+rapid.String().Draw(rt, "pk")) + `}`, `"SK":{"N":"7"}`, `"M":{"B":"AA=="}`, `"Item":{"S":"x"}`}
		doc := []byte(strings.NewReplacer("\n", " ", "\r", " ").Replace(g.Item(rapid.IntRange(0, 6).Draw(rt, "attributes"), 3, rapid.Permutation(key).Draw(rt, "key")...)))
		for _, o := range fuzzedSnapshots() {
			checkAsRecord(t, o, doc)
		}
	})
}

// TestSnapshot_LinesAlone decodes lines that differ a little from each other.
func TestSnapshot_LinesAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := pipelinetest.DynamoJSON{T: rt}
		lines := [][]byte{[]byte(modifyLine), []byte(insertLine), []byte(removeLine), []byte(goneLine)}
		for range rapid.IntRange(1, 3).Draw(rt, "items") {
			doc := strings.NewReplacer("\n", " ", "\r", " ").Replace(g.Item(rapid.IntRange(0, 6).Draw(rt, "attributes"), 2, `"PK":{"S":"a"}`, `"SK":{"N":"7"}`))
			lines = append(lines, []byte(doc), []byte(`{"Item":`+doc+`}`))
		}
		for range rapid.IntRange(1, 20).Draw(rt, "more") {
			lines = append(lines, edited(rt, rapid.SampledFrom(lines).Draw(rt, "of")))
		}
		for _, o := range fuzzedSnapshots() {
			page := bytes.Join(lines, []byte("\n"))
			checkLinesAlone(rt, func() lineDecoder { return record.NewSnapshotDecoder(o) }, page)
			checkSnapshotPage(t, o, record.NewSnapshotDecoder(o).DecodeLines(page))
		}
	})
}
