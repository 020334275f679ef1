package export

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the checksum that DynamoDB writes
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// The names of the manifests and of the data folder.
const (
	summaryFile  = "manifest-summary.json" // DynamoDB writes it last
	fileListFile = "manifest-files.json"
	dataFolder   = "data"
)

// maxFileList is the maximum size of manifest-files.json, in bytes. It has about 300 bytes for each data file.
const maxFileList = 1 << 30

// checksumEndings are the endings of checksum files, which replace .json. The first ending is in AWS's documentation.
// The second ending was found in buckets.
var checksumEndings = []string{".checksum", ".md5"}

// manifestSummary is the content of manifest-summary.json.
type manifestSummary struct {
	TableARN     string     `json:"tableArn"`
	TableID      string     `json:"tableId"`
	ExportStatus string     `json:"exportStatus"` // undocumented; if it is set, it must be COMPLETED
	ExportType   string     `json:"exportType"`   // absent in older exports, which are full exports
	ExportTime   *time.Time `json:"exportTime"`
	FromTime     *time.Time `json:"exportFromTime"` // inclusive
	ToTime       *time.Time `json:"exportToTime"`   // exclusive
	OutputFormat string     `json:"outputFormat"`
	OutputView   string     `json:"outputView"` // images of an incremental export
	ItemCount    *int64     `json:"itemCount"`

	incremental  bool
	changesSince time.Time // start of an incremental export
	time         time.Time // end of an incremental export, or the time of a full one
	view         record.ViewType
}

// dataFile is a file with one item per line.
type dataFile struct {
	layer *layer
	name  string // name in the store
	items int64
	bytes int64 // stored size
	md5   [md5.Size]byte
	etag  string // ETag of the object that DynamoDB wrote; "" if unknown
}

func (f *dataFile) baseName() string { return path.Base(f.name) }

// location returns the name of the file for messages.
func (f *dataFile) location() redact.Safe { return f.layer.store.location(f.name) }

// readSummary reads manifest-summary.json.
func (l *layer) readSummary(ctx context.Context) error {
	content, err := l.readManifest(ctx, summaryFile, 1<<20)
	if err != nil {
		return err
	}
	location := l.location() + summaryFile
	if err := json.Unmarshal(content, &l.summary); err != nil {
		return errs.Errorf("export: %s: %w: "+copyAgainHint, location, err)
	}
	if err := l.summary.interpret(); err != nil {
		return errs.Errorf("export: %s: %w", location, err)
	}
	return nil
}

// interpret sets the fields incremental, changesSince, time and view. It returns an error if the export cannot be read.
func (s *manifestSummary) interpret() error {
	switch {
	case s.ExportStatus != "" && s.ExportStatus != "COMPLETED":
		return errs.Errorf("exportStatus is %q: wait until it is COMPLETED, or export the table again",
			redact.Safe(s.ExportStatus))
	case s.OutputFormat == "ION":
		return errs.New("outputFormat is ION: export the table again with ExportFormat DYNAMODB_JSON")
	case s.OutputFormat != "DYNAMODB_JSON":
		return errs.Errorf("outputFormat is %q: export the table with ExportFormat DYNAMODB_JSON",
			redact.Safe(s.OutputFormat))
	case s.TableARN == "":
		return errs.New("tableArn is missing: " + copyAgainHint)
	case s.ItemCount == nil:
		return errs.New("itemCount is missing: " + copyAgainHint)
	}
	s.view = record.NewAndOldImages
	switch s.ExportType {
	case "", "FULL_EXPORT":
		if s.ExportTime == nil {
			return errs.New("exportTime is missing: " + copyAgainHint)
		}
		s.time = s.ExportTime.UTC()
		return nil
	case "INCREMENTAL_EXPORT":
		return s.interpretIncremental()
	}
	return errs.Errorf("exportType is %q: want FULL_EXPORT or INCREMENTAL_EXPORT", redact.Safe(s.ExportType))
}

// interpretIncremental is interpret for the fields of an incremental export.
func (s *manifestSummary) interpretIncremental() error {
	s.incremental = true
	if s.FromTime == nil || s.ToTime == nil {
		return errs.New("exportFromTime or exportToTime is missing: " + copyAgainHint)
	}
	s.changesSince, s.time = s.FromTime.UTC(), s.ToTime.UTC()
	switch s.OutputView {
	case "NEW_AND_OLD_IMAGES":
	case "NEW_IMAGE", "NEW_IMAGES":
		s.view = record.NewImage
	default:
		return errs.Errorf("outputView is %q: want NEW_AND_OLD_IMAGES or NEW_IMAGE", redact.Safe(s.OutputView))
	}
	return nil
}

// copyAgainHint is the advice for a damaged file.
const copyAgainHint = "copy the file again from where DynamoDB wrote it, or export the table again"

// readFileList reads manifest-files.json.
func (l *layer) readFileList(ctx context.Context) error {
	content, err := l.readManifest(ctx, fileListFile, maxFileList)
	if err != nil {
		return err
	}
	location := l.location() + fileListFile
	if err := l.decodeFileList(content); err != nil {
		return errs.Errorf("export: %s: %w: "+copyAgainHint, location, err)
	}
	total := int64(0)
	for _, f := range l.files {
		total += f.items
	}
	if total != *l.summary.ItemCount {
		return errs.Errorf("export: the files that %s names have %d items, and "+summaryFile+" says %d: "+copyAgainHint,
			location, total, *l.summary.ItemCount)
	}
	return nil
}

// decodeFileList sets the data files.
func (l *layer) decodeFileList(content []byte) error {
	bases := make(map[string]bool)
	d := json.NewDecoder(bytes.NewReader(content))
	for n := 1; ; n++ {
		f, err := decodeFileEntry(d)
		switch {
		case pipeline.IsEnd(err):
			return nil
		case err != nil:
			return errs.Errorf("entry %d: %w", n, err)
		case bases[f.baseName()]:
			return errs.Errorf("entry %d: the data file %s is named twice", n, redact.Safe(f.baseName()))
		}
		f.layer = l
		bases[f.baseName()] = true
		l.files = append(l.files, f)
	}
}

// decodeFileEntry reads an entry of manifest-files.json. It returns io.EOF after the last entry.
func decodeFileEntry(d *json.Decoder) (*dataFile, error) {
	var entry struct {
		Items *int64 `json:"itemCount"`
		MD5   string `json:"md5Checksum"`
		ETag  string `json:"etag"`
		Key   string `json:"dataFileS3Key"`
	}
	if err := d.Decode(&entry); err != nil {
		return nil, err
	}
	switch {
	case entry.Key == "" || strings.HasSuffix(entry.Key, "/"):
		return nil, errs.New("dataFileS3Key is missing")
	case entry.Items == nil || *entry.Items < 0:
		return nil, errs.Errorf("itemCount of %s is missing or negative", redact.Safe(entry.Key))
	}
	sum, ok := parseMD5(entry.MD5)
	if !ok {
		return nil, errs.Errorf("md5Checksum of %s is not the base64 of an MD5", redact.Safe(entry.Key))
	}
	etag := strings.Trim(entry.ETag, `"`)
	return &dataFile{name: entry.Key, items: *entry.Items, bytes: -1, md5: sum, etag: etag}, nil
}

// parseMD5 parses an MD5 in base64, as DynamoDB writes it, or in hexadecimal digits, as md5sum writes it. ok is false
// for other texts.
func parseMD5(s string) (sum [md5.Size]byte, ok bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != md5.Size {
		b, err = hex.DecodeString(s)
	}
	if err != nil || len(b) != md5.Size {
		return sum, false
	}
	return [md5.Size]byte(b), true
}

// readManifest returns the content of a manifest. It compares the content with the checksum files of the manifest, and
// warns if there is none.
func (l *layer) readManifest(ctx context.Context, base string, maxBytes int64) ([]byte, error) {
	content, err := l.readFile(ctx, base, maxBytes)
	if err != nil {
		return nil, err
	}
	location, name := l.location()+redact.Safe(base), strings.TrimSuffix(base, ".json")
	isCompared := false
	for _, ending := range checksumEndings {
		if !l.fileNames[name+ending] {
			continue
		}
		want, err := l.readChecksum(ctx, name+ending)
		if err != nil {
			return nil, err
		}
		if md5.Sum(content) != want { //nolint:gosec // the checksum that DynamoDB writes
			return nil, errs.Errorf("export: %s does not match its checksum in %s: one of them is damaged: "+copyAgainHint,
				location, redact.Safe(name+ending))
		}
		isCompared = true
	}
	if !isCompared {
		l.warn(fmt.Sprintf("export: %s has no checksum file beside it (%s or %s): damage of it may go unnoticed", location,
			name+checksumEndings[0], name+checksumEndings[1]))
	}
	return content, nil
}

// readChecksum reads the checksum file of a manifest.
func (l *layer) readChecksum(ctx context.Context, base string) (sum [md5.Size]byte, err error) {
	text, err := l.readFile(ctx, base, 4<<10)
	if err != nil {
		return sum, err
	}
	sum, ok := parseMD5(strings.TrimSpace(string(text)))
	if !ok {
		err = errs.Errorf(
			"export: %s is not the base64 of an MD5: copy the file again, or delete it to read the manifest without it",
			l.location()+redact.Safe(base))
	}
	return sum, err
}

// readFile reads a file in the folder of the export. It adds the name of the file to an error.
func (l *layer) readFile(ctx context.Context, base string, maxBytes int64) (content []byte, err error) {
	r, err := l.store.open(ctx, path.Join(l.folder, base))
	if err == nil {
		content, err = bounded.ReadAll(r, maxBytes)
		err = errors.Join(err, r.Close())
	}
	switch location := l.location() + redact.Safe(base); {
	case errors.Is(err, errMissing):
		return nil, errs.Errorf("export: %s is missing: "+copyAgainHint, location)
	case err != nil:
		return nil, errs.Errorf("export: %s: %w", location, err)
	}
	return content, nil
}
