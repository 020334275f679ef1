package shop

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" //nolint:gosec // the checksum of an export
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Export writes a full export of the table as it is now into a folder. table is the ARN of the table.
func (s *Shop) Export(dir, table string) error {
	e := export{dir: dir, table: table, files: make([][]string, 16+s.Len()/4000), summary: map[string]any{"version": "2020-06-30", "exportType": "FULL_EXPORT"}}
	s.mu.Lock()
	for pk, it := range s.items {
		e.add(pk, len(e.files)-1, `{"Item":`+it.JSON()+`}`) // the last file stays empty
	}
	s.endExport(&e)
	s.mu.Unlock()
	return e.write()
}

// ExportChanges writes an incremental export of the changes since the last export.
func (s *Shop) ExportChanges(dir, table string) error {
	e := export{dir: dir, table: table, files: make([][]string, 4), summary: map[string]any{
		"version": "2023-08-01", "exportType": "INCREMENTAL_EXPORT", "outputView": "NEW_AND_OLD_IMAGES",
	}}
	s.mu.Lock()
	e.summary["exportFromTime"] = exportTime(s.exported)
	for pk, w := range s.written {
		line := fmt.Sprintf(`{"Metadata":{"WriteTimestampMicros":{"N":"%d"}},"Keys":%s`, w.last.UnixMicro(), KeyJSON(pk))
		if it, ok := s.items[pk]; ok {
			line += `,"NewImage":` + it.JSON()
		}
		if w.old != "" {
			line += `,"OldImage":` + w.old
		}
		e.add(pk, len(e.files), line+"}")
	}
	s.endExport(&e)
	s.mu.Unlock()
	return e.write()
}

func exportTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// export is an export of the table with the ARN table.
type export struct {
	dir, table string
	files      [][]string // lines
	summary    map[string]any
	time       time.Time
}

// add adds the line of an item to one of the first n files.
func (e *export) add(pk string, n int, line string) {
	i := PartOf(pk, n)
	e.files[i] = append(e.files[i], line)
}

// endExport sets the time of an export to now, and forgets the writes that were noted. The caller holds mu.
func (s *Shop) endExport(e *export) {
	e.time = time.Now().UTC().Truncate(time.Millisecond)
	s.exported = e.time
	clear(s.written)
}

// write writes the files, in the format of "DynamoDB table export output format" in AWS's developer guide.
func (e *export) write() error {
	table, summary, now := e.table, e.summary, e.time
	id := fmt.Sprintf("%014d-d6299cbd", now.UnixMilli())
	folder, isIncremental := "AWSDynamoDB/"+id, summary["exportFromTime"] != nil
	items := 0
	var manifest bytes.Buffer
	for n, lines := range e.files {
		key := fmt.Sprintf("%s/data/file%02d.json.gz", folder, n)
		if isIncremental {
			key = fmt.Sprintf("AWSDynamoDB/data/%s-%02d.json.gz", id, n)
		}
		items += len(lines)
		line, err := e.writeData(key, lines)
		if err != nil {
			return err
		}
		manifest.Write(append(line, '\n'))
	}
	if isIncremental {
		summary["exportToTime"] = exportTime(now)
	} else {
		summary["exportTime"] = exportTime(now)
	}
	for name, v := range map[string]any{
		"exportArn": table + "/export/" + id, "startTime": exportTime(now), "endTime": exportTime(now), "tableArn": table, "tableId": "6d1f0f2e-52c4-4a35-9c4b-4e4a1a2f7c10",
		"s3Bucket": "shop-exports", "s3SseAlgorithm": "AES256", "manifestFilesS3Key": folder + "/manifest-files.json", "billedSizeBytes": 0, "itemCount": items, "outputFormat": "DYNAMODB_JSON",
	} {
		summary[name] = v
	}
	text, err := json.Marshal(summary)
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{
		"manifest-files.json": manifest.Bytes(), "manifest-files.checksum": []byte(base64MD5(manifest.Bytes())),
		"manifest-summary.json": text, "manifest-summary.checksum": []byte(base64MD5(text)),
	} {
		if err := writeUnder(e.dir, folder+"/"+name, b); err != nil {
			return err
		}
	}
	return nil
}

// writeData writes a data file, and returns its line of manifest-files.json.
func (e *export) writeData(key string, lines []string) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, line := range lines {
		_, _ = z.Write([]byte(line + "\n")) // into memory
	}
	_ = z.Close() // into memory
	if err := writeUnder(e.dir, key, b.Bytes()); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"itemCount": len(lines), "md5Checksum": base64MD5(b.Bytes()), "dataFileS3Key": key,
		"etag": "af83d6f217c19b8b0fff8023d8ca4716-1",
	})
}

func base64MD5(b []byte) string {
	sum := md5.Sum(b) //nolint:gosec // the checksum of an export
	return base64.StdEncoding.EncodeToString(sum[:])
}

// writeUnder writes a file of a folder.
func writeUnder(dir, name string, b []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
