package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

const (
	writeGap = `INSERT OR REPLACE INTO "_tws_gaps" (pipeline, stream, shard, after, before, "from", "to", found, whole, unknown, repair) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	readGaps = `SELECT stream, shard, after, before, "from", "to", found, whole, unknown, repair FROM "_tws_gaps" WHERE pipeline = ?`

	allGaps = readGaps + ` ORDER BY found, stream, shard, after`

	oneGap = readGaps + ` AND stream = ? AND shard = ? AND after = ?`
)

// AddGap records a gap (a range of records that were lost), or changes the record of a gap with the same beginning.
func (s *State) AddGap(ctx context.Context, g record.Gap) error {
	_, err := s.changeGap(ctx, g, func(stored state.NotedGap) (state.NotedGap, bool) {
		return stored.NotedAgain(g, time.Now()), true
	})
	return err
}

// SetGapRepair replaces the repair of a gap if its version is unchanged.
func (s *State) SetGapRepair(ctx context.Context, g record.Gap, r state.GapRepair) (bool, error) {
	return s.changeGap(ctx, g, func(stored state.NotedGap) (state.NotedGap, bool) { return stored.SetRepair(r) })
}

// changeGap reads the record of the gap with the same beginning as g, calls change with it, and writes the result. It
// does so in one transaction. If there is no record, change gets the zero NotedGap. If change returns false, changeGap
// writes nothing and returns false.
func (s *State) changeGap(
	ctx context.Context, g record.Gap, change func(stored state.NotedGap) (state.NotedGap, bool),
) (done bool, err error) {
	err = s.db.transact(ctx, func(w *Writer) error {
		var stored state.NotedGap
		err := w.QueryRows(oneGap, []any{s.pipeline, g.StreamARN, g.Shard, g.After}, func(rows *sql.Rows) (err error) {
			stored, err = gap(rows)
			return err
		})
		if err != nil {
			return err
		}

		next, replaces := change(stored)
		if !replaces {
			return nil
		}
		done = true
		return w.Exec(writeGap, s.pipeline, next.StreamARN, next.Shard, next.After, next.Before,
			nanoseconds(next.From), nanoseconds(next.To), nanoseconds(next.Found), next.Whole, next.UnknownExtent,
			next.Repair.Text())
	})
	return done && err == nil, err
}

// Gaps yields the gaps as of the start of the read.
func (s *State) Gaps(ctx context.Context) iter.Seq2[state.NotedGap, error] {
	return Read(ctx, s.db, allGaps, []any{s.pipeline}, gap)
}

func gap(rows *sql.Rows) (g state.NotedGap, err error) {
	var from, to, found sql.NullInt64
	var repair string
	if err = rows.Scan(&g.StreamARN, &g.Shard, &g.After, &g.Before, &from, &to, &found, &g.Whole, &g.UnknownExtent,
		&repair); err != nil {
		return g, err
	}
	g.From, g.To, g.Found = timeOf(from), timeOf(to), timeOf(found)
	g.Repair, err = state.ParseGapRepair(repair)
	return g, err
}

// nanoseconds returns a time in Unix nanoseconds, as the file stores it. The zero time is NULL.
func nanoseconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

// timeOf returns the time of a stored number of nanoseconds, or the zero time for NULL.
func timeOf(ns sql.NullInt64) time.Time {
	if !ns.Valid {
		return time.Time{}
	}
	return time.Unix(0, ns.Int64).UTC()
}
