package export_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

// allTypes is an item with an attribute of each type.
const allTypes = `{"Item":{"PK":{"S":"all"},"b":{"B":"AAEC"},"bool":{"BOOL":true},"bs":{"BS":["AA==","AQ=="]},"l":{"L":[{"S":"x"},{"N":"1"}]},` +
	`"m":{"M":{"k":{"S":"v"}}},"n":{"N":"-1.5E3"},"ns":{"NS":["1","2"]},"null":{"NULL":true},"ss":{"SS":["a","b"]},"empty":{"S":""}}}`

func TestExport_Full(t *testing.T) {
	large := `{"Item":{"PK":{"S":"large"},"b":{"B":"` + strings.Repeat("AAEC", 400<<10/3) + `"},"t":{"S":"` + strings.Repeat(`\"`, 1000) + `"}}}`
	f := fixture{prefix: "2026-Nov/", data: map[string]string{
		"b4.json.gz": item("1") + "\n" + item("2") + "\n",
		"a3.json.gz": "",
		"c2.json.gz": allTypes + "\n" + large + "\n" + item("3"),
	}}
	dir := f.add(t, files{}).write(t, t.TempDir())
	at := filepath.Join(dir, filepath.FromSlash(f.folder()))
	e := openExport(t, exportOptions(at))
	info, when := e.Info(), time.Date(2026, 11, 4, 7, 28, 34, 28e6, time.UTC)
	if info.Source != "export "+at+"/" || !info.Time.Equal(when) || !info.OldestTime.Equal(when) || info.TableARN != tableARN || info.View != record.NewAndOldImages || info.Items != 5 {
		t.Errorf("%+v", info)
	}
	var parts []snapshot.Part
	bytes := int64(0)
	for _, name := range []string{"a3", "b4", "c2"} {
		stat, err := os.Stat(filepath.Join(at, "data", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, snapshot.Part{ID: "0/" + name + ".json.gz", Items: map[string]int64{"a3": 0, "b4": 2, "c2": 3}[name], Bytes: stat.Size()})
		bytes += stat.Size()
	}
	for i, p := range e.Parts() {
		if p != parts[i] {
			t.Errorf("part %d is %+v, want %+v", i, p, parts[i])
		}
	}
	if len(e.Parts()) != 3 || info.Bytes != bytes {
		t.Errorf("%d parts, %d bytes, want %d", len(e.Parts()), info.Bytes, bytes)
	}
	got, err := readAll(t.Context(), e)
	if err != nil || len(got) != 5 {
		t.Fatalf("%d items, %v", len(got), err)
	}
	for i, want := range []string{"1", "2", "all", "large", "3"} {
		if !strings.HasPrefix(got[i], "SNAPSHOT "+want+" 0  {") {
			t.Errorf("item %d is %.100s", i, got[i])
		}
	}
	if want := strings.TrimSuffix(strings.TrimPrefix(allTypes, `{"Item":`), "}"); !strings.HasSuffix(got[2], want) {
		t.Errorf("the item is %s, want %s", got[2], want)
	}
	if len(got[3]) < 400<<10 {
		t.Errorf("the large item has %d bytes", len(got[3]))
	}
}

// A part continues after any position of its pages, and its file is verified as a whole.
func TestExport_Positions(t *testing.T) {
	var lines []string
	for i := range 30_000 {
		lines = append(lines, item("customer-"+strconv.Itoa(i)))
	}
	f := fixture{}
	f.data = f.data1(lines...)
	dir := f.add(t, files{}).write(t, t.TempDir())
	e := openExport(t, exportOptions(dir))
	id := e.Parts()[0].ID
	pages, err := readPages(t.Context(), e, id, "")
	if err != nil || len(pages) < 3 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	at := 0
	for _, p := range pages {
		for i := range p.Changes {
			if string(p.Changes[i].Key) != "customer-"+strconv.Itoa(at) {
				t.Fatalf("item %d is %s", at, p.Changes[i].Key)
			}
			at++
		}
		if string(p.Position) != strconv.Itoa(at) {
			t.Errorf("position %s, want %d", p.Position, at)
		}
	}
	for _, from := range []int{1, 17_777, 30_000} {
		rest, err := readPages(t.Context(), e, id, pipeline.Position(strconv.Itoa(from)))
		n := 0
		for _, p := range rest {
			n += len(p.Changes)
		}
		if err != nil || n != 30_000-from {
			t.Errorf("from %d: %d items, %v", from, n, err)
		}
	}
	for _, from := range []pipeline.Position{"30001", "-1", "x"} {
		if _, err := readPages(t.Context(), e, id, from); err == nil || !strings.Contains(err.Error(), "is not a position in the data file") {
			t.Errorf("from %s: %v", from, err)
		}
	}
	if _, err := e.Open(t.Context(), "1/a.json.gz", ""); err == nil || !strings.Contains(err.Error(), "there is no part") {
		t.Errorf("another part: %v", err)
	}
}

// A line that cannot be decoded is named by its file and its line.
func TestExport_BadLine(t *testing.T) {
	f := fixture{plain: true}
	f.data = f.data1(item("1"), `{"Item":{"SK":{"S":"x"}}}`, item("2"))
	dir := f.add(t, files{}).write(t, t.TempDir())
	got, err := readAll(t.Context(), openExport(t, exportOptions(dir)))
	if err != nil || len(got) != 3 || !strings.Contains(got[2], "a.json.gz:2") {
		t.Errorf("%q, %v", got, err)
	}
}

// A data file without a byte has no items, if the manifest says so.
func TestExport_EmptyFile(t *testing.T) {
	f := fixture{plain: true}
	f.data = f.data1(item("1"))
	f.data["b.json.gz"] = ""
	dir := f.add(t, files{}).write(t, t.TempDir())
	got, err := readAll(t.Context(), openExport(t, exportOptions(dir)))
	if err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestExport_OptionsOfParts(t *testing.T) {
	f := fixture{}
	f.data = f.data1(item("1"))
	dir := f.add(t, files{}).write(t, t.TempDir())
	for want, change := range map[string]func(*export.Options){
		"--keys":       func(o *export.Options) { o.Decoder.Keys = nil },
		"--stream-arn": func(o *export.Options) { o.Decoder.StreamARN = "" },
	} {
		o := exportOptions(dir)
		change(&o)
		if _, err := readAll(t.Context(), openExport(t, o)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := export.Open(t.Context(), export.Options{}); err == nil || !strings.Contains(err.Error(), "Layers is empty") {
		t.Errorf("without layers: %v", err)
	}
}
