package archive_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// rows returns the rows of a Parquet object as maps from column names to values, without nulls.
func rows(t interface{ Fatal(...any) }, object []byte) []map[string]string {
	f, err := parquet.OpenFile(bytes.NewReader(object), int64(len(object)))
	if err != nil {
		t.Fatal(err)
	}
	columns := f.Schema().Columns()
	var all []map[string]string
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]parquet.Row, g.NumRows())
		n, err := r.ReadRows(buf)
		if err != nil && !errors.Is(err, io.EOF) || int64(n) != g.NumRows() {
			t.Fatal(n, err)
		}
		for _, row := range buf {
			m := make(map[string]string)
			for _, v := range row {
				if !v.IsNull() {
					m[columns[v.Column()][0]] = v.String()
				}
			}
			all = append(all, m)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// only returns the name and the content of the only object of a store.
func only(t *testing.T, store *memory) (string, []byte) {
	t.Helper()
	names := store.names()
	if len(names) != 1 {
		t.Fatalf("objects %q, want one", names)
	}
	return names[0], store.objects[names[0]]
}

func TestParquet(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Prefix: "changes/", Format: archive.Parquet, Partition: parse(t, "dt={@time|date:2006-01-02}")})
	a3, a4, b3 := line("INSERT", "a", 3, ""), line("EVOLVE", "a", 4, ""), line("REMOVE", "b", 3, ttl)
	if got, want := mustWrite(t, s, changes(t, b3, a4, a3, a4)...), "written written written coalesced"; got != want {
		t.Errorf("outcomes %s, want %s", got, want)
	}
	name, object := only(t, store)
	if prefix := "changes/dt=2026-01-02/" + versionOf(3) + "-" + versionOf(4) + "-"; !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, ".parquet") || len(name) != len(prefix)+32+len(".parquet") {
		t.Errorf("object %s, want %s...", name, prefix)
	}
	common := map[string]string{"stream_arn": arn, "table": "shop", "region": "eu-central-1", "view_type": "NEW_IMAGE", "size_bytes": "10"}
	want := []map[string]string{
		{"key": "a", "version": versionOf(3), "op": "INSERT", "kind": "change", "time": "1767322800000000", "sequence": "3", "event_id": "e3", "event_name": "INSERT",
			"keys": `{"PK":{"S":"a"}}`, "new": `{"PK":{"S":"a"},"n":{"N":"1.50"}}`},
		{"key": "a", "version": versionOf(4), "op": "UNKNOWN", "kind": "change", "time": "1767326400000000", "sequence": "4", "event_id": "e4", "event_name": "EVOLVE",
			"keys": `{"PK":{"S":"a"}}`, "new": `{"PK":{"S":"a"},"n":{"N":"1.50"}}`},
		{"key": "b", "version": versionOf(3), "op": "REMOVE", "kind": "ttl_delete", "time": "1767322800000000", "sequence": "3", "event_id": "e3", "event_name": "REMOVE",
			"keys": `{"PK":{"S":"b"}}`, "identity_type": "Service", "identity_principal_id": "dynamodb.amazonaws.com"},
	}
	got := rows(t, object)
	for i := range want {
		for k, v := range common {
			want[i][k] = v
		}
		if i >= len(got) || fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			t.Errorf("row %d of %d is\n%v, want\n%v", i, len(got), got[min(i, len(got)-1)], want[i])
		}
	}
	if bytes.Contains(object, []byte("parquet-go")) {
		t.Error("the object names the library that wrote it: its next version makes other bytes")
	}
}

// The text of a column loses nothing of its attribute, whatever type the attribute has. The column is null if an
// attribute of its template is missing, even if the template requires the attribute.
func TestColumns(t *testing.T) {
	store := &memory{}
	var columns []archive.Column
	for _, c := range [][2]string{
		{"big", "{Big}"}, {"flag", "{Flag}"}, {"bin", "{Bin}"}, {"list", "{List}"}, {"set", "{Set}"}, {"nothing", "{Nothing}"}, {"none", "{None}"}, {"maybe", "{None?}"},
		{"city", "{Address.City|lower}"}, {"day", "{@time|date:2006-01-02}"}, {"both", "{City?}-{Big}"}, {"fixed", "x"},
	} {
		columns = append(columns, archive.Column{Name: c[0], Value: parse(t, c[1])})
	}
	s := newSink(t, archive.Options{Store: store, Format: archive.Parquet, Columns: columns})
	record := strings.Replace(line("INSERT", "a", 1, ""), `"n":{"N":"1.50"}`,
		`"Big":{"N":"-1.2345678901234567890123456789012345678E+20"},"Flag":{"BOOL":false},"Bin":{"B":"+/8="},"List":{"L":[{"N":"1.50"},{"NULL":true}]},`+
			`"Set":{"SS":["b","a"]},"Nothing":{"NULL":true},"Address":{"M":{"City":{"S":"Köln"}}}`, 1)
	c := changes(t, record)[0]
	d := pipeline.Delivery{Change: c}
	if err := s.Plan(&d); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, s, c, changes(t, line("REMOVE", "b", 2, ""))[0])
	_, object := only(t, store)
	all := rows(t, object)
	for name, want := range map[string]string{
		"big": "-123456789012345678901.23456789012345678", "flag": "false", "bin": "-_8", "list": "[1.5,null]", "set": `["b","a"]`,
		"city": "köln", "day": "2026-01-02", "both": "--123456789012345678901.23456789012345678", "fixed": "x",
	} {
		if got := all[0][name]; got != want {
			t.Errorf("column %s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"nothing", "none", "maybe"} {
		if got, ok := all[0][name]; ok {
			t.Errorf("column %s is %q, want null", name, got)
		}
	}
	if got := all[1]["big"] + all[1]["both"]; got != "" {
		t.Errorf("columns of a record without images: %q", got)
	}
	if got, want := read(t, store, archive.ReadOptions{}), "a@1 b@2"; got != want {
		t.Errorf("read back %s, want %s", got, want)
	}
}

// If the value of a column cannot be formatted, planning the change fails. The error does not contain the value.
func TestColumnsThatFail(t *testing.T) {
	s := newSink(t, archive.Options{Store: &memory{}, Format: archive.Parquet, Columns: []archive.Column{{Name: "day", Value: parse(t, "{n|date:2006}x{PK}")}}})
	bad := strings.Replace(line("INSERT", "a", 1, ""), `{"N":"1.50"}`, `{"S":"secret"}`, 1)
	d := pipeline.Delivery{Change: changes(t, bad)[0]}
	if err := s.Plan(&d); err == nil || !strings.Contains(err.Error(), "column day") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func TestMaskedColumns(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Format: archive.Parquet, Mask: sinktest.Mask(t, "Email", "Address.**"), Columns: []archive.Column{
		{Name: "email", Value: parse(t, "{Email|lower}")}, {Name: "address", Value: parse(t, "{Address}")}, {Name: "born", Value: parse(t, "{Address.Since|date:2006}")},
	}})
	record := strings.Replace(line("INSERT", "a", 1, ""), `"n":`, `"Email":{"S":"Canary@x.org"},"Address":{"M":{"City":{"S":"canary"},"Since":{"S":"1999-01-02T00:00:00Z"}}},"n":`, 1)
	mustWrite(t, s, changes(t, record)...)
	_, object := only(t, store)
	row := rows(t, object)[0]
	for _, name := range []string{"email", "born", "address", "new"} {
		if v := strings.ToLower(row[name]); strings.Contains(v, "canary") || strings.Contains(v, "1999") || !strings.Contains(v, "masked-") {
			t.Errorf("column %s shows %s", name, v)
		}
	}
}

// Parquet objects and objects of lines are read back as the same changes in the same order, however the changes are cut
// into batches.
func TestParquetTellsWhatLinesTell(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{Keys: map[string]string{"PK": "B", "SK": "N"}, Snapshots: true, Records: 15})
	columns := []archive.Column{{Name: "status", Value: parse(t, "{Status?}")}, {Name: "anything", Value: parse(t, "{Any}")}}
	rapid.Check(t, func(rt *rapid.T) {
		stream := streams.Draw(rt, "stream")
		images := rapid.SampledFrom([]archive.LineFormat{archive.DynamoDBJSON, archive.PlainJSON}).Draw(rt, "images")
		asLines, asRows := &memory{}, &memory{}
		for _, o := range []archive.Options{{Store: asLines, Format: archive.JSONLGzip}, {Store: asRows, Format: archive.Parquet, Columns: columns}} {
			o.Images = images
			s := newSink(t, o)
			for i := 0; i < len(stream.Changes); {
				n := min(len(stream.Changes), i+rapid.IntRange(1, 12).Draw(rt, "batch"))
				mustWrite(t, s, stream.Changes[max(0, i-rapid.IntRange(0, 3).Draw(rt, "again")):n]...)
				i = n
			}
		}
		want, got := entries(t, asLines), entries(t, asRows)
		if !slices.EqualFunc(got, want, func(g, w archive.Entry) bool {
			if g.Key != w.Key || g.Version != w.Version || (g.Change == nil) != (w.Change == nil) {
				return false
			}
			if g.Change == nil {
				return bytes.Equal(g.Line, w.Line)
			}
			return sameChange(g.Change, w.Change)
		}) {
			rt.Fatalf("rows are read back as\n%s\nlines as\n%s", told(got), told(want))
		}
	})
}

func entries(t *testing.T, l archive.Lister) []archive.Entry {
	t.Helper()
	var all []archive.Entry
	for e, err := range archive.Read(t.Context(), l, archive.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func told(es []archive.Entry) string {
	var b strings.Builder
	for _, e := range es {
		fmt.Fprintf(&b, "%s %s\n", e.Key, e.Line)
	}
	return b.String()
}

// Parquet objects also keep parts that only some records have: fractions of a second, keys that contain the table, and
// the order by time of Kinesis.
func TestParquetKeepsOddRecords(t *testing.T) {
	inner := `{"eventID":"11","eventName":"INSERT","tableName":"Music","dynamodb":{"ApproximateCreationDateTime":1795251660123456,"ApproximateCreationDateTimePrecision":"MICROSECOND",` +
		`"Keys":{"Artist":{"S":"Acme"}},"NewImage":{"Artist":{"S":"Acme"},"e":{"M":{}},"s":{"S":""}},"SizeBytes":59}}`
	for _, test := range []struct {
		record string
		o      record.DecoderOptions
	}{
		{`{"eventID":"shardId-6:49","eventSourceARN":"arn:aws:kinesis:us-east-1:111122223333:stream/music","kinesis":{"sequenceNumber":"49","data":"` + base64.StdEncoding.EncodeToString([]byte(inner)) + `"}}`, record.DecoderOptions{}},
		{strings.Replace(line("INSERT", "a", 1, ""), "1767315600", "1767315600.25", 1), record.DecoderOptions{}},
		{strings.Replace(line("INSERT", "a", 1, ""), "1767315600", `"1970-01-01T00:00:00.000001Z"`, 1), record.DecoderOptions{}},
		{line("INSERT", "a,!", 1, ""), record.DecoderOptions{TableInKey: true}},
	} {
		c := change(t, test.record, test.o)
		store := &memory{}
		mustWrite(t, newSink(t, archive.Options{Store: store, Format: archive.Parquet}), c)
		all := make([]archive.Entry, 0, 1)
		for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{TableInKey: test.o.TableInKey}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		if len(all) != 1 || !sameChange(all[0].Change, c) {
			t.Errorf("%+v is read back as\n%s", c, told(all))
		}
	}
}

func TestParquetThatIsNone(t *testing.T) {
	store := &memory{}
	mustWrite(t, newSink(t, archive.Options{Store: store, Format: archive.Parquet}), changes(t, line("INSERT", "a", 1, ""))...)
	name, object := only(t, store)
	for what, body := range map[string][]byte{"cut": object[:len(object)-3], "empty": nil, "text": []byte("some text")} {
		store.objects[name] = body
		var last error
		for _, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
			last = err
		}
		if last == nil || !strings.HasPrefix(last.Error(), "archive: "+name) {
			t.Errorf("%s: error %v", what, last)
		}
	}
}
