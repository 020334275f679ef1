package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

const (
	writeGap = `INSERT OR REPLACE INTO "_tws_gaps" (pipeline, stream, shard, after, before, "from", "to", found, whole, unknown) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	allGaps = `SELECT stream, shard, after, before, "from", "to", found, whole, unknown FROM "_tws_gaps" WHERE pipeline = ? ORDER BY found, stream, shard, after`
)

// AddGap records a gap. It replaces the record of a gap with the same beginning.
func (s *State) AddGap(ctx context.Context, g record.Gap) error {
	if g.Found.IsZero() {
		g.Found = time.Now()
	}
	_, err := s.db.execCount(ctx, writeGap,
		s.pipeline, g.StreamARN, g.Shard, g.After, g.Before, nanoseconds(g.From), nanoseconds(g.To), nanoseconds(g.Found), g.Whole, g.UnknownExtent)
	return err
}

// Gaps yields the gaps as they are when the read begins.
func (s *State) Gaps(ctx context.Context) iter.Seq2[record.Gap, error] {
	return Read(ctx, s.db, allGaps, []any{s.pipeline}, func(rows *sql.Rows) (g record.Gap, err error) {
		var from, to, found sql.NullInt64
		err = rows.Scan(&g.StreamARN, &g.Shard, &g.After, &g.Before, &from, &to, &found, &g.Whole, &g.UnknownExtent)
		g.From, g.To, g.Found = timeOf(from), timeOf(to), timeOf(found)
		return g, err
	})
}

// nanoseconds returns a time as the file stores it: NULL for the zero time.
func nanoseconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func timeOf(ns sql.NullInt64) time.Time {
	if !ns.Valid {
		return time.Time{}
	}
	return time.Unix(0, ns.Int64).UTC()
}
