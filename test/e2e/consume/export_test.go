package consume

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" //nolint:gosec // the checksum of an export
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop is the table of a streamserver, and what an export of it shows.
type shop struct {
	stream *stream

	mu       sync.Mutex // held during each write, so that an export shows one moment
	rand     *rand.Rand
	writes   int
	items    map[string]string  // DynamoDB JSON, by PK
	written  map[string]written // items that were written since the last export, by PK
	exported time.Time          // when it was
}

// written is how an item was at an export, and when it was written last.
type written struct {
	old  string // "": there was none
	last time.Time
}

func newShop(s *stream) *shop {
	return &shop{stream: s, rand: rand.New(rand.NewPCG(3, 3)), items: make(map[string]string), written: make(map[string]written)}
}

// fill puts the items 0 to n-1.
func (s *shop) fill(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		s.put(t, fmt.Sprintf("item#%d", i))
	}
}

// write changes items among the first n, until it is told to stop or has written as often as there are items: then
// consumers of a machine that has too much to do catch up. One of eight writes deletes, half of those as time to live does,
// and later writes insert again.
func (s *shop) write(t *testing.T, n, perSecond int, stop <-chan struct{}) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for range n {
		select {
		case <-stop:
			return
		case <-t.Context().Done():
			return
		case <-tick.C:
		}
		pk := fmt.Sprintf("item#%d", s.rand.IntN(n))
		if s.rand.IntN(8) > 0 {
			s.put(t, pk)
		} else {
			s.remove(t, pk, s.rand.IntN(2) == 0)
		}
	}
}

func (s *shop) put(t *testing.T, pk string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	item := fmt.Sprintf(`{"PK":{"S":%q},"SK":{"S":"order"},"Status":{"S":%q},"Customer":{"S":"c%d"},"Total":{"N":"%d.%02d"},"Write":{"N":"%d"}}`,
		pk, []string{"open", "paid", "shipped"}[s.rand.IntN(3)], s.rand.IntN(40), s.rand.IntN(1000), s.rand.IntN(100), s.writes)
	s.note(pk)
	s.items[pk] = item
	s.stream.do(t, http.MethodPost, "/admin/put", map[string]any{"item": json.RawMessage(item)}, nil)
}

func (s *shop) remove(t *testing.T, pk string, expire bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items[pk] == "" {
		return
	}
	s.note(pk)
	delete(s.items, pk)
	s.stream.do(t, http.MethodPost, "/admin/delete", map[string]any{"item": json.RawMessage(keyOf(pk)), "expire": expire}, nil)
}

// note notes how an item was at the last export.
func (s *shop) note(pk string) {
	w, ok := s.written[pk]
	if !ok {
		w.old = s.items[pk]
	}
	w.last = time.Now()
	s.written[pk] = w
}

func keyOf(pk string) string { return fmt.Sprintf(`{"PK":{"S":%q},"SK":{"S":"order"}}`, pk) }

// export writes a full export of the table as it is now, and returns its folder.
func (s *shop) export(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	files := make([][]string, 16)
	for pk, item := range s.items {
		n := fileOf(pk, len(files)-1) // the last file stays empty
		files[n] = append(files[n], `{"Item":`+item+`}`)
	}
	return s.writeExport(t, files, map[string]any{"version": "2020-06-30", "exportType": "FULL_EXPORT"})
}

// exportChanges writes an incremental export of what was written since the last export, and returns its folder.
func (s *shop) exportChanges(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	files := make([][]string, 4)
	for pk, w := range s.written {
		line := fmt.Sprintf(`{"Metadata":{"WriteTimestampMicros":{"N":"%d"}},"Keys":%s`, w.last.UnixMicro(), keyOf(pk))
		for _, image := range [][2]string{{"NewImage", s.items[pk]}, {"OldImage", w.old}} {
			if image[1] != "" {
				line += fmt.Sprintf(`,%q:%s`, image[0], image[1])
			}
		}
		n := fileOf(pk, len(files))
		files[n] = append(files[n], line+"}")
	}
	return s.writeExport(t, files, map[string]any{
		"version": "2023-08-01", "exportType": "INCREMENTAL_EXPORT", "outputView": "NEW_AND_OLD_IMAGES", "exportFromTime": exportTime(s.exported),
	})
}

// fileOf is which of n data files has an item.
func fileOf(pk string, n int) int {
	h := fnv.New32a()
	h.Write([]byte(pk))
	return int(h.Sum32() % uint32(n)) //nolint:gosec // n is small
}

func exportTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// writeExport writes the files of an export that ends now, in the format of "DynamoDB table export output format" in
// AWS's developer guide.
func (s *shop) writeExport(t *testing.T, files [][]string, summary map[string]any) string {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	var st struct{ Stream string }
	s.stream.do(t, http.MethodGet, "/admin/stats", nil, &st)
	table, _, _ := strings.Cut(st.Stream, "/stream/")
	dir, id := t.TempDir(), fmt.Sprintf("%014d-d6299cbd", now.UnixMilli())
	folder := "AWSDynamoDB/" + id
	items := 0
	var manifest bytes.Buffer
	for n, lines := range files {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for _, line := range lines {
			_, _ = z.Write([]byte(line + "\n")) // into memory
		}
		_ = z.Close() // into memory
		key := fmt.Sprintf("%s/data/file%02d.json.gz", folder, n)
		if summary["exportFromTime"] != nil {
			key = fmt.Sprintf("AWSDynamoDB/data/%s-%02d.json.gz", id, n)
		}
		items += len(lines)
		writeUnder(t, dir, key, b.Bytes())
		line, err := json.Marshal(map[string]any{"itemCount": len(lines), "md5Checksum": base64MD5(b.Bytes()), "etag": "af83d6f217c19b8b0fff8023d8ca4716-1", "dataFileS3Key": key})
		if err != nil {
			t.Fatal(err)
		}
		manifest.Write(append(line, '\n'))
	}
	summary["exportTime"] = exportTime(now)
	if summary["exportFromTime"] != nil {
		delete(summary, "exportTime")
		summary["exportToTime"] = exportTime(now)
	}
	for name, v := range map[string]any{
		"exportArn": table + "/export/" + id, "startTime": exportTime(now), "endTime": exportTime(now), "tableArn": table, "tableId": "6d1f0f2e-52c4-4a35-9c4b-4e4a1a2f7c10",
		"s3Bucket": "shop-exports", "s3SseAlgorithm": "AES256", "manifestFilesS3Key": folder + "/manifest-files.json", "billedSizeBytes": 0, "itemCount": items, "outputFormat": "DYNAMODB_JSON",
	} {
		summary[name] = v
	}
	text, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"manifest-files": manifest.Bytes(), "manifest-summary": text} {
		writeUnder(t, dir, folder+"/"+name+".json", b)
		writeUnder(t, dir, folder+"/"+name+".checksum", []byte(base64MD5(b)))
	}
	s.exported = now
	clear(s.written)
	return dir
}

func base64MD5(b []byte) string {
	sum := md5.Sum(b) //nolint:gosec // the checksum of an export
	return base64.StdEncoding.EncodeToString(sum[:])
}

// writeUnder writes a file of a folder.
func writeUnder(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
