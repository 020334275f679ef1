package sqlite

import (
	"context"
	"database/sql"
	"iter"

	"github.com/tablewake/tablewake/sinks/state"
)

const (
	birthColumns = `id, made, state, store, begun, fresh, stage, floor, stream, run, read_until, left_out`

	readBirths = `SELECT sink, target, ` + birthColumns + ` FROM "_tws_births" WHERE pipeline = ? ORDER BY sink, target`

	anyBirth = `SELECT EXISTS (SELECT 1 FROM "_tws_births")`

	insertBirth = `INSERT INTO "_tws_births" (` + birthColumns +
		`, pipeline, sink, target) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	ifUnchanged = ` WHERE (` + birthColumns +
		`) IS (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) AND pipeline = ? AND sink = ? AND target = ?`

	setBirth = `UPDATE "_tws_births" SET (` + birthColumns + `) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)` + ifUnchanged

	dropBirth = `DELETE FROM "_tws_births"` + ifUnchanged
)

// birthValues returns the values of birthColumns.
func birthValues(b state.Birth) []any {
	return []any{b.ID, b.Made.UnixNano(), b.State, b.Store, b.Begun, b.Fresh, string(b.Stage), nanoseconds(b.Floor),
		b.Stream, b.Run, nanoseconds(b.ReadUntil), nanoseconds(b.LeftOut)}
}

// Births yields the pipeline's births as of the start of the read.
func (s *State) Births(ctx context.Context) iter.Seq2[state.Birth, error] {
	return Read(ctx, s.db, readBirths, []any{s.pipeline}, func(rows *sql.Rows) (b state.Birth, err error) {
		var made, floor, readUntil, leftOut sql.NullInt64
		var stage string
		if err = rows.Scan(&b.Sink, &b.Target, &b.ID, &made, &b.State, &b.Store, &b.Begun, &b.Fresh, &stage, &floor,
			&b.Stream, &b.Run, &readUntil, &leftOut); err != nil {
			return b, err
		}
		b.Made, b.Floor, b.ReadUntil, b.LeftOut = timeOf(made), timeOf(floor), timeOf(readUntil), timeOf(leftOut)
		b.Stage, err = state.ParseStage(stage)
		return b, err
	})
}

// RecordBirth inserts a birth if the sink has no birth at the target. A birth is the recorded identity of an output.
// RecordBirth also records in the witness that the file has births.
func (s *State) RecordBirth(ctx context.Context, b state.Birth) (state.Birth, error) {
	err := s.db.Write(ctx, func(w *Writer) error {
		if err := w.Exec(insertBirth,
			append(birthValues(b), s.pipeline, b.Sink, b.Target)...); err != nil {
			return err
		}
		return s.db.witness.setBirths(true)
	})
	if err != nil {
		return b, err
	}
	stored, _, err := state.FindBirth(ctx, s, b.Sink, b.Target)
	return stored, err
}

// SetBirth replaces a birth if the stored birth equals expected. If it removes the last birth of the file, it records
// in the witness that the file has no births.
func (s *State) SetBirth(ctx context.Context, expected, next state.Birth) (changed bool, err error) {
	err = s.db.Write(ctx, func(w *Writer) error {
		ifUnchangedArgs := append(birthValues(expected), s.pipeline, expected.Sink, expected.Target)
		removes := next == (state.Birth{})
		query, args := setBirth, append(birthValues(next), ifUnchangedArgs...)
		if removes {
			query, args = dropBirth, ifUnchangedArgs
		}
		n, err := w.ExecCount(query, args...)
		changed = n > 0
		if err != nil || !removes {
			return err
		}

		othersRemain := false
		if _, err := w.QueryRow(anyBirth, nil, &othersRemain); err != nil || othersRemain {
			return err
		}
		return s.db.witness.setBirths(false)
	})
	return changed, err
}

// Identity returns the newest token of the witness, or "" if the database has no witness.
func (s *State) Identity(context.Context) (string, error) { return s.db.witness.identity(), nil }

var _ state.LossDetector = (*State)(nil)

// DetectLoss returns the evidence of a loss if the witness records that the file has births, but the file has no
// births. Otherwise it returns "".
func (s *State) DetectLoss(ctx context.Context) (string, error) {
	found, _, err := ReadFirst(ctx, s.db, anyBirth, nil, ScanColumn[bool])
	if err != nil || found || !s.db.witness.hasBirths() {
		return "", err
	}
	return s.db.witness.path + " says that sinks wrote to " + s.db.path +
		", and it knows nothing of them: it was deleted, or exchanged", nil
}
