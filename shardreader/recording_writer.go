package shardreader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// recordWriter writes the pages of all shards, and counts their records. It is safe for concurrent use.
type recordWriter struct {
	mu         sync.Mutex // guards the fields below
	w          io.Writer
	buf        bytes.Buffer
	mask       *mask.Mask
	recording  Recording
	progress   func(RecordProgress)
	lastRecord time.Time // when the last record was received; before the first record, when the recording started
}

// write writes the records of a page, and counts them. With a mask, it leaves out the records that cannot be decoded,
// because their sensitive attributes are unknown.
func (w *recordWriter) write(records []record.PageRecord, emptyMaps int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Reset()
	for _, r := range records {
		isUndecodable := r.Change == nil
		if isUndecodable && w.mask != nil {
			w.recording.LeftOut++
			continue
		}
		if err := appendRecord(&w.buf, w.masked(r), w.recording.Stream.ARN); err != nil {
			return fmt.Errorf("record %s: %w", r.Sequence, err)
		}
		w.recording.Records++
		if isUndecodable {
			w.recording.Undecodable++
		}
	}
	written, err := w.w.Write(w.buf.Bytes())
	w.recording.Bytes += int64(written)
	if err != nil {
		return err
	}
	if len(records) > 0 {
		w.lastRecord = time.Now()
	}
	w.recording.EmptyMaps += int64(emptyMaps)
	w.progress(w.recording.RecordProgress)
	return nil
}

// masked returns the JSON of a record after the mask, if there is one. It counts the records that the mask changes.
func (w *recordWriter) masked(r record.PageRecord) []byte {
	if w.mask == nil {
		return r.Raw
	}
	masked := w.mask.Change(r.Change)
	if masked != r.Change {
		w.recording.Masked++
	}
	return masked.Raw
}

// addGap adds a gap to the recording.
func (w *recordWriter) addGap(g record.Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recording.Gaps = append(w.recording.Gaps, g)
}

// addShardsDone adds done to the number of finished shards, and sets the number of known shards.
func (w *recordWriter) addShardsDone(done, known int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recording.ShardsDone += done
	w.recording.Shards = known
	w.progress(w.recording.RecordProgress)
}

// idleTime returns the time since the last record.
func (w *recordWriter) idleTime() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.lastRecord)
}

// appendRecord appends a record as one line. It adds the ARN of the stream if the record has no eventSourceARN.
func appendRecord(b *bytes.Buffer, raw []byte, arn string) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return err
	}
	line := compact.Bytes()
	hasMembers := len(line) > 2 && line[0] == '{'
	if hasMembers && !namesStream(line) {
		quoted, _ := json.Marshal(arn) // strings cannot fail
		fmt.Fprintf(b, `{"eventSourceARN":%s,`, quoted)
		line = line[1:]
	}
	b.Write(line)
	b.WriteByte('\n')
	return nil
}

// namesStream reports whether the JSON of a record has an eventSourceARN.
func namesStream(line []byte) bool {
	if !bytes.Contains(line, []byte(`"eventSourceARN"`)) {
		return false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return false
	}
	_, ok := members["eventSourceARN"]
	return ok
}
