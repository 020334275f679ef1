package pipeline

import (
	"log/slog"
	"time"
)

// retryLogEvery spaces the log lines of one sink's retries: in an outage there
// are thousands a second, and one line tells it all.
const retryLogEvery = 10 * time.Second

// retryLog gathers failures that are tried again. The scheduler's lock guards it.
type retryLog struct {
	n    int64
	err  error // the last
	next time.Time
}

func (l *retryLog) add(s *scheduler, err error) {
	s.route.tel.retried(s.run.hard)
	l.n++
	l.err = err
}

// flush writes a line when there is something to say and the last one is long enough ago.
func (l *retryLog) flush(s *scheduler, now time.Time) {
	if l.n == 0 || now.Before(l.next) {
		return
	}
	s.run.p.log.LogAttrs(s.run.hard, slog.LevelWarn, "deliveries failed and are tried again; their keys wait",
		slog.String("sink", s.route.Name), slog.Int64("failures", l.n), slog.Int("keys_waiting", len(s.parked)),
		slog.String("error", logText(l.err)), stackOf(l.err))
	l.n, l.err, l.next = 0, nil, now.Add(retryLogEvery)
}
