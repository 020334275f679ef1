package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// run is one Run of a pipeline. The reader (the goroutine that called Run) numbers pages, preparers prepare
// them, and each goes to the schedulers in the order of reading. The watermark of its partition follows.
type run struct {
	p         *Pipeline
	src       Source
	committer Committer

	reading    context.Context // ends reading
	stopRead   context.CancelFunc
	soft       context.Context // done: stop softly
	cancelSoft context.CancelCauseFunc
	hard       context.Context // done: stop hard
	cancelHard context.CancelCauseFunc
	controlled Controlled // nil if the source is not

	bounds    *bounds
	scheds    []*scheduler
	lingering []*scheduler // schedulers whose batches wait to be full

	packRoom int64 // bytes, of each of lingering
	pages    chan *inflight
	work     sync.WaitGroup // workers, writers of batches and dead letters, committers
	drained  chan struct{}  // closed when all read pages are finished

	relieving sync.Mutex // taken before Pipeline.mu

	// Pipeline.mu guards what follows.
	parts    map[string]*partition
	prepared map[uint64]*inflight // ahead of their turn
	nextSeq  uint64               // the page to hand over next
	unplaced int                  // pages read and not handed over
	open     int                  // pages read and not finished
	eof      bool                 // nothing more is read
	ending   bool                 // the schedulers know that they have all pages
	allDone  bool                 // drained is closed
	spent    []*inflight          // no delivery needs their arenas any more
	srcErr   error
	fatal    error

	arrived   chan struct{} // wakes the watcher of what is held back; capacity 1
	heldSince map[heldKey]heldSince
}

// inflight is a page on its way.
type inflight struct {
	seq     uint64
	part    *partition
	page    *Page     // until it is handed over
	prep    *prepared // likewise
	err     error     // of Decode
	bytes   int64     // taken from the bounds
	changes int64
	span    trace.Span
	tracker *Tracker // nil: the source does not track single records

	// Pipeline.mu guards what follows.
	ready     bool         // prepared, and the letters of what could not be decoded are durable
	givenBack bool         // its dead letters cannot be stored: it and the later pages return to the source
	mark      uint64       // in the partition's watermark
	left      int          // deliveries not finished
	pins      int          // deliveries that hold its bytes and arenas
	filling   int          // of pins: those that wait for a batch to fill, while they are counted
	arenas    []*planArena // by the route; nil if nothing is planned
}

var errStopTimeout = errs.New("StopTimeout passed")

func newRun(ctx context.Context, p *Pipeline, src Source, c Committer) *run {
	r := &run{
		p: p, src: src, committer: c,
		bounds:   newBounds(p.o.MaxBytes, p.o.MaxChanges, src),
		pages:    make(chan *inflight, p.o.Workers),
		drained:  make(chan struct{}),
		parts:    map[string]*partition{},
		prepared: map[uint64]*inflight{},
		arrived:  make(chan struct{}, 1),
	}
	r.soft, r.cancelSoft = context.WithCancelCause(ctx)
	r.reading, r.stopRead = context.WithCancel(r.soft)
	r.hard, r.cancelHard = context.WithCancelCause(context.WithoutCancel(ctx))
	r.controlled, _ = src.(Controlled)
	for _, rt := range p.routes {
		s := newScheduler(r, rt)
		r.scheds = append(r.scheds, s)
		if s.waits() {
			r.lingering = append(r.lingering, s)
			r.packRoom = p.o.MaxPacked / int64(len(r.lingering))
		}
	}
	return r
}

// do runs the pipeline and returns when every goroutine has ended.
func (r *run) do() error {
	if r.controlled != nil {
		r.controlled.Control(r)
	}
	returned := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { r.watch(returned) })
	watch.Go(func() { r.watchHeldBack(returned) })
	var workers sync.WaitGroup
	for range r.p.o.Workers {
		workers.Go(r.worker)
	}
	r.read()
	close(r.pages)
	workers.Wait()
	r.endReading()
	select {
	case <-r.drained:
	case <-r.hard.Done():
	}
	flushErr := r.flush()
	for _, s := range r.scheds {
		if r.hard.Err() != nil {
			s.close()
		}
	}
	r.work.Wait()
	for _, s := range r.scheds {
		s.leave()
	}
	close(returned)
	watch.Wait()
	if r.controlled != nil {
		r.controlled.Control(nil)
	}
	err := r.result(flushErr)
	r.stopRead()
	r.cancelSoft(nil)
	r.cancelHard(nil)
	return err
}

// watch turns a soft stop that exceeds StopTimeout into a hard one.
func (r *run) watch(returned <-chan struct{}) {
	select {
	case <-r.soft.Done():
	case <-returned:
		return
	}
	r.p.log.LogAttrs(r.hard, slog.LevelInfo, "stopping: reading has ended, what was read is delivered")
	t := time.NewTimer(r.p.o.StopTimeout)
	defer t.Stop()
	select {
	case <-t.C:
		r.cancelHard(errStopTimeout)
	case <-r.hard.Done():
	case <-returned:
	}
}

// fail stops at once.
func (r *run) fail(err error) {
	r.p.mu.Lock()
	if r.fatal == nil {
		r.fatal = err
	}
	r.p.mu.Unlock()
	r.cancelHard(err)
	r.cancelSoft(err)
}

// read is the reader's loop.
func (r *run) read() {
	for seq := uint64(0); ; {
		r.bounds.wait(r.reading, r.relievePressure)
		if r.reading.Err() != nil {
			return
		}
		page, err := r.callRead()
		if page != nil {
			in := r.enter(seq, page)
			seq++
			select {
			case r.pages <- in:
			case <-r.hard.Done():
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !r.tellsOfStop(err) {
				r.sourceFailed(err)
			}
			return
		}
	}
}

// tellsOfStop reports whether a source's error is that of the context that ended its reading, or its cause.
func (r *run) tellsOfStop(err error) bool {
	return r.soft.Err() != nil && (errors.Is(err, r.soft.Err()) || errors.Is(err, context.Cause(r.soft)))
}

func (r *run) callRead() (page *Page, err error) {
	defer func() {
		if v := recover(); v != nil {
			page, err = nil, recovered("source", v)
		}
	}()
	return r.src.Read(r.reading)
}

// enter accounts for a page that was read.
func (r *run) enter(seq uint64, page *Page) *inflight {
	in := &inflight{seq: seq, page: page, bytes: pinnedBytes(page), changes: int64(len(page.Changes)), tracker: page.Tracker}
	r.p.mu.Lock()
	in.part = r.part(page.Partition)
	in.part.open++
	r.unplaced++
	r.open++
	r.p.mu.Unlock()
	r.wakeWatcher()
	r.bounds.move(+1)
	r.bounds.take(page.Partition, amount{in.bytes, in.changes})
	return in
}

// part returns the partition of that name. Pipeline.mu is held.
func (r *run) part(name string) *partition {
	part := r.parts[name]
	if part == nil {
		part = &partition{name: name, ctx: r.hard, cancel: func(error) {}}
		if r.controlled != nil {
			part.ctx, part.cancel = context.WithCancelCause(r.hard)
		}
		r.parts[name] = part
	}
	return part
}

func (r *run) worker() {
	for in := range r.pages {
		if r.hard.Err() == nil {
			r.prepare(in)
		}
	}
}

// prepare decodes one page, and evaluates filters and detectors.
func (r *run) prepare(in *inflight) {
	in.span = r.p.tel.page(r.hard, in.part.name)
	start := time.Now()
	r.p.mu.Lock()
	revoked := in.part.revoked
	r.p.mu.Unlock()
	if revoked {
		in.page = &Page{Partition: in.page.Partition} // its records are not decoded
	}
	if in.page.Decode != nil {
		in.page, in.err = decode(in.page)
		more, n := pinnedBytes(in.page)-in.bytes, int64(len(in.page.Changes))-in.changes
		r.bounds.take(in.part.name, amount{more, n})
		in.bytes, in.changes = in.bytes+more, in.changes+n
	}
	in.prep = r.p.prepare(in)
	r.p.tel.prepared(r.hard, time.Since(start))
	if in.prep.fatal != nil {
		r.fail(in.prep.fatal)
		return
	}
	undecodable := in.page.Errors
	r.p.mu.Lock()
	in.ready = len(undecodable) == 0
	r.prepared[in.seq] = in
	for next := r.prepared[r.nextSeq]; next != nil; next = r.prepared[r.nextSeq] {
		delete(r.prepared, r.nextSeq)
		r.nextSeq++
		next.part.waiting = append(next.part.waiting, next)
		r.handOver(next.part)
	}
	r.unlock()
	if len(undecodable) > 0 {
		r.work.Go(func() { r.buryUndecodable(in, undecodable) })
		return
	}
	r.doneMoving()
}

// decode returns a page with its content. After an error or a panic it has the records before that.
func decode(page *Page) (whole *Page, err error) {
	out := *page
	out.Decode = nil
	defer func() {
		if v := recover(); v != nil {
			whole, err = &out, recovered("decoder", v)
		}
	}()
	p, err := page.Decode()
	if p != nil {
		out.Changes, out.Errors, out.Duplicates, out.EmptyMaps = p.Changes, p.Errors, p.Duplicates, p.EmptyMaps
		out.Bytes = max(out.Bytes, p.Bytes)
	}
	return &out, err
}

// sourceFailed ends reading with an error that Run returns.
func (r *run) sourceFailed(err error) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.failed(err)
}

// failed is sourceFailed with Pipeline.mu held. A source that controls its run is stopped softly: other consumers
// can read its partitions only after that.
func (r *run) failed(err error) {
	if r.srcErr == nil {
		r.srcErr = fmt.Errorf("source: %w", err)
	}
	r.stopRead()
	if r.controlled != nil {
		r.cancelSoft(err)
	}
}
