package handoff

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"

	_ "modernc.org/sqlite" // the driver

	"github.com/tablewake/tablewake/sinks/view"
)

// byHand changes the files of stores directly, as no store does.
type byHand []*sql.DB

func openByHand(dir string) (byHand, error) {
	var h byHand
	for _, name := range []string{"views.db", "search.db"} {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, name)+"?_pragma=busy_timeout(10000)")
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		db.SetMaxOpenConns(1)
		h = append(h, db)
	}
	return h, nil
}

// Close closes the files.
func (h byHand) Close() error {
	var failed []error
	for _, db := range h {
		failed = append(failed, db.Close())
	}
	return errors.Join(failed...)
}

// byHand runs a statement on the database of the rows. It returns how many of its records the statement changed.
func (w *RepairWorld) byHand(statement string, args ...any) int {
	r, err := w.stores.byHand[0].ExecContext(w.ctx, statement, args...)
	if err != nil {
		w.failf("%s: %v", statement, err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		w.failf("%v", err)
	}
	return int(n)
}

// wipe deletes all rows, so that the next world has few rows to list.
func (s *Stores) wipe(ctx context.Context) error {
	if s.byHand == nil {
		return nil
	}
	_, err := s.byHand[0].ExecContext(ctx, `DELETE FROM "_tw_rows"`)
	return err
}

// damage changes the stream or a sink, so that the sink differs from what the table requires.
func (w *RepairWorld) damage() {
	if w.shape == healthy {
		return
	}
	if w.shape == damaged {
		w.settle()
		if w.oneIn(2) {
			w.loseRecords()
			return
		}
	}
	s := &w.sinks[w.rand.IntN(len(w.sinks))]
	var done string
	switch live := s.live.(type) {
	case *view.Aggregate:
		done = w.damageAggregate(live)
	case *view.Sink:
		done = w.damageRows(s, live.Target())
	default:
		done = w.damageDocuments(s)
	}
	if done != "" {
		w.tell("%s: %s", s.name, done)
		w.count("damaged: " + done)
	}
}

// settle delivers all late changes. From then on, no earlier change comes late.
func (w *RepairWorld) settle() {
	if w.rules.Repair.Late {
		return
	}
	w.finishWriters()
	for len(w.late)+len(w.givenUp) > 0 {
		w.redeliver()
	}
	w.finishWriters()
	w.damagedAt = w.now
}

// finishWriters lets the processes that write batches of the stream run to their ends.
func (w *RepairWorld) finishWriters() {
	for _, p := range slices.Clone(w.processes) {
		isWriter := !p.repairs && !p.audits
		if isWriter && p.ready == nil {
			w.finish(p)
		}
	}
}

// loseRecords loses unacknowledged records of a shard. Reading continues after them.
func (w *RepairWorld) loseRecords() {
	shards := slices.DeleteFunc(w.readable(), func(s *shard) bool { return w.writing[s] != nil || s.durable == len(s.writes) })
	if len(shards) == 0 {
		return
	}
	s := shards[w.rand.IntN(len(shards))]
	from := s.position
	if w.oneIn(2) {
		from = s.durable
	}
	if from == len(s.writes) {
		return
	}
	to := from + 1 + w.rand.IntN(min(len(s.writes)-from, 5))
	w.tell("shard %d: records %d to %d are lost", s.number, from, to-1)
	for _, e := range s.writes[from:to] {
		w.tell("  %s", e)
	}
	w.count("records were lost")
	s.position, s.durable = to, to
}
