package worker

import (
	"cmp"
	"errors"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// assign says in the leases of another application which stream they are of: that
// which lists their shard, and the newest for a shard that none lists. Then it goes
// through the streams.
func (w *Worker) assign(s *source, i int, done func(error)) {
	if i == len(s.streams) || !w.unassigned(s) {
		w.chain(s, done)
		return
	}
	st := s.streams[i]
	listed := func(l *listing) {
		var rows []*row
		for _, r := range w.rows.all() {
			if r.Stream == "" && w.belongs(r, s) && !r.busy && (l != nil && l.has(r.Shard) || i == len(s.streams)-1 && !r.Ended()) {
				rows = append(rows, r)
			}
		}
		w.assignTo(st, l, rows, func(err error) {
			if err != nil {
				done(err)
				return
			}
			w.assign(s, i+1, done)
		})
	}
	if st.gone {
		listed(nil)
		return
	}
	w.list(st.arn, w.staying, func(l *listing, err error) {
		if err != nil && !errors.Is(err, shardreader.ErrNotFound) {
			done(err)
			return
		}
		listed(l)
	})
}

// assignTo writes the stream of leases, once it is durable that the stream was begun.
func (w *Worker) assignTo(st *stream, l *listing, rows []*row, done func(error)) {
	if len(rows) == 0 {
		done(nil)
		return
	}
	w.markBegun(st, func(err error) {
		left := len(rows)
		if err != nil {
			done(err)
			return
		}
		for _, r := range rows {
			next := r.Clone()
			next.Stream = st.arn
			if r.Checkpoint.Kind == leases.TrimHorizon && l != nil {
				next.First = l.first(r.Shard) // what is dropped before it is read is known then
			}
			w.swap(r, next, nil, func(e error) {
				w.refused(r, e)
				err = cmp.Or(err, e)
				if left--; left == 0 {
					done(err)
				}
			})
		}
	})
}
