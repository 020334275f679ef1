package handoff

import (
	"iter"
	"slices"
)

// process is a writer of the stream, an audit or a repair. It runs until it calls a store, and continues when the
// world resumes it. Other processes run in between.
type process struct {
	name    string
	repairs bool
	audits  bool
	batch   batch       // the batch of the stream that it writes
	ready   func() bool // nil: it can continue
	held    bool        // it continues once the world has no more writers
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	ended   func(killed bool) // called at its end; nil: no call
}

// killed is the panic that ends a process.
type killed struct{}

// start adds a process to the world. The process does nothing until it is resumed.
func (w *RepairWorld) start(p *process, body func(p *process)) *process {
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != (killed{}) {
				panic(r)
			}
		}()
		p.yield = yield
		body(p)
	})
	w.processes = append(w.processes, p)
	return p
}

// resume lets a process continue until its next call of a store. It returns false if the process has ended.
func (w *RepairWorld) resume(p *process) bool {
	w.running = p
	_, more := p.next()
	w.running = nil
	if !more {
		w.end(p, false)
	}
	return more
}

// finish lets a process that waits for nothing run to its end.
func (w *RepairWorld) finish(p *process) {
	for w.resume(p) {
	}
}

// kill ends a process at its current call. Its writes are kept.
func (w *RepairWorld) kill(p *process) {
	w.tell("%s is killed", p.name)
	w.count("killed: a process")
	if p.repairs {
		w.count("killed: a repair")
	}
	w.running = p
	p.stop()
	w.running = nil
	w.end(p, true)
}

func (w *RepairWorld) end(p *process, killed bool) {
	w.processes = slices.DeleteFunc(w.processes, func(q *process) bool { return q == p })
	if p.ended != nil {
		p.ended(killed)
	}
}

// pause lets other processes continue, if a process runs.
func (w *RepairWorld) pause() {
	if p := w.running; p != nil && !p.yield(struct{}{}) {
		panic(killed{})
	}
}

// waitUntil lets other processes continue until a condition is met.
func (w *RepairWorld) waitUntil(p *process, ready func() bool) {
	p.ready = ready
	for !ready() {
		w.pause()
	}
	p.ready = nil
}

// resumable returns the processes that can continue.
func (w *RepairWorld) resumable() []*process {
	return slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return p.held || p.ready != nil && !p.ready() })
}
