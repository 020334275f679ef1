package simulation

import (
	"slices"
	"time"
)

// window is a period with a fault.
type window struct {
	what  Trouble
	who   int // the sink, for troubles of sinks
	rate  float64
	until time.Duration
}

// open begins a window.
func (w *world) open(e Event) {
	until := min(e.At+e.For, w.plan.Shape.End)
	w.windows = append(w.windows, &window{e.What, e.Who, e.Rate, until})
	w.tell("trouble", "%v of %.0f%% until %s", e.What, 100*e.Rate, clock(until))
}

// trouble reports whether a call meets the trouble what. sink is the sink that the call is for; it counts only in
// troubles of sinks.
func (w *world) trouble(what Trouble, sink int) bool {
	hit := false
	for _, o := range w.windowsOf(what, sink) {
		if w.chance(o.rate) {
			hit = true
		}
	}
	if hit {
		w.tally.Troubles[what]++
	}
	return hit
}

// windowsOf returns the present windows of a trouble, and removes all windows that are over.
func (w *world) windowsOf(what Trouble, sink int) (of []*window) {
	w.windows = slices.DeleteFunc(w.windows, func(o *window) bool { return o.until <= w.now })
	for _, o := range w.windows {
		isOfSink := what < SinkFails || o.who == sink
		if o.what == what && isOfSink {
			of = append(of, o)
		}
	}
	return of
}

// latency returns the duration of one direction of a call. The call may take longer during a window with the trouble
// slow.
func (w *world) latency(slow Trouble, sink int) time.Duration {
	d := w.between(w.plan.Shape.Latency/10, w.plan.Shape.Latency)
	if w.trouble(slow, sink) {
		d += w.between(0, 3*time.Second)
	}
	return d
}

var troubleNames = [troubles]string{"stream throttled", "stream fails", "stream lost", "stream cut", "stream expired", "stream denied", "stream slow",
	"table throttled", "table lost", "table late", "table denied", "table slow", "sink fails", "sink lost", "sink late", "sink slow"}

// String returns the name of the trouble.
func (t Trouble) String() string { return troubleNames[t] }
