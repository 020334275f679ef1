package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
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
	pauser     Pauser     // likewise

	schedulers  []*scheduler
	fillers     []*scheduler // schedulers whose batches wait to be full
	packedLimit int64        // bytes, of each of lingering

	pages chan *inflightPage
	work  sync.WaitGroup // writers of batches and dead letters, committers, packers
	timer *time.Timer

	allFinished chan struct{} // closed when all read pages are finished

	// Pipeline.mu guards what follows, and all of the schedulers; see on.
	effects       effects
	bounds        *bounds
	partitions    map[string]*partition
	readOrder     []*inflightPage // pages in the order of reading, from the first that is not prepared
	notHandedOver int             // pages read and not handed over
	unfinished    int             // pages read and not finished
	eof           bool            // nothing more is read
	noFilling     bool            // batches no longer wait to be full
	closed        bool            // nothing starts any more
	srcErr        error
	fatal         error

	moving        int  // pages that are prepared, writers of batches, and writers of dead letters that do not wait
	checkPressure bool // something stopped moving, or the reader waits: batches that fill may hold everything back
	packing       bool // a packer runs
	pausing       bool // a goroutine makes the calls of Pause

	timerAt    time.Time // when the timer fires; zero: it does not
	heldBackAt time.Time // when heldBack looks next; zero: nothing is in flight
	hardStopAt time.Time // when a soft stop becomes hard; zero: there is none
	heldSince  map[heldKey]heldSince
}

// inflightPage is a page on its way.
type inflightPage struct {
	partition *partition
	page      *Page         // until it is handed over
	result    *preparedPage // likewise
	err       error         // of Decode
	bytes     int64         // taken from the bounds
	changes   int64
	span      trace.Span
	tracker   *Tracker // nil: the source does not track single records

	// Pipeline.mu guards what follows.
	prepared    bool
	ready       bool         // prepared, and the letters of what could not be decoded are durable
	nacked      bool         // its dead letters cannot be stored: it and the later pages return to the source
	watermarkID uint64       // in the partition's watermark
	deliveries  int          // to all sinks
	unfinished  int          // of deliveries: they are not finished
	pins        int          // of deliveries: they hold its bytes and arenas
	fillingPins int          // of pins: they wait for a batch to fill, while they are counted
	arenas      []*planArena // by the route; nil if nothing is planned
}

var errStopTimeout = errs.New("StopTimeout passed")

func newRun(ctx context.Context, p *Pipeline, src Source, c Committer) *run {
	r := &run{
		p: p, src: src, committer: c,
		pages:       make(chan *inflightPage, p.o.Workers),
		timer:       time.NewTimer(time.Hour),
		allFinished: make(chan struct{}),
		partitions:  map[string]*partition{},
	}
	r.timer.Stop()
	r.soft, r.cancelSoft = context.WithCancelCause(ctx)
	r.reading, r.stopRead = context.WithCancel(r.soft)
	r.hard, r.cancelHard = context.WithCancelCause(context.WithoutCancel(ctx))
	r.controlled, _ = src.(Controlled)
	r.pauser, _ = src.(Pauser)
	r.bounds = newBounds(p.o.MaxBytes, p.o.MaxChanges, r.pauser != nil)
	for _, rt := range p.routes {
		s := &scheduler{run: r, route: rt, schedulerScratch: rt.scratch.get()}
		r.schedulers = append(r.schedulers, s)
		if s.waitsToFill() {
			r.fillers = append(r.fillers, s)
			r.packedLimit = p.o.MaxPacked / int64(len(r.fillers))
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
	var clock sync.WaitGroup
	clock.Go(func() { r.clock(returned) })
	var preparers sync.WaitGroup
	for range r.p.o.Workers {
		preparers.Go(r.preparer)
	}
	r.read()
	close(r.pages)
	preparers.Wait()
	r.step(func(time.Time) { r.eof = true })
	select {
	case <-r.allFinished:
	case <-r.hard.Done():
	}
	flushErr := r.flush()
	r.step(func(time.Time) { r.closed = r.hard.Err() != nil })
	r.work.Wait()
	r.step(func(time.Time) { r.close() })
	close(returned)
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

// close ends the run, and leaves the empty lanes and batches of the schedulers to runs to come.
func (r *run) close() {
	r.closed = true
	for _, s := range r.schedulers {
		s.route.scratch.put(s.schedulerScratch)
		s.schedulerScratch = schedulerScratch{}
	}
}

// fail stops at once. Pipeline.mu is held.
func (r *run) fail(err error) {
	if r.fatal == nil {
		r.fatal = err
	}
	r.cancelHard(err)
	r.cancelSoft(err)
}

// failIfFatal stops at once if err is fatal.
func (r *run) failIfFatal(err error) {
	if IsFatal(err) {
		r.fail(err)
	}
}

// read is the reader's loop.
func (r *run) read() {
	for r.awaitRoom() {
		page, err := r.callRead()
		if page != nil {
			in := r.addPage(page)
			select {
			case r.pages <- in:
			case <-r.hard.Done():
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !r.isStop(err) {
				r.Fail(err)
			}
			return
		}
	}
}

// awaitRoom blocks until the bounds have room; it is false if reading ends first.
func (r *run) awaitRoom() bool {
	for {
		reading := r.reading.Err() == nil
		r.step(func(time.Time) {
			r.bounds.waiting = reading && r.bounds.full()
			r.checkPressure = r.checkPressure || r.bounds.waiting
		})
		if !reading || !r.bounds.waiting {
			return reading
		}
		select {
		case <-r.bounds.hasRoom:
		case <-r.reading.Done():
		}
	}
}

// isStop reports whether a source's error is that of the context that ended its reading, or its cause.
func (r *run) isStop(err error) bool {
	return r.soft.Err() != nil && (errors.Is(err, r.soft.Err()) || errors.Is(err, context.Cause(r.soft)))
}

func (r *run) callRead() (page *Page, err error) {
	err = guard("source", nil, func() (err error) {
		page, err = r.src.Read(r.reading)
		return err
	})
	return page, err
}

// addPage accounts for a page that was read.
func (r *run) addPage(page *Page) *inflightPage {
	in := &inflightPage{page: page, bytes: pinnedBytes(page), changes: int64(len(page.Changes)), tracker: page.Tracker}
	r.step(func(now time.Time) {
		in.partition = r.partition(page.Partition)
		in.partition.unfinished++
		r.readOrder = append(r.readOrder, in)
		r.notHandedOver++
		r.unfinished++
		r.addMoving(+1)
		if r.heldBackAt.IsZero() {
			r.heldBackAt = now.Add(heldBackInterval)
		}
		r.bounds.take(page.Partition, amount{in.bytes, in.changes})
	})
	return in
}

func (r *run) preparer() {
	for in := range r.pages {
		if r.hard.Err() == nil {
			r.prepare(in)
		}
	}
}

// prepare decodes one page, and evaluates filters and detectors.
func (r *run) prepare(in *inflightPage) {
	in.span = r.p.tel.page(r.hard, in.partition.name)
	start := time.Now()
	r.p.mu.Lock()
	revoked := in.partition.state.revoked()
	r.p.mu.Unlock()
	if revoked {
		in.page = &Page{Partition: in.page.Partition} // its records are not decoded
	}
	if in.page.Decode != nil {
		in.page, in.err = decode(in.page)
	}
	in.result = r.p.evaluatePage(in)
	r.p.tel.prepared(r.hard, time.Since(start))
	r.step(func(now time.Time) { r.pagePrepared(in, now) })
	runtime.Gosched() // to the writers: otherwise pages gather for a slice of time
}

// pagePrepared hands over a page, and the later ones that waited for it.
func (r *run) pagePrepared(in *inflightPage, now time.Time) {
	more := amount{pinnedBytes(in.page) - in.bytes, int64(len(in.page.Changes)) - in.changes}
	r.bounds.take(in.partition.name, more)
	in.bytes, in.changes = in.bytes+more.bytes, in.changes+more.changes
	if in.result.fatal != nil {
		r.fail(in.result.fatal)
		return
	}
	in.prepared = true
	if undecodable := in.page.Errors; len(undecodable) > 0 {
		r.work.Go(func() { r.storeUndecodable(in, undecodable) })
	} else {
		in.ready = true
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

// decode returns a page with its content. After an error or a panic it has the records before that.
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

// sourceFailed ends reading with an error that Run returns. A source that controls its run is stopped softly: other
// consumers can read its partitions only after that. Pipeline.mu is held.
func (r *run) sourceFailed(err error) {
	if r.srcErr == nil {
		r.srcErr = fmt.Errorf("source: %w", err)
	}
	r.stopRead()
	if r.controlled != nil {
		r.cancelSoft(err)
	}
}
