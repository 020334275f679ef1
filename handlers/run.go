package handlers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// feed is the source of one run: pages that are all there already. It takes back what
// is not finished in time.
type feed struct {
	p     *pipeline.Pipeline
	pages []*pipeline.Page
	cuts  cuts

	parts   []string // the pages' partitions
	over    chan struct{}
	cutting sync.WaitGroup

	// Read behind cutting.
	cut       bool // what is not finished is given back for lack of time
	abandoned bool // the run was stopped hard
}

var (
	_ pipeline.Source     = (*feed)(nil)
	_ pipeline.Controlled = (*feed)(nil)
)

// ended is how a run ended.
type ended struct {
	cut bool
	err error
}

// run delivers pages, which have trackers: those tell what of them is finished when it
// returns. cut tells that the time was over before all was finished.
//
// A pipeline has one run at a time. One that does not end in time, because a sink does not
// listen to its context, is left alone: it ends behind the answer, and the next one waits for it.
func (h *handler) run(ctx context.Context, cuts cuts, pages ...*pipeline.Page) (cut bool, err error) {
	mine, err := h.takeTurn(ctx, cuts)
	if mine == nil {
		return true, err
	}
	end := make(chan ended, 1)
	go func() {
		defer func() { <-h.turn }()
		end <- h.deliver(ctx, cuts, pages)
	}()
	late, cancel := cuts.at(cuts.leave)
	defer cancel()
	select {
	case e := <-end:
		return e.cut, e.err
	case <-late:
		mine.alone.Store(true)
		h.o.log.LogAttrs(ctx, slog.LevelError, "a sink or a store did not end though its context did: the answer does not wait for it, and the next invocation does")
		return true, nil
	}
}

// turn is a run's; there is one at a time.
type turn struct{ alone atomic.Bool } // its invocation answered without it

// errStuck is a run that an invocation left alone, and the next one waited for in vain. Nothing
// gets through beside it.
var errStuck = errs.New("a sink or a store that was left alone by the invocation before has not ended in all of this one's time, and nothing is delivered beside it: the process is to be replaced; let each Write end when its context does")

// takeTurn waits until no run is under way. It is nil where there is no time left for one.
func (h *handler) takeTurn(ctx context.Context, cuts cuts) (*turn, error) {
	over, cancel := cuts.at(cuts.recall)
	defer cancel()
	if cuts.over(time.Now()) {
		return nil, nil
	}
	before := h.last.Load()
	left := before != nil && before.alone.Load()
	select {
	case h.turn <- struct{}{}:
		mine := &turn{}
		h.last.Store(mine)
		return mine, nil
	case <-ctx.Done():
	case <-over:
	}
	if left && h.last.Load() == before {
		return nil, errStuck
	}
	return nil, nil
}

func (h *handler) deliver(ctx context.Context, cuts cuts, pages []*pipeline.Page) ended {
	f := &feed{p: h.p, pages: pages, cuts: cuts}
	for _, p := range pages {
		f.parts = append(f.parts, p.Partition)
	}
	err := h.p.Run(ctx, f, nil)
	f.cutting.Wait()
	if (f.abandoned || stoppedBy(ctx, err)) && !pipeline.IsFatal(err) {
		err = nil // the trackers tell what is left
	}
	return ended{f.cut, err}
}

// stoppedBy tells whether a run ended hard because ctx was done.
func stoppedBy(ctx context.Context, err error) bool {
	_, hard := errors.AsType[*pipeline.StopError](err)
	return hard && ctx.Err() != nil
}

// Read gives page after page.
func (f *feed) Read(context.Context) (*pipeline.Page, error) {
	if len(f.pages) == 0 {
		return nil, io.EOF
	}
	page := f.pages[0]
	f.pages = f.pages[1:]
	if len(f.pages) == 0 {
		return page, io.EOF
	}
	return page, nil
}

// Control starts the clock, and stops it.
func (f *feed) Control(c pipeline.Control) {
	switch {
	case f.cuts.recall.IsZero():
	case c != nil:
		f.over = make(chan struct{})
		f.cutting.Go(func() { f.watch(c) })
	default:
		close(f.over)
	}
}

// watch gives up more and more as time goes by, until the run is over.
func (f *feed) watch(c pipeline.Control) {
	for _, step := range []struct {
		at time.Time
		do func()
	}{
		{f.cuts.recall, func() { c.Recall(f.parts...) }},
		{f.cuts.revoke, func() { c.Revoke(errDeadline, f.parts...) }},
		{f.cuts.stop, f.abandon},
	} {
		t := time.NewTimer(time.Until(step.at))
		select {
		case <-t.C:
			f.cut = true
			step.do()
		case <-f.over:
			t.Stop()
			return
		}
	}
}

// abandon stops what does not end though it was cancelled: a flush, say.
func (f *feed) abandon() {
	f.abandoned = true
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errDeadline)
	f.p.Stop(ctx)
}
