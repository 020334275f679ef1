package handoff

import "fmt"

// attempts is the maximum number of audits that a world may need until an audit and its repair leave nothing.
const attempts = 8

// repairAll audits and repairs, as an operator does, until a repair leaves nothing. Writers and the stream continue
// during the first half of the attempts.
func (w *RepairWorld) repairAll() {
	for n := range attempts {
		quiet := n >= attempts/2
		writes := 4
		if quiet {
			w.drainRepair()
			writes = 0
		}
		r := w.awaitAudit(writes)
		if left := w.awaitRepair(r, quiet); left == 0 {
			w.count("world: repaired")
			return
		}
	}
	w.wrong["any"] = "the world is quiet, and an audit with its repair leaves differences"
}

// awaitAudit makes an audit, and returns its report. Other events happen meanwhile, with some writes.
func (w *RepairWorld) awaitAudit(writes int) (r *report) {
	w.startAudit(func(done *report) { r = done })
	for r == nil {
		w.now += w.rand.Int64N(second)
		writes -= w.step(writes)
		if w.oneIn(2) {
			w.drainStep(false)
		}
	}
	return r
}

// awaitRepair repairs the findings of a report, and returns how many are left. Other repairs of the report, and events
// of the world, happen meanwhile. In a quiet world, these are only events that must still happen.
func (w *RepairWorld) awaitRepair(r *report, quiet bool) (left int) {
	ended := false
	w.startRepair(func(n int) { left, ended = n, true }, r)
	for w.oneIn(2) {
		w.startRepair(nil, r)
		if p := w.processes[len(w.processes)-1]; w.oneIn(2) {
			w.holdAfter(p, w.rand.IntN(10))
		}
	}
	for writes := 4; !ended; {
		w.now += w.rand.Int64N(second)
		if quiet {
			w.drainStep(false)
		} else {
			writes -= w.step(writes)
		}
	}
	return left
}

// holdAfter holds a process after some calls, until the world has no more writers.
func (w *RepairWorld) holdAfter(p *process, calls int) {
	for range calls {
		if !w.resume(p) {
			return
		}
	}
	p.held = true
}

// startAudit starts an audit. done receives its report.
func (w *RepairWorld) startAudit(done func(*report)) {
	w.audits++
	r := &report{number: w.audits}
	w.tell("audit %d begins", r.number)
	ended := false
	p := &process{name: fmt.Sprintf("audit %d", r.number), audits: true, ended: func(bool) {
		if !ended {
			return
		}
		w.reports = append(w.reports, r)
		if done != nil {
			done(r)
		}
	}}
	w.start(p, func(p *process) {
		w.audit(p, r)
		ended = true
	})
}

// startRepair starts a repair of a random report: one of the given reports or, if none is given, of all reports. done
// receives the number of findings that are left.
func (w *RepairWorld) startRepair(done func(left int), of ...*report) {
	if len(of) == 0 {
		of = w.reports
	}
	if len(of) == 0 {
		return
	}
	r := of[w.rand.IntN(len(of))]
	if r != w.reports[len(w.reports)-1] {
		w.count("a repair of an older report")
	}
	for _, p := range w.processes {
		if p.repairs {
			w.count("two repairs at once")
		}
	}
	w.tell("a repair of report %d begins", r.number)
	left := 1 // of a repair that is killed
	p := &process{name: fmt.Sprintf("the repair of report %d", r.number), repairs: true, ended: func(bool) {
		if done != nil {
			done(left)
		}
	}}
	w.start(p, func(*process) { left = w.repair(r) })
}
