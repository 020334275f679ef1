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

// stopper stops a long-lived command: softly at the first signal, hard at the second signal or after the timeout.
type stopper struct {
	softStop   context.Context         // done: stop softly
	hardStop   context.Context         // done: stop hard, with a cause
	stopHard   context.CancelCauseFunc // cancels hardStop
	stopSoftly context.CancelFunc      // cancels softStop
	signals    chan os.Signal
	work       sync.WaitGroup
}

// The causes of a hard stop, as they appear in the log.
var (
	errSecondSignal = redact.Class("stopped").New("a second signal came")
	errStopTimeout  = redact.Class("stopped").New("--stop-timeout passed")
)

// newStopper returns a stopper. It stops softly when ctx is done, and hard after timeout.
func newStopper(ctx context.Context, timeout time.Duration) *stopper {
	s := &stopper{signals: make(chan os.Signal, 2)}
	s.softStop, s.stopSoftly = context.WithCancel(ctx)
	s.hardStop, s.stopHard = context.WithCancelCause(context.WithoutCancel(ctx))
	signal.Notify(s.signals, cli.StopSignals()...) // a second signal must not kill the process
	s.work.Go(func() { s.watch(timeout) })
	return s
}

// watch begins the hard stop. It counts the signals itself: the first signal also begins the soft stop, and watch may
// see the signal before or after the soft stop.
func (s *stopper) watch(timeout time.Duration) {
	signals := 0
	var expired <-chan time.Time // nil, and never ready, before the soft stop
	soft := s.softStop.Done()
	for {
		select {
		case <-soft:
			expired, soft = time.After(timeout), nil // Done is always ready from now on
		case <-s.signals:
			signals++
			if signals > 1 {
				s.stopHard(errSecondSignal)
			}
		case <-expired: // once, because a timer fires once
			s.stopHard(errStopTimeout)
		case <-s.hardStop.Done():
			return
		}
	}
}

// close ends the goroutine, and restores the default effect of signals.
func (s *stopper) close() {
	signal.Stop(s.signals)
	s.stopSoftly()
	s.stopHard(nil)
	s.work.Wait()
}
