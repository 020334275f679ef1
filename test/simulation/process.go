package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// slot is the place of a worker: a name, and the processes that have this name, one after the other.
type slot struct {
	w       *world
	n       int
	name    string
	retired bool
	made    int
	proc    *process // nil while there is none
	waiting bool     // a process is about to start
}

// process is one process with one worker in it.
type process struct {
	w    *world
	slot *slot
	id   string
	m    Machine
	pipe *pipe

	born   time.Duration
	rate   float64
	offset time.Duration

	dead     bool
	paused   bool
	resumed  time.Duration // when it last continued after a pause
	waiting  []func()      // what it does once it continues
	stopping bool
	timer    time.Duration // when the timer fires; 0: it has fired

	calls   map[coordinator.Call]time.Duration // when each call in flight began
	last    coordinator.Call
	busy    map[string]int       // number of calls in flight, by their subject (see begin)
	revoked map[string]int       // number of partitions that were revoked, by shard
	drained map[string]bool      // shards that are not read further
	gaps    map[string]*knownGap // gaps of the shards that it reads
	reads   int                  // GetRecords calls in flight
	beatAt  time.Duration        // when its last beat reached the table
	heard   time.Duration        // when it sent the last heartbeat that it knows to be stored
	silent  time.Duration        // time of the last heartbeat that came so late that others may have taken it for dead
	clean   bool                 // it stopped without being killed, after the faults had ended
	left    bool                 // its member row was removed
	ended   time.Duration        // the time up to which it last said that everything is read
	steps   int                  // number of steps since stepsAt
	stepsAt time.Duration
}

func (w *world) addSlot() *slot {
	s := &slot{w: w, n: len(w.slots), name: fmt.Sprintf("w%d", len(w.slots))}
	w.slots = append(w.slots, s)
	return s
}

// start puts a new process into the slot.
func (s *slot) start() {
	s.waiting = false
	if s.retired || s.proc != nil {
		return
	}
	w := s.w
	s.made++
	p := &process{
		w: w, slot: s,
		id:     fmt.Sprintf("%s-%d", s.name, s.made),
		born:   w.now,
		rate:   1 + 0.001*(2*w.rand.Float64()-1),
		offset: w.between(0, time.Second),
		calls:  map[coordinator.Call]time.Duration{},
		busy:   map[string]int{}, revoked: map[string]int{},
		drained: map[string]bool{}, gaps: map[string]*knownGap{},
		beatAt: -time.Hour,
	}
	p.pipe = newPipe(p)
	m, err := w.make(w.options(p))
	if err != nil {
		w.broken("a worker starts", "%v", err)
		return
	}
	p.m, s.proc = m, p
	w.started = true
	w.procs = append(w.procs, p)
	w.tell(p.id, "starts; its clock goes %+.4f%%", 100*(p.rate-1))
	p.step(coordinator.Tick{})
}

// restart starts another process after a duration.
func (s *slot) restart(after time.Duration) {
	if !s.retired && !s.waiting {
		s.waiting = true
		s.w.after(after, s.start)
	}
}

// crash ends the process of the slot, if there is one, and starts another process after a duration.
func (s *slot) crash(after time.Duration) {
	if s.proc != nil {
		s.proc.crash()
	}
	s.restart(after)
}

// options returns the options of p: those that all workers share and those of p itself.
func (w *world) options(p *process) coordinator.Options {
	s := w.plan.Shape
	o := coordinator.Options{
		ID: p.id, Name: p.slot.name,
		OnGap:     s.OnGap,
		Lease:     s.Lease,
		Retention: s.Retention,
		ReadEvery: s.ReadEvery,
		SyncEvery: s.SyncEvery,
		MaxIdle:   s.MaxIdle,
		MaxCalls:  maxCalls,
		Prefetch:  s.Prefetch,
		Rand:      rand.New(rand.NewPCG(w.rand.Uint64(), 1)),
	}
	if p.idler() {
		o.Idle = s.Idle
	}
	switch s.Start {
	case FromLatest:
		o.Start = coordinator.Start{Latest: true, Time: w.wall()}
	case FromTime:
		o.Start.Time = startTime
	}
	for _, t := range w.tables {
		o.Sources = append(o.Sources, coordinator.Source{Table: t.name})
	}
	return o
}

// startTime is the start position of worlds that begin to read at a time.
var startTime = began.Add(5 * time.Second)

// clock returns the time on the process's own clock. The clock begins at offset when the process starts, and is a
// little fast or slow.
func (p *process) clock() time.Duration {
	return p.offset + time.Duration(float64(p.w.now-p.born)*p.rate)
}

// inside runs do in the process: now, or later if the process is paused, or never if it is gone.
func (p *process) inside(do func()) {
	switch {
	case p.dead:
	case p.paused:
		p.waiting = append(p.waiting, do)
	default:
		do()
	}
}

// later runs do in the process after a duration.
func (p *process) later(d time.Duration, do func()) {
	p.w.after(d, func() { p.inside(do) })
}

// receive gives an event to the worker.
func (p *process) receive(e coordinator.Event) { p.inside(func() { p.step(e) }) }

// step gives an event to the worker and executes the actions that it returns.
func (p *process) step(e coordinator.Event) {
	w := p.w
	if w.over {
		return
	}
	if p.stepsAt+10*time.Millisecond < w.now {
		p.steps, p.stepsAt = 0, w.now
	}
	p.steps++
	if p.steps > stepsAtOnce {
		w.broken("time passes", "%s is stepped again and again while time stands still", p.id)
		return
	}
	w.tellEvent(p, e)
	w.tally.Steps++
	for _, a := range p.m.Step(p.clock(), e) {
		if w.over || p.dead {
			return
		}
		w.tellAction(p, a)
		p.do(a)
	}
	if !p.dead {
		p.sleep()
	}
}

// sleep sets the timer of the process to the time at which the worker wants to be woken.
func (p *process) sleep() {
	w := p.w
	left := max(p.m.Wake()-p.clock(), 0)
	left = min(time.Duration(float64(left)/p.rate)+time.Microsecond, time.Hour) // never too early
	if p.timer > w.now && p.timer <= w.now+left {
		return // the timer fires earlier, and is set again then
	}
	if w.chance(0.02) {
		left += w.between(0, 100*time.Millisecond)
	}
	at := w.now + left
	p.timer = at
	w.at(at, func() {
		if p.timer != at {
			return
		}
		p.inside(func() {
			p.timer = 0
			if p.clock() >= p.m.Wake() || w.chance(0.1) {
				p.step(coordinator.Tick{})
			} else {
				p.sleep()
			}
		})
	})
}

// crash ends the process with all of its memory. Its requests are still in flight.
func (p *process) crash() {
	p.w.tell(p.id, "crashes")
	p.w.tally.Crashes++
	p.end()
}

// end removes the process from the world.
func (p *process) end() {
	p.dead, p.waiting = true, nil
	if p.slot.proc == p {
		p.slot.proc = nil
	}
}

// pause stops the process for a duration.
func (p *process) pause(d time.Duration) {
	if p.dead || p.paused {
		return
	}
	w := p.w
	p.paused = true
	w.tell(p.id, "stands still for %v", d)
	w.tally.Pauses++
	w.after(d, func() {
		if p.dead {
			return
		}
		p.paused, p.resumed = false, w.now
		w.tell(p.id, "continues")
		waiting := p.waiting
		p.waiting = nil
		if w.chance(0.5) {
			p.step(coordinator.Tick{}) // the timer is handled first
		}
		for _, do := range waiting {
			p.inside(do)
		}
	})
}

// terminate sends the process a SIGTERM, and a SIGKILL if it takes too long.
func (p *process) terminate(done func()) {
	w := p.w
	if p.dead || p.stopping {
		w.whenDead(p, done)
		return
	}
	p.stopping = true
	w.tell(p.id, "is told to stop")
	w.tally.Stops++
	p.receive(coordinator.Shutdown{})
	w.after(stopTime, func() {
		if !p.dead {
			if w.calm && !p.paused && w.now > w.plan.Shape.End+stopTime {
				w.broken("a stop takes its time, not more", "%s did not stop within %v", p.id, stopTime)
				return
			}
			w.tell(p.id, "is killed: it did not stop within %v", stopTime)
			w.tally.Killed++
			p.end()
		}
	})
	w.whenDead(p, done)
}

// stopTime is the time that ECS gives a task between SIGTERM and SIGKILL.
const stopTime = 30 * time.Second

// whenDead calls do after a process is gone.
func (w *world) whenDead(p *process, do func()) {
	if p.dead {
		do()
		return
	}
	w.after(100*time.Millisecond, func() { w.whenDead(p, do) })
}
