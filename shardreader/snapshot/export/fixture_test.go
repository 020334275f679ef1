package export_test

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the checksum that DynamoDB writes
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

const streamARN = tableARN + "/stream/2026-11-21T07:00:00.000"

// files are the files of a bucket, by key.
type files map[string][]byte

// fixture describes an export. The format is that of AWS's documentation ("DynamoDB table export output format").
type fixture struct {
	prefix   string // of the keys, with a slash. Default: none
	id       string // Default: 01695097218000-d6299cbd
	change   map[string]any
	without  []string // fields of manifest-summary.json that are left out
	from, to string   // times of an incremental export
	view     string   // Default: NEW_AND_OLD_IMAGES
	checksum string   // ending of the checksum files: ".checksum" (default), ".md5" or "none"
	etag     string   // of the data files. Default: that of no object

	data  map[string]string // lines of the data files
	plain bool              // the data files are not compressed
}

func (f fixture) folder() string {
	id := f.id
	if id == "" {
		id = "01695097218000-d6299cbd"
	}
	return f.prefix + "AWSDynamoDB/" + id
}

func (f fixture) data1(lines ...string) map[string]string {
	return map[string]string{"a.json.gz": strings.Join(lines, "\n") + "\n"}
}

// add adds the files of the export to a bucket.
func (f fixture) add(t testing.TB, to files) files {
	t.Helper()
	dataFolder := f.folder() + "/data/"
	if f.from != "" {
		dataFolder = f.prefix + "AWSDynamoDB/data/"
	}
	items := 0
	var manifest bytes.Buffer
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f.data))) {
		content := []byte(f.data[name])
		if !f.plain {
			content = packed(t, f.data[name])
		}
		to[dataFolder+name] = content
		n := len(strings.Fields(strings.ReplaceAll(f.data[name], " ", "")))
		items += n
		etag := f.etag
		if etag == "" {
			etag = "af83d6f217c19b8b0fff8023d8ca4716-1"
		}
		line, err := json.Marshal(map[string]any{"itemCount": n, "md5Checksum": md5Of(content), "etag": etag, "dataFileS3Key": dataFolder + name})
		if err != nil {
			t.Fatal(err)
		}
		manifest.Write(append(line, '\n'))
	}
	summary := map[string]any{
		"version": "2020-06-30", "exportArn": exportARN, "startTime": "2026-11-04T07:28:34.028Z", "endTime": "2026-11-04T07:33:43.897Z",
		"tableArn": tableARN, "tableId": "12345a12-abcd-123a-ab12-1234abc12345", "exportTime": "2026-11-04T07:28:34.028Z",
		"s3Bucket": "ddb-shop-export", "s3Prefix": f.prefix, "s3SseAlgorithm": "AES256", "s3SseKmsKeyId": nil,
		"manifestFilesS3Key": f.folder() + "/manifest-files.json", "billedSizeBytes": 0, "itemCount": items, "outputFormat": "DYNAMODB_JSON",
	}
	if f.from != "" {
		delete(summary, "exportTime")
		summary["version"], summary["exportType"], summary["outputView"] = "2023-08-01", "INCREMENTAL_EXPORT", "NEW_AND_OLD_IMAGES"
		summary["exportFromTime"], summary["exportToTime"] = f.from, f.to
		if f.view != "" {
			summary["outputView"] = f.view
		}
	}
	maps.Copy(summary, f.change)
	for _, name := range f.without {
		delete(summary, name)
	}
	b, err := json.MarshalIndent(summary, "", "   ")
	if err != nil {
		t.Fatal(err)
	}
	to[f.folder()+"/_started"] = nil
	to[f.folder()+"/manifest-summary.json"] = b
	to[f.folder()+"/manifest-files.json"] = manifest.Bytes()
	ending := f.checksum
	if ending == "" {
		ending = ".checksum"
	}
	if ending != "none" {
		to[f.folder()+"/manifest-summary"+ending] = []byte(md5Of(b))
		to[f.folder()+"/manifest-files"+ending] = []byte(md5Of(manifest.Bytes()))
	}
	return to
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func md5Of(b []byte) string {
	sum := md5.Sum(b) //nolint:gosec // the checksum that DynamoDB writes
	return base64.StdEncoding.EncodeToString(sum[:])
}

// write writes the files into a folder, as a copy of the bucket.
func (f files) write(t testing.TB, dir string) string {
	t.Helper()
	for name, b := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// item is a line of a full export.
func item(pk string) string { return `{"Item":{"PK":{"S":"` + pk + `"},"n":{"N":"1"}}}` }

// options read layers of the table shop.
func exportOptions(layers ...string) export.Options {
	return export.Options{
		Layers:  layers,
		Decoder: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{StreamARN: streamARN}, Keys: []string{"PK"}},
	}
}

func openExport(t testing.TB, o export.Options) *export.Export {
	t.Helper()
	e, err := export.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// readPages reads a part to its end.
func readPages(ctx context.Context, s snapshot.Snapshot, id string, from pipeline.Position) (pages []*pipeline.Page, err error) {
	r, err := s.Open(ctx, id, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		p, err := r.Read(ctx)
		if errors.Is(err, io.EOF) {
			if _, err := r.Read(ctx); !errors.Is(err, io.EOF) {
				return pages, fmt.Errorf("after io.EOF: %w", err)
			}
			return pages, nil
		}
		if err != nil {
			return pages, err
		}
		decoded, err := p.Decode()
		if err != nil {
			return pages, err
		}
		if decoded.Bytes != p.Bytes {
			return pages, fmt.Errorf("%d bytes, %d before", decoded.Bytes, p.Bytes)
		}
		p.Page = *decoded
		pages = append(pages, p)
	}
}

// readAll returns the changes of all parts as texts, in the order of the parts.
func readAll(ctx context.Context, s snapshot.Snapshot) ([]string, error) {
	var all []string
	for _, part := range s.Parts() {
		pages, err := readPages(ctx, s, part.ID, "")
		if err != nil {
			return all, fmt.Errorf("part %s: %w", part.ID, err)
		}
		for _, p := range pages {
			all = append(all, texts(p)...)
		}
	}
	return all, nil
}

func texts(p *pipeline.Page) []string {
	var all []string
	for i := range p.Changes {
		c := &p.Changes[i]
		all = append(all, fmt.Sprintf("%s %s %s %s %s", c.Op, c.Key, c.Sequence, c.Old.Bytes(), c.New.Bytes()))
	}
	for _, e := range p.Errors {
		all = append(all, "error "+e.Error())
	}
	return all
}
