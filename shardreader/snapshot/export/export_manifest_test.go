package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

func TestExport_Refusals(t *testing.T) {
	set := func(name string, v any) func(*fixture) {
		return func(f *fixture) { f.change = map[string]any{name: v} }
	}
	without := func(name string) func(*fixture) { return func(f *fixture) { f.without = []string{name} } }
	incremental := func(change func(*fixture)) func(*fixture) {
		return func(f *fixture) {
			f.from, f.to = time1, time2
			change(f)
		}
	}
	for _, tt := range []struct {
		change func(*fixture)
		want   string
	}{
		{set("outputFormat", "ION"), "outputFormat is ION: export the table again with ExportFormat DYNAMODB_JSON"},
		{set("outputFormat", "CSV"), `outputFormat is "CSV"`},
		{without("outputFormat"), `outputFormat is ""`},
		{set("exportStatus", "IN_PROGRESS"), `exportStatus is "IN_PROGRESS": wait until it is COMPLETED`},
		{set("exportStatus", "FAILED"), `exportStatus is "FAILED"`},
		{set("exportType", "OTHER"), `exportType is "OTHER"`},
		{without("exportTime"), "exportTime is missing"},
		{without("tableArn"), "tableArn is missing"},
		{without("itemCount"), "itemCount is missing"},
		{set("itemCount", 2), "have 1 items, and manifest-summary.json says 2"},
		{set("exportTime", "yesterday"), "manifest-summary.json: "},
		{incremental(without("exportToTime")), "exportFromTime or exportToTime is missing"},
		{incremental(without("exportFromTime")), "exportFromTime or exportToTime is missing"},
		{incremental(without("outputView")), `outputView is ""`},
		{incremental(set("outputView", "OLD_IMAGE")), `outputView is "OLD_IMAGE"`},
	} {
		f := fixture{}
		f.data = f.data1(item("1"))
		tt.change(&f)
		dir := f.add(t, files{}).write(t, t.TempDir())
		_, err := export.Open(t.Context(), exportOptions(dir))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "manifest-summary.json") {
			t.Errorf("want %s, got %v", tt.want, err)
		}
	}
	f := fixture{change: map[string]any{"exportStatus": "COMPLETED", "exportType": "FULL_EXPORT"}}
	f.data = f.data1(item("1"))
	openExport(t, exportOptions(f.add(t, files{}).write(t, t.TempDir())))
}

// Entries of manifest-files.json may be on several lines each, as in AWS's documentation, and may be invalid.
func TestExport_Entries(t *testing.T) {
	f := fixture{checksum: "none"}
	f.data = f.data1(item("1"))
	bucket := f.add(t, files{})
	manifest := f.folder() + "/manifest-files.json"
	entry := string(bucket[manifest])
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(bucket[manifest]), "", "  "); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, want string }{
		{indented.String(), ""},
		{strings.Replace(entry, `"itemCount":1`, `"itemCount":-1`, 1), "entry 1: itemCount of AWSDynamoDB/"},
		{strings.Replace(entry, `"itemCount":1`, `"count":1`, 1), "entry 1: itemCount of AWSDynamoDB/"},
		{strings.Replace(entry, `"dataFileS3Key"`, `"key"`, 1), "entry 1: dataFileS3Key is missing"},
		{strings.Replace(entry, `"md5Checksum":"`, `"md5Checksum":"x`, 1), "is not the base64 of an MD5"},
		{entry + entry, "entry 2: the data file a.json.gz is named twice"},
		{entry + "{", "entry 2: "},
		{"", "have 0 items"},
	} {
		bucket[manifest] = []byte(tt.text)
		_, err := export.Open(t.Context(), exportOptions(bucket.write(t, t.TempDir())))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "manifest-files.json")) {
			t.Errorf("%s: want %s, got %v", tt.text, tt.want, err)
		}
	}
}

// The checksum files of manifests have one of two names. Without them there is a warning.
func TestExport_Checksums(t *testing.T) {
	for ending, warnings := range map[string]int{".checksum": 0, ".md5": 0, "none": 2} {
		f := fixture{checksum: ending}
		f.data = f.data1(item("1"))
		bucket := f.add(t, files{})
		o := exportOptions(bucket.write(t, t.TempDir()))
		var warned []string
		o.OnWarning = func(text string) { warned = append(warned, text) }
		openExport(t, o)
		if len(warned) != warnings || warnings > 0 && !strings.Contains(warned[0], "manifest-summary.json has no checksum file beside it (manifest-summary.checksum or manifest-summary.md5)") {
			t.Errorf("%s: warnings %q", ending, warned)
		}
		if ending == "none" {
			continue
		}
		// Both files count if both are there.
		other := map[string]string{".checksum": ".md5", ".md5": ".checksum"}[ending]
		for _, manifest := range []string{"/manifest-summary", "/manifest-files"} {
			sum := bucket[f.folder()+manifest+ending]
			padded := string(sum[:21]) + string(sum[21]+1) + "==" // with a bit that is not part of the MD5
			for text, want := range map[string]string{
				md5Of(nil): manifest[1:] + ".json does not match its checksum in " + manifest[1:] + other,
				"":         manifest[1:] + other + " is not the base64 of an MD5: copy the file again, or delete it",
				padded:     manifest[1:] + other + " is not the base64 of an MD5",
			} {
				changed := maps.Clone(bucket)
				changed[f.folder()+manifest+other] = []byte(text)
				if _, err := export.Open(t.Context(), exportOptions(changed.write(t, t.TempDir()))); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q: %v, want %s", text, err, want)
				}
			}
		}
	}
}

// A file that is cut, longer, or has another byte is an error, and nothing of a damaged data file is returned.
func TestExport_NoDamageIsSilent(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		bucket, paths := chain(t, func(layers []fixture) {
			for i := range layers {
				layers[i].plain = rapid.Bool().Draw(r, "plain")
				layers[i].checksum = rapid.SampledFrom([]string{".checksum", ".md5"}).Draw(r, "checksum")
			}
			layers[0].data["empty.json.gz"] = ""
		})
		var names []string
		for _, name := range slices.Sorted(maps.Keys(bucket)) {
			if !strings.HasSuffix(name, "/_started") {
				names = append(names, name)
			}
		}
		name := rapid.SampledFrom(names).Draw(r, "file")
		b := slices.Clone(bucket[name])
		switch i := rapid.IntRange(0, max(0, len(b)-1)).Draw(r, "at"); {
		case len(b) == 0 || rapid.IntRange(0, 9).Draw(r, "longer") == 0:
			b = append(b, rapid.SampledFrom([]string{"\n", "{", " ", item("9"), string(packed(t, "")), "\x1f\x8b"}).Draw(r, "more")...)
		case rapid.Bool().Draw(r, "cut"):
			b = b[:i]
		default:
			b[i] ^= byte(rapid.IntRange(1, 255).Draw(r, "flip"))
		}
		if isChecksum := strings.HasSuffix(name, "m") || strings.HasSuffix(name, "5"); isChecksum && strings.TrimSpace(string(b)) == string(bucket[name]) {
			return // white space beside a checksum
		}
		bucket[name] = b
		n++
		dir := filepath.Join(base, strings.Repeat("x", 1+n%2))
		if err := os.RemoveAll(dir); err != nil {
			r.Fatal(err)
		}
		e, err := export.Open(t.Context(), exportOptions(at(bucket.write(t, dir), paths)...))
		if err != nil {
			return
		}
		if !strings.Contains(name, "/data/") {
			r.Fatalf("%s is damaged, and that is no error", name)
		}
		damaged := 0
		for _, part := range e.Parts() {
			pages, err := readPages(t.Context(), e, part.ID, "")
			if filepath.Base(part.ID) != filepath.Base(name) {
				if err != nil {
					r.Fatal(err)
				}
				continue
			}
			damaged++
			if err == nil || len(pages) > 0 || !strings.Contains(err.Error(), filepath.Base(name)) || !strings.Contains(err.Error(), "copy the file again") {
				r.Fatalf("%s is damaged: %d pages, %v", name, len(pages), err)
			}
		}
		if damaged != 1 {
			r.Fatalf("%s is no part", name)
		}
	})
}

// The number of items is compared, too: the manifest may be wrong.
func TestExport_ItemCount(t *testing.T) {
	for _, n := range []int{1, 3} {
		f := fixture{checksum: "none"}
		f.data = f.data1(item("1"), item("2"))
		bucket := f.add(t, files{})
		for name, was := range map[string]string{"/manifest-summary.json": `"itemCount": 2`, "/manifest-files.json": `"itemCount":2`} {
			name = f.folder() + name
			bucket[name] = bytes.Replace(bucket[name], []byte(was), []byte(was[:len(was)-1]+string(rune('0'+n))), 1)
		}
		_, err := readAll(t.Context(), openExport(t, exportOptions(bucket.write(t, t.TempDir()))))
		want := fmt.Sprintf("a.json.gz: it has 2 items, and manifest-files.json says %d", n)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", n, err)
		}
	}
}
