package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// run is one Run of a pipeline. The reader (the goroutine that called Run) reads pages, preparers prepare them in
// parallel, and schedulers receive them in the order of reading.
type run struct {
	p         *Pipeline
	src       Source
	committer Committer

	readCtx    context.Context // context of Read
	stopRead   context.CancelFunc
	softCtx    context.Context // done after a soft stop
	cancelSoft context.CancelCauseFunc
	hardCtx    context.Context // done after a hard stop
	cancelHard context.CancelCauseFunc
	controlled Controlled // the source; nil if it is not Controlled
	pauser     Pauser     // the source; nil if it is not a Pauser

	schedulers  []*scheduler
	fillers     []*scheduler // the schedulers of sinks whose batches wait to be full (Fill or Linger)
	packedLimit int64        // compressed bytes that each scheduler of fillers can keep

	pages chan *inflightPage // from the reader to the preparers
	work  sync.WaitGroup     // writers of batches and dead letters, committers, packers
	timer *time.Timer

	allFinished chan struct{} // closed when all read pages are finished

	// Pipeline.mu guards the following fields and the schedulers; see step.
	effects       []func() // work of this step that must not hold the lock
	memory        *memoryLimit
	partitions    map[string]*partition
	readOrder     []*inflightPage // pages in the order of reading; the first is not prepared yet
	notHandedOver int             // number of pages that were read and not handed over
	unfinished    int             // number of pages that were read and not finished
	eof           bool            // reading and preparing have ended
	noFilling     bool            // batches no longer wait to be full
	closed        bool            // no batch and no pack starts any more; commits may
	srcErr        error           // error of the source
	fatal         error

	// moving counts what makes progress by itself: pages in preparation, writers of batches, and writers of dead
	// letters that do not wait for a retry.
	moving int
	// pressureDue reports that this step must call relievePressure: something ended, or the reader waits.
	pressureDue bool
	packing     bool // a packer runs
	pausing     bool // a goroutine makes the calls of Pause

	timerAt    time.Time // when the timer fires; zero: never
	heldBackAt time.Time // when heldBack is called next; zero: nothing is in flight
	hardStopAt time.Time // when a soft stop becomes hard; zero: no stop
	heldSince  map[heldKey]heldSpan
}

// inflightPage is a page from Read until all of its deliveries are finished.
type inflightPage struct {
	partition *partition
	content   *Page         // nil after the page was handed over
	result    *preparedPage // nil after the page was handed over
	err       error         // error of Decode
	used      amount        // the memory that memoryLimit counts for the page
	span      trace.Span
	tracker   *Tracker // nil: the source does not track single records

	// Pipeline.mu guards the following fields.
	prepared bool
	ready    bool // prepared, and the dead letters of its undecodable records are durable
	// nacked reports that the page returns to the source, with the later pages: it has undecodable records, and there
	// are no dead letters.
	nacked      bool
	watermarkID uint64       // the id in the watermark of the partition
	deliveries  int          // number of deliveries to all sinks
	unfinished  int          // number of deliveries that are not finished
	pins        int          // number of deliveries that need the memory of the page
	arenas      []*planArena // an arena for each route; an element is nil if the route has no delivery
}

var errStopTimeout = errs.New("StopTimeout passed")

func newRun(ctx context.Context, p *Pipeline, src Source, c Committer) *run {
	r := &run{
		p: p, src: src, committer: c,
		pages:       make(chan *inflightPage, p.options.Workers),
		timer:       time.NewTimer(time.Hour),
		allFinished: make(chan struct{}),
		partitions:  map[string]*partition{},
	}
	r.timer.Stop()
	r.softCtx, r.cancelSoft = context.WithCancelCause(ctx)
	r.readCtx, r.stopRead = context.WithCancel(r.softCtx)
	r.hardCtx, r.cancelHard = context.WithCancelCause(context.WithoutCancel(ctx))
	r.controlled, _ = src.(Controlled)
	r.pauser, _ = src.(Pauser)
	r.memory = newMemoryLimit(p.options.MaxBytes, p.options.MaxChanges, r.pauser != nil)
	for _, rt := range p.routes {
		s := &scheduler{run: r, route: rt, schedulerScratch: *rt.scratch.get()}
		r.schedulers = append(r.schedulers, s)
		if s.waitsToFill() {
			r.fillers = append(r.fillers, s)
			r.packedLimit = p.options.MaxPacked / int64(len(r.fillers))
		}
	}
	return r
}

// do performs the run. It returns after all goroutines of the run have ended.
func (r *run) do() error {
	if r.controlled != nil {
		r.controlled.Control(r)
	}
	stopClock := make(chan struct{})
	var clock sync.WaitGroup
	clock.Go(func() { r.clock(stopClock) })
	var preparers sync.WaitGroup
	for range r.p.options.Workers {
		preparers.Go(r.preparer)
	}

	r.read()
	close(r.pages)
	preparers.Wait()
	r.step(func(time.Time) { r.eof = true })
	select {
	case <-r.allFinished:
	case <-r.hardCtx.Done():
	}

	flushErr := r.flush()
	r.step(func(time.Time) { r.closed = r.hardCtx.Err() != nil }) // so that no batch and no pack starts after a hard stop
	r.work.Wait()
	r.step(func(time.Time) { r.close() })
	close(stopClock)
	clock.Wait()
	if r.controlled != nil {
		r.controlled.Control(nil)
	}

	err := r.result(flushErr)
	r.stopRead()
	r.cancelSoft(nil)
	r.cancelHard(nil)
	return err
}

// close ends the run, and returns the scratch memory of the schedulers to their pools.
func (r *run) close() {
	r.closed = true
	for _, s := range r.schedulers {
		s.route.scratch.put(s.schedulerScratch)
		s.schedulerScratch = schedulerScratch{}
	}
}

// fail stops the run hard with an error that Run returns. Pipeline.mu is held.
func (r *run) fail(err error) {
	r.fatal = cmp.Or(r.fatal, err)
	r.cancelHard(err)
	r.cancelSoft(err)
}

// failIfFatal stops the run hard if err is marked as fatal. Pipeline.mu is held.
func (r *run) failIfFatal(err error) {
	if IsFatal(err) {
		r.fail(err)
	}
}

// read is the loop of the reader.
func (r *run) read() {
	for r.awaitRoom() {
		content, err := r.callRead()
		if content != nil {
			select {
			case r.pages <- r.addPage(content):
			case <-r.hardCtx.Done():
				return
			}
		}
		if err == nil {
			continue
		}
		if !IsEnd(err) && !r.isStop(err) {
			r.Fail(err)
		}
		return
	}
}

// awaitRoom blocks until less memory than the limit is used. It returns true when the next page can be read, and false
// if reading has ended.
func (r *run) awaitRoom() bool {
	for {
		isReading := r.readCtx.Err() == nil
		mustWait := false
		r.step(func(time.Time) {
			mustWait = isReading && r.memory.isFull()
			r.memory.waiting = mustWait
			r.pressureDue = r.pressureDue || mustWait
		})
		if !mustWait {
			return isReading
		}
		select {
		case <-r.memory.hasRoom:
		case <-r.readCtx.Done():
		}
	}
}

// isStop reports whether err only says that the run was stopped: it is the error, or the cause, of the context that
// ended reading.
func (r *run) isStop(err error) bool {
	if r.softCtx.Err() == nil {
		return false
	}
	return errors.Is(err, r.softCtx.Err()) || errors.Is(err, context.Cause(r.softCtx))
}

func (r *run) callRead() (content *Page, err error) {
	err = guard("source", nil, func() (err error) {
		content, err = r.src.Read(r.readCtx)
		return err
	})
	return content, err
}

// addPage counts a page that was read.
func (r *run) addPage(content *Page) *inflightPage {
	page := &inflightPage{content: content, tracker: content.Tracker,
		used: amount{pinnedBytes(content), int64(len(content.Changes))}}
	r.step(func(now time.Time) {
		page.partition = r.partition(content.Partition)
		page.partition.unfinished++
		r.readOrder = append(r.readOrder, page)
		r.notHandedOver++
		r.unfinished++
		r.addMoving(+1)
		if r.heldBackAt.IsZero() {
			r.heldBackAt = now.Add(heldBackInterval)
		}
		r.memory.acquire(content.Partition, page.used)
	})
	return page
}

func (r *run) preparer() {
	for page := range r.pages {
		if r.hardCtx.Err() == nil {
			r.prepare(page)
		}
	}
}

// prepare decodes one page, and evaluates filters, detectors and plans.
func (r *run) prepare(page *inflightPage) {
	page.span = r.p.tel.page(r.hardCtx, page.partition.name)
	start := time.Now()
	r.p.mu.Lock()
	revoked := page.partition.state.isRevoked()
	r.p.mu.Unlock()
	if revoked {
		page.content = &Page{Partition: page.content.Partition} // an empty page: its records need not be decoded
	}
	if page.content.Decode != nil {
		page.content, page.err = decode(page.content)
	}
	page.result = r.p.evaluatePage(page)
	r.p.tel.prepare.Record(r.hardCtx, time.Since(start).Seconds(), r.p.tel.prepareAttrs)
	r.step(func(now time.Time) { r.pagePrepared(page, now) })
	runtime.Gosched() // lets writers run: otherwise pages accumulate for a time slice of the Go scheduler
}

// pagePrepared hands over a page and the prepared pages after it, unless an earlier page is still in preparation.
func (r *run) pagePrepared(page *inflightPage, now time.Time) {
	r.countDecoded(page)
	if page.result.fatal != nil {
		r.fail(page.result.fatal)
		return
	}
	page.prepared = true
	if undecodable := page.content.Errors; len(undecodable) > 0 {
		r.work.Go(func() { r.storeUndecodable(page, undecodable) })
	} else {
		page.ready = true
		r.addMoving(-1)
	}
	for len(r.readOrder) > 0 && r.readOrder[0].prepared {
		next := r.readOrder[0]
		r.readOrder[0] = nil
		r.readOrder = r.readOrder[1:]
		next.partition.waiting = append(next.partition.waiting, next)
		r.handOver(next.partition, now)
	}
}

// countDecoded adds the memory that a page needs once it is decoded: for its changes and its deliveries.
func (r *run) countDecoded(page *inflightPage) {
	used := amount{pinnedBytes(page.content) + page.result.deliveryBytes(), int64(len(page.content.Changes))}
	r.memory.acquire(page.partition.name, used.minus(page.used))
	page.used = used
}

// decode returns a copy of a page with its decoded content. After an error or a panic, the copy has the records that
// were decoded before.
func decode(page *Page) (*Page, error) {
	out := *page
	out.Decode = nil
	err := guard("decoder", nil, func() error {
		p, err := page.Decode()
		if p != nil {
			out.Page = *p
			out.Bytes = max(page.Bytes, p.Bytes)
		}
		return err
	})
	return &out, err
}

// sourceFailed ends reading with an error that Run returns. A source that controls its run is also stopped softly,
// because other consumers can read its partitions only after the run has ended. Pipeline.mu is held.
func (r *run) sourceFailed(err error) {
	if r.srcErr == nil {
		r.srcErr = fmt.Errorf("source: %w", err)
	}
	r.stopRead()
	if r.controlled != nil {
		r.cancelSoft(err)
	}
}
