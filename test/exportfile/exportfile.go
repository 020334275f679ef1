// Package exportfile writes full exports of a table as DynamoDB does: see "DynamoDB table export output format" in the
// developer guide.
package exportfile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/md5"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Export describes a full export.
type Export struct {
	Table   string // ARN
	TableID string
	Bucket  string
	ID      string             // name of its folder
	Time    string             // the items are shown as of then
	End     string             // when DynamoDB had written the files
	Files   []iter.Seq[[]byte] // items of each data file, as JSON
	Level   int                // of the compression, as in [gzip.NewWriterLevel]. Default: [gzip.DefaultCompression]
}

// dataFile is a line of manifest-files.json.
type dataFile struct {
	ItemCount     int    `json:"itemCount"`
	MD5Checksum   string `json:"md5Checksum"`
	ETag          string `json:"etag"`
	DataFileS3Key string `json:"dataFileS3Key"`
}

// summary is manifest-summary.json.
type summary struct {
	Version            string  `json:"version"`
	ExportARN          string  `json:"exportArn"`
	StartTime          string  `json:"startTime"`
	EndTime            string  `json:"endTime"`
	TableARN           string  `json:"tableArn"`
	TableID            string  `json:"tableId"`
	ExportTime         string  `json:"exportTime"`
	S3Bucket           string  `json:"s3Bucket"`
	S3Prefix           string  `json:"s3Prefix"`
	S3SSEAlgorithm     string  `json:"s3SseAlgorithm"`
	S3SSEKMSKeyID      *string `json:"s3SseKmsKeyId"`
	ManifestFilesS3Key string  `json:"manifestFilesS3Key"`
	BilledSizeBytes    int     `json:"billedSizeBytes"`
	ItemCount          int     `json:"itemCount"`
	OutputFormat       string  `json:"outputFormat"`
}

// Write writes the export into dir, as a copy of its bucket.
func (e *Export) Write(dir string) error {
	folder := "AWSDynamoDB/" + e.ID
	var manifest bytes.Buffer
	count, size := 0, 0
	for n, items := range e.Files {
		packed, items, bytes, err := pack(items, cmp.Or(e.Level, gzip.DefaultCompression))
		if err != nil {
			return err
		}
		count, size = count+items, size+bytes
		sum := md5.Sum(packed)
		key := fmt.Sprintf("%s/data/%s.json.gz", folder, e.fileName(n))
		line, err := json.Marshal(dataFile{items, base64.StdEncoding.EncodeToString(sum[:]), fmt.Sprintf("%x-1", sum), key})
		if err != nil {
			return err
		}
		manifest.Write(append(line, '\n'))
		if err := writeFile(dir, key, packed); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(summary{
		Version: "2020-06-30", ExportARN: e.Table + "/export/" + e.ID,
		StartTime: e.Time, EndTime: e.End, TableARN: e.Table, TableID: e.TableID,
		ExportTime: e.Time, S3Bucket: e.Bucket, S3SSEAlgorithm: "AES256",
		ManifestFilesS3Key: folder + "/manifest-files.json", BilledSizeBytes: size, ItemCount: count, OutputFormat: "DYNAMODB_JSON",
	}, "", "  ")
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{"manifest-files": manifest.Bytes(), "manifest-summary": text} {
		sum := md5.Sum(b)
		err := cmp.Or(
			writeFile(dir, folder+"/"+name+".json", b),
			writeFile(dir, folder+"/"+name+".checksum", []byte(base64.StdEncoding.EncodeToString(sum[:]))),
		)
		if err != nil {
			return err
		}
	}
	return writeFile(dir, folder+"/_started", nil)
}

// fileName returns the name of the n-th data file: 26 characters that say nothing, as DynamoDB's.
func (e *Export) fileName(n int) string {
	sum := md5.Sum([]byte(e.ID + string(rune('a'+n))))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// pack returns a data file, the number of its items, and their size.
func pack(items iter.Seq[[]byte], level int) (packed []byte, count, size int, err error) {
	var to bytes.Buffer
	z, err := gzip.NewWriterLevel(&to, level)
	if err != nil {
		return nil, 0, 0, err
	}
	var line []byte
	for item := range items {
		line = append(append(append(line[:0], `{"Item":`...), item...), "}\n"...)
		if _, err := z.Write(line); err != nil {
			return nil, 0, 0, err
		}
		count, size = count+1, size+len(line)
	}
	err = z.Close()
	return to.Bytes(), count, size, err
}

func writeFile(dir, key string, b []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
