package backfill_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" //nolint:gosec // exports use MD5
	"encoding/base64"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/test/exportfile"
)

// incrementalExport writes an export of the hour after 2026-01-02T03:00:00Z with one change.
func incrementalExport(t *testing.T, table, view, line string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	const folder, data = "AWSDynamoDB/01760000000000-abcdef01", "AWSDynamoDB/data/abcdef.json.gz"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sum := func(b []byte) string {
		s := md5.Sum(b) //nolint:gosec // exports use MD5
		return base64.StdEncoding.EncodeToString(s[:])
	}
	write := func(name string, b []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		must(os.WriteFile(path, b, 0o600))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(line + "\n"))
	must(err)
	must(z.Close())
	write(data, packed.Bytes())
	files, err := json.Marshal(map[string]any{"itemCount": 1, "md5Checksum": sum(packed.Bytes()), "dataFileS3Key": data})
	must(err)
	about, err := json.Marshal(map[string]any{
		"version": "2023-08-01", "tableArn": table, "exportType": "INCREMENTAL_EXPORT", "outputView": view,
		"outputFormat": "DYNAMODB_JSON", "exportFromTime": "2026-01-02T03:00:00Z", "exportToTime": "2026-01-02T04:00:00Z",
		"itemCount": 1, "manifestFilesS3Key": folder + "/manifest-files.json",
	})
	must(err)
	for name, b := range map[string][]byte{"manifest-files": append(files, '\n'), "manifest-summary": about} {
		write(folder+"/"+name+".json", b)
		write(folder+"/"+name+".checksum", []byte(sum(b)))
	}
	return dir
}

// An incremental export without old images does not show where a row was before it moved. The export is refused for
// sinks that need old images, and read for other sinks.
func TestExportOfNewImages(t *testing.T) {
	const table = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"
	const line = `{"Metadata":{"WriteTimestampMicros":{"N":"1767323045000000"}},"Keys":{"PK":{"S":"a"}},` +
		`"OldImage":{"PK":{"S":"a"},"Status":{"S":"open"}},"NewImage":{"PK":{"S":"a"},"Status":{"S":"paid"}}}`
	full := t.TempDir()
	e := exportfile.Export{
		Table: table, Bucket: "b", ID: "01695097218000-d6299cbd", Time: "2026-01-02T03:00:00Z", End: "2026-01-02T03:05:00Z",
		Files: []iter.Seq[[]byte]{func(yield func([]byte) bool) { yield([]byte(`{"PK":{"S":"a"},"Status":{"S":"open"}}`)) }},
	}
	if err := e.Write(full); err != nil {
		t.Fatal(err)
	}
	const old = `"OldImage":{"PK":{"S":"a"},"Status":{"S":"open"}},`
	newOnly := incrementalExport(t, table, "NEW_IMAGE", strings.Replace(line, old, "", 1))
	both := incrementalExport(t, table, "NEW_AND_OLD_IMAGES", line)
	cfg := filepath.Join(t.TempDir(), "tablewake.yaml")
	text := "version: 1\nname: shop\nsource: {table: shop}\nstate: {table: state}\nsinks:\n" +
		"  moving: {view: {table: rows, key: {PK: 'S#{Status}', SK: '{@key}'}}}\n" +
		"  staying: {search: {index: items}}\n"
	if err := os.WriteFile(cfg, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(code int, sink, incremental string, more ...string) string {
		t.Helper()
		out, said := program.Run(t, code, append([]string{
			"backfill", "-c", cfg, "--local", filepath.Join(t.TempDir(), "out"), "--keys", "PK", "--sink", sink,
			"--export", full, "--export", incremental,
		}, more...)...)
		return out + said
	}
	const refused = "an incremental export has new images only: export again with ExportViewType NEW_AND_OLD_IMAGES"
	if said := run(cli.ExitFailure, "moving", newOnly); !strings.Contains(said, refused) {
		t.Errorf("for a row that moves it says %s", said)
	}
	if said := run(cli.ExitFailure, "moving", newOnly, "--dry-run"); !strings.Contains(said, "this is refused: "+refused) {
		t.Errorf("a dry run says %s", said)
	}
	said := run(cli.ExitOK, "staying", newOnly, "--dry-run", "--type", "Order")
	if !strings.Contains(said, ": 2 parts, 2 items, ") || !strings.Contains(said, " bytes before narrowing\n") {
		t.Errorf("a dry run of a part of the items says %s", said)
	}
	for sink, incremental := range map[string]string{"moving": both, "staying": newOnly} {
		if said := run(cli.ExitOK, sink, incremental); !strings.Contains(said, sink+": live\n") {
			t.Errorf("of %s it says %s", sink, said)
		}
	}
}
