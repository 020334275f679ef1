package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

const (
	anyMark = `SELECT EXISTS (SELECT 1 FROM "_tws_marks" WHERE pipeline = ? AND sink = ?)`

	readMarks = `SELECT j.key FROM json_each(?) j CROSS JOIN "_tws_marks" m WHERE m.pipeline = ? AND m.sink = ? AND m.item = j.value`

	addLetter = `INSERT INTO "_tws_marks" AS m (pipeline, sink, item, letters, since) VALUES (?, ?, ?, 1, ?)
ON CONFLICT DO UPDATE SET letters = m.letters + 1`

	// since distinguishes a mark from a later mark of the same key.
	clearMark = `DELETE FROM "_tws_marks" WHERE pipeline = ? AND sink = ? AND item = ? AND letters = ? AND since = ?`

	allMarks = `SELECT sink, item, letters, since FROM "_tws_marks" WHERE pipeline = ? AND (? = '' OR sink = ?) ORDER BY sink, item`
)

// HasMarks reports for each key whether the key has a mark. It makes one indexed read, and a second one if the sink has
// a mark. It does not wait for writers. It sees all marks that any process has committed.
func (s *State) HasMarks(ctx context.Context, sink string, keys []item.Key) ([]bool, error) {
	marked := make([]bool, len(keys))
	if found, _, err := ReadFirst(ctx, s.db, anyMark, []any{s.pipeline, sink}, ScanColumn[bool]); err != nil || !found {
		return marked, err
	}
	for i, err := range Read(ctx, s.db, readMarks, []any{JSONArray(keys), s.pipeline, sink}, ScanColumn[int]) {
		if err != nil {
			return nil, err
		}
		marked[i] = true
	}
	return marked, nil
}

// MarkKeys counts one more dead letter in the mark of each key. It creates missing marks.
func (s *State) MarkKeys(ctx context.Context, sink string, keys []item.Key) error {
	return s.db.transact(ctx, func(w *Writer) error {
		now := time.Now().UnixNano()
		for _, k := range keys {
			if err := w.Exec(addLetter, s.pipeline, sink, string(k), now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Clear deletes a mark if the stored mark equals m.
func (s *State) Clear(ctx context.Context, m state.Mark) (bool, error) {
	n, err := s.db.execCount(ctx, clearMark, s.pipeline, m.Sink, string(m.Key), m.Letters, m.Since.UnixNano())
	return n > 0, err
}

// Marks yields the marks as of the start of the read.
func (s *State) Marks(ctx context.Context, sink string) iter.Seq2[state.Mark, error] {
	return Read(ctx, s.db, allMarks, []any{s.pipeline, sink, sink}, func(rows *sql.Rows) (m state.Mark, err error) {
		var since int64
		err = rows.Scan(&m.Sink, &m.Key, &m.Letters, &since)
		m.Since = time.Unix(0, since).UTC()
		return m, err
	})
}
