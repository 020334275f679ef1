package export_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

// change is a line of an incremental export. An image is a number, or "".
func change(pk, old, now string) string {
	line := `{"Metadata":{"WriteTimestampMicros":{"N":"1795251660123456"}},"Keys":{"PK":{"S":"` + pk + `"}}`
	for name, n := range map[string]string{"NewImage": now, "OldImage": old} {
		if n != "" {
			line += `,"` + name + `":{"PK":{"S":"` + pk + `"},"n":{"N":"` + n + `"}}`
		}
	}
	return line + "}"
}

// The times of the layers that the tests use. The first is that of a full export.
const (
	time0 = "2026-11-04T07:28:34.028Z"
	time1 = "2026-11-04T07:28:34Z"
	time2 = "2026-11-04T08:00:00Z"
	time3 = "2026-11-05T08:00:00Z"
)

// chain is a full export and two incremental ones after it, in one bucket.
func chain(t testing.TB, change func(layers []fixture)) (files, []string) {
	t.Helper()
	layers := []fixture{
		{prefix: "p/", id: "01-full", data: map[string]string{"f.json.gz": item("1") + "\n" + item("2") + "\n"}},
		{prefix: "p/", id: "02-incr", from: time1, to: time2, data: map[string]string{"g.json.gz": changeLines([3]string{"1", "1", "5"}, [3]string{"2", "1", ""}, [3]string{"3", "", "7"})}},
		{prefix: "p/", id: "03-incr", from: time2, to: time3, checksum: ".md5", data: map[string]string{"h.json.gz": changeLines([3]string{"3", "7", "8"})}},
	}
	if change != nil {
		change(layers)
	}
	bucket := files{}
	var paths []string
	for _, l := range layers {
		l.add(t, bucket)
		paths = append(paths, l.folder())
	}
	return bucket, paths
}

func changeLines(changes ...[3]string) string {
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(change(c[0], c[1], c[2]) + "\n")
	}
	return b.String()
}

// at returns the paths in a folder.
func at(dir string, paths []string) []string {
	all := make([]string, len(paths))
	for i, p := range paths {
		all[i] = filepath.Join(dir, filepath.FromSlash(p))
	}
	return all
}

func TestExport_Layers(t *testing.T) {
	bucket, paths := chain(t, nil)
	layers := at(bucket.write(t, t.TempDir()), paths)
	e := openExport(t, exportOptions(layers...))
	info := e.Info()
	if want := "export " + strings.Join(layers, "/ ") + "/"; info.Source != want {
		t.Errorf("the source is %s, want %s", info.Source, want)
	}
	if info.Time.Format(time.RFC3339Nano) != time3 || info.OldestTime.Format(time.RFC3339Nano) != time0 || info.View != record.NewAndOldImages || info.Items != 6 {
		t.Errorf("%+v", info)
	}
	got, err := readAll(t.Context(), e)
	want := []string{
		`SNAPSHOT 1 0  {"PK":{"S":"1"},"n":{"N":"1"}}`,
		`SNAPSHOT 2 0  {"PK":{"S":"2"},"n":{"N":"1"}}`,
		`MODIFY 1 1 {"PK":{"S":"1"},"n":{"N":"1"}} {"PK":{"S":"1"},"n":{"N":"5"}}`,
		`REMOVE 2 1 {"PK":{"S":"2"},"n":{"N":"1"}} `,
		`INSERT 3 1  {"PK":{"S":"3"},"n":{"N":"7"}}`,
		`MODIFY 3 2 {"PK":{"S":"3"},"n":{"N":"7"}} {"PK":{"S":"3"},"n":{"N":"8"}}`,
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, got\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if id := e.Parts()[2].ID; id != "2/h.json.gz" {
		t.Errorf("the last part is %s", id)
	}
}

// Parts are in the order of their IDs with more than ten layers, too.
func TestExport_ManyLayers(t *testing.T) {
	bucket := files{}
	paths := []string{fixture{id: "00"}.folder()}
	fixture{id: "00", data: map[string]string{"a.json.gz": item("1")}}.add(t, bucket)
	from := time.Date(2026, 11, 4, 7, 28, 34, 0, time.UTC)
	for i := 1; i <= 11; i++ {
		to := from.Add(time.Hour)
		f := fixture{id: fmt.Sprintf("%02d", i), from: from.Format(time.RFC3339), to: to.Format(time.RFC3339), data: map[string]string{fmt.Sprint(i, ".json.gz"): change("1", "1", "2")}}
		f.add(t, bucket)
		paths, from = append(paths, f.folder()), to
	}
	e := openExport(t, exportOptions(at(bucket.write(t, t.TempDir()), paths)...))
	var ids []string
	for _, p := range e.Parts() {
		ids = append(ids, p.ID)
	}
	if !slices.IsSorted(ids) || len(ids) != 12 || ids[0] != "00/a.json.gz" || ids[11] != "11/11.json.gz" {
		t.Errorf("the parts are %q", ids)
	}
	if got, err := readAll(t.Context(), e); err != nil || len(got) != 12 || !strings.HasPrefix(got[11], "MODIFY 1 11 ") {
		t.Errorf("%q, %v", got, err)
	}
}

// An export of new images does not say what an item was before, so its changes say so, and so does the description.
func TestExport_NewImages(t *testing.T) {
	for _, view := range []string{"NEW_IMAGE", "NEW_IMAGES"} {
		bucket, paths := chain(t, func(layers []fixture) {
			layers[1].view, layers[1].data = view, map[string]string{"g.json.gz": changeLines([3]string{"1", "", "5"}, [3]string{"2", "", ""})}
		})
		e := openExport(t, exportOptions(at(bucket.write(t, t.TempDir()), paths)...))
		if e.Info().View != record.NewImage {
			t.Errorf("the view is %v", e.Info().View)
		}
		views := map[string]record.ViewType{}
		for _, part := range e.Parts() {
			pages, err := readPages(t.Context(), e, part.ID, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pages {
				for _, c := range p.Changes {
					views[fmt.Sprint(part.ID[:1], c.Op, c.Key)] = c.ViewType
				}
			}
		}
		if views["1MODIFY1"] != record.NewImage || views["1REMOVE2"] != record.NewImage || views["2MODIFY3"] != record.NewAndOldImages {
			t.Errorf("the views are %v", views)
		}
	}
}

func TestExport_LayersThatDoNotFollow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(layers []fixture)
		order  []int // of the paths
		want   string
	}{
		{name: "hole", change: func(l []fixture) { l[1].from = "2026-11-04T07:28:35Z" }, want: "begins at 2026-11-04T07:28:35Z, and the layer before it, {0}/, ends at 2026-11-04T07:28:34.028Z: no layer has the changes between. Name between them an incremental export from 2026-11-04T07:28:34Z to 2026-11-04T07:28:35Z"},
		{name: "left out", order: []int{0, 2}, want: "{2}/ begins at 2026-11-04T08:00:00Z"},
		{name: "overlap", change: func(l []fixture) { l[2].from = time1 }, want: "Export again from 2026-11-04T08:00:00Z"},
		{name: "twice", order: []int{0, 1, 1}, want: "name the layers in order of their times, each once"},
		{name: "older", change: func(l []fixture) { l[2].from, l[2].to = time1, "2026-11-04T07:50:00Z" }, want: "ends no earlier, at 2026-11-04T08:00:00Z"},
		{name: "incremental first", order: []int{1, 2}, want: "{1}/ is an incremental export, which has only the changes of a period: name the full export"},
		{name: "two full", order: []int{0, 0}, want: "{0}/ is a full export, and only the first layer can be one"},
		{name: "another table", change: func(l []fixture) { l[1].change = map[string]any{"tableArn": tableARN + "2"} }, want: "is an export of the table " + tableARN + "2 (id 12345a12-abcd-123a-ab12-1234abc12345), and {0}/ of " + tableARN + " (id"},
		{name: "created again", change: func(l []fixture) { l[1].change = map[string]any{"tableId": "another"} }, want: "a table that was created again is another one"},
	} {
		bucket, paths := chain(t, tt.change)
		all := at(bucket.write(t, t.TempDir()), paths)
		layers := all
		if tt.order != nil {
			layers = nil
			for _, i := range tt.order {
				layers = append(layers, all[i])
			}
		}
		want := strings.NewReplacer("{0}", all[0], "{1}", all[1], "{2}", all[2]).Replace(tt.want)
		if _, err := export.Open(t.Context(), exportOptions(layers...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", tt.name, err, want)
		}
	}
}

// An incremental export alone is read as the changes of its time, and a full one is refused for them.
func TestExport_Changes(t *testing.T) {
	bucket, paths := chain(t, nil)
	layers := at(bucket.write(t, t.TempDir()), paths)
	o := exportOptions(layers[1])
	o.ChangesOnly = true
	e := openExport(t, o)
	if info := e.Info(); !info.OldestTime.Before(info.Time) || info.OldestTime.Format(time.RFC3339Nano) == info.Time.Format(time.RFC3339Nano) {
		t.Errorf("%+v", info)
	}
	got, err := readAll(t.Context(), e)
	if err != nil || len(got) == 0 || !strings.HasPrefix(got[0], "MODIFY 1 1 ") {
		t.Errorf("%q, %v", got, err)
	}
	for name, layers := range map[string][]string{"is a full export": layers[:1], "several exports": layers[1:3]} {
		o.Layers = layers
		if _, err := export.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
