package worker

import "log/slog"

// known reports whether a row is still the row of its shard.
func (w *Worker) known(r *row) bool { return w.rows.of(r.Shard) == r }

func (w *Worker) mine(r *row) bool { return r.Owner == w.o.Worker }

// parentsDone reports whether every parent of a shard was read to its end: its lease
// says so, or it was removed, which happens only then.
func (w *Worker) parentsDone(r *row) bool {
	for _, id := range r.Parents {
		if p := w.rows.of(id); p != nil && !p.Ended() || w.broken[id] {
			return false
		}
	}
	return true
}

// active reports whether a consumer is to read a lease's shard now.
func (w *Worker) active(r *row) bool {
	return !r.Ended() && r.Stream != "" && w.parentsDone(r)
}

// free reports whether a lease may be taken: it has no owner, or its owner is gone.
func (w *Worker) free(r *row) bool {
	if !w.active(r) || r.busy {
		return false
	}
	switch {
	case r.Owner == "":
		return !w.foreign && !w.requested(r)
	case w.mine(r):
		return false // openMine opens it
	case w.peers[r.Owner] != nil:
		return !w.alive(r.Owner)
	case w.left[r.Owner]:
		return true
	}
	// Its consumer belongs to another application, which raises the counter while it runs.
	return !w.foreign
}

// requested reports whether another consumer requested a lease a moment ago, and may take it first.
func (w *Worker) requested(r *row) bool {
	other := r.RequestedBy != "" && r.RequestedBy != w.o.Worker && w.alive(r.RequestedBy) && !w.peers[r.RequestedBy].Leaving
	return other && w.now-r.unchangedSince <= 4*w.o.ReadEvery
}

// foreigners finds whether another application uses the table: counters rise of leases whose owners this fleet does not
// know. Nothing is taken while they do.
func (w *Worker) foreigners() {
	w.foreign = false
	for _, r := range w.rows.all() {
		if r.Owner == "" || r.Ended() || w.mine(r) || w.peers[r.Owner] != nil || w.left[r.Owner] || w.now-r.unchangedSince > w.o.Takeover {
			continue
		}
		w.foreign = true
		w.tellOnce("foreign "+r.Owner, slog.LevelWarn,
			"leases belong to a worker that this application does not know: none is taken before they stand still; stop the other application",
			slog.String("owner", r.Owner), slog.Duration("after", w.o.Takeover))
	}
}

// takeNext takes the leases that were chosen, some at a time.
func (w *Worker) takeNext() {
	for len(w.takes) > 0 && w.taking < maxWrites && w.heartbeatFresh() && !w.leaving {
		r := w.takes[0]
		w.takes = w.takes[1:]
		if !w.known(r) || r.busy || !w.free(r) {
			continue
		}
		next := r.Clone()
		next.Owner, next.RequestedBy = w.o.Worker, ""
		next.Counter++
		w.taking++
		w.write(&leaseWrite{why: takeLease, row: r, next: next})
	}
}

// openMine opens the leases that are this consumer's by the table and are not read.
func (w *Worker) openMine() {
	for _, r := range w.rows.all() {
		w.tryOpen(r)
	}
}

// tryOpen opens a lease if it is this consumer's to read.
func (w *Worker) tryOpen(r *row) {
	switch {
	case !w.known(r), !w.mine(r), r.assignment != nil, r.busy, r.calls > 0, !w.active(r):
	case !w.heartbeatFresh(), w.leaving, r.knownAt < w.resumed:
	case r.confirmedAt >= w.resumed:
		w.open(r)
	default:
		// Heartbeats had stopped, so another consumer may be taking the lease now. Only a write that succeeds shows
		// that none does.
		next := r.Clone()
		next.Counter++
		w.write(&leaseWrite{why: confirmLease, row: r, next: next})
	}
}

// lose revokes an assignment whose lease belongs to another consumer now.
func (w *Worker) lose(p *assignment) {
	w.tell(slog.LevelWarn, "lost a lease", shardAttr(p.row.Shard), slog.String("owner", p.row.Owner))
	w.revoke(p, ErrLeaseLost)
}

// revoke revokes an assignment.
func (w *Worker) revoke(p *assignment, cause error) {
	w.do(Revoke{p.name, cause})
	w.close(p)
}

func shardAttr(shard string) slog.Attr { return slog.String("shard", shard) }
