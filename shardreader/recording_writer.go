package shardreader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// recordLine is one record of a page.
type recordLine struct {
	raw         []byte
	sequence    string // "" if the sequence number cannot be decoded
	undecodable bool
	change      *record.Change // nil if the record is undecodable
}

// mask masks the line of a change, and reports whether that changed the line.
func (l *recordLine) mask(m *mask.Mask) (changed bool) {
	masked := m.Change(l.change)
	l.raw = masked.Raw
	return masked != l.change
}

// recordLines returns the records of a page in their order, also those that cannot be decoded.
func recordLines(p *record.Page) iter.Seq[recordLine] {
	return func(yield func(recordLine) bool) {
		changes, undecodable := p.Changes, p.Errors
		for len(changes)+len(undecodable) > 0 {
			var line recordLine
			isChange := len(undecodable) == 0 || len(changes) > 0 && int(changes[0].Index) <= undecodable[0].Index
			if isChange {
				line = recordLine{raw: changes[0].Raw, sequence: changes[0].Sequence, change: &changes[0]}
				changes = changes[1:]
			} else {
				line = recordLine{raw: undecodable[0].Raw, sequence: undecodable[0].Sequence, undecodable: true}
				undecodable = undecodable[1:]
			}
			if !yield(line) {
				return
			}
		}
	}
}

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

// write writes the lines of a page, and counts them. With a mask, it leaves out the lines that cannot be decoded,
// because their sensitive attributes are unknown.
func (w *recordWriter) write(lines []recordLine, emptyMaps int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Reset()
	for _, line := range lines {
		if line.undecodable && w.mask != nil {
			w.recording.LeftOut++
			continue
		}
		isMasked := w.mask != nil && line.mask(w.mask)
		if err := appendRecord(&w.buf, line.raw, w.recording.Stream.ARN); err != nil {
			return fmt.Errorf("record %s: %w", line.sequence, err)
		}
		w.recording.Records++
		if line.undecodable {
			w.recording.Undecodable++
		}
		if isMasked {
			w.recording.Masked++
		}
	}
	written, err := w.w.Write(w.buf.Bytes())
	w.recording.Bytes += int64(written)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		w.lastRecord = time.Now()
	}
	w.recording.EmptyMaps += int64(emptyMaps)
	w.progress(w.recording.RecordProgress)
	return nil
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
	start := b.Len()
	if err := json.Compact(b, raw); err != nil {
		return err
	}
	line := b.Bytes()[start:]
	if len(line) > 2 && line[0] == '{' && !namesStream(line) {
		quoted, err := json.Marshal(arn)
		if err != nil {
			return err
		}
		rest := bytes.Clone(line[1:])
		b.Truncate(start + 1)
		b.WriteString(`"eventSourceARN":`)
		b.Write(quoted)
		b.WriteByte(',')
		b.Write(rest)
	}
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
