package consume

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// stopper is the two ways in which a long-lived command stops: softly, at the first
// signal, and hard, at the second one or when the soft stop took too long.
type stopper struct {
	soft    context.Context // done: stop softly
	hard    context.Context // done: stop hard, with a cause
	end     context.CancelCauseFunc
	begin   context.CancelFunc
	signals chan os.Signal
	work    sync.WaitGroup
}

// The log has these as the cause of a hard stop.
var (
	errSecondSignal = redact.Class("stopped").New("a second signal came")
	errStopTimeout  = redact.Class("stopped").New("--stop-timeout passed")
)

// newStopper stops softly when ctx is done, and hard timeout after that.
func newStopper(ctx context.Context, timeout time.Duration) *stopper {
	s := &stopper{signals: make(chan os.Signal, 2)}
	s.soft, s.begin = context.WithCancel(ctx)
	s.hard, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	signal.Notify(s.signals, cli.StopSignals()...) // also keeps a second one from ending the process at once
	s.work.Go(func() { s.watch(timeout) })
	return s
}

// watch turns soft into hard. The first signal ends ctx, too, which may be seen before it.
func (s *stopper) watch(timeout time.Duration) {
	came := 0
	var expired <-chan time.Time
	soft := s.soft.Done()
	for {
		select {
		case <-soft:
			t := time.NewTimer(timeout)
			defer t.Stop()
			expired, soft = t.C, nil
		case <-s.signals:
			if came++; came > 1 {
				s.end(errSecondSignal)
			}
		case <-expired:
			s.end(errStopTimeout)
			expired = nil
		case <-s.hard.Done():
			return
		}
	}
}

// close ends the watch. Signals do again what they do by default.
func (s *stopper) close() {
	signal.Stop(s.signals)
	s.begin()
	s.end(nil)
	s.work.Wait()
}
