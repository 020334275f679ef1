package pipeline

import (
	"log/slog"
	"time"
)

// retryLogEvery spaces the log lines of one sink's retries: in an outage there are thousands a second, and one line
// tells it all.
const retryLogEvery = 10 * time.Second

// retention is how long a stream of DynamoDB keeps a record.
const retention = 24 * time.Hour

// retryLog gathers failures that are tried again.
type retryLog struct {
	n      int64
	err    error     // the last
	oldest time.Time // creation of the oldest change among them; zero: not known
	next   time.Time

	since  time.Time // of the first failure since all was well; zero: all is
	logged bool      // of those since then
	last   error     // of those since then

	blocks       bool // of n: some can never be written, and nobody keeps them
	loggedBlocks bool
}

func (l *retryLog) add(s *scheduler, qd *queuedDelivery, err error, now time.Time) {
	s.route.tel.retried(s.run.hard)
	l.n++
	l.err, l.last = err, err
	l.blocks = l.blocks || s.blocks(qd, err)
	if l.since.IsZero() {
		l.since = now
	}
	if at := qd.d.Change.Time; !at.IsZero() && (l.oldest.IsZero() || at.Before(l.oldest)) {
		l.oldest = at
	}
}

// flush writes a line when there is something to say and the last one is long enough ago.
func (l *retryLog) flush(s *scheduler, now time.Time) {
	if l.n == 0 || now.Before(l.next) && (!l.blocks || l.loggedBlocks) {
		return
	}
	level, text := slog.LevelWarn, "deliveries failed and are tried again; their keys wait"
	if l.blocks {
		level, text = slog.LevelError, "changes can never be written and there are no dead letters: they block their keys and the checkpoint; mend the cause, or configure dead_letters"
	}
	n, err, oldest, waiting := l.n, l.err, l.oldest, len(s.parked)
	s.run.log(level, text, func() []slog.Attr {
		attrs := s.run.p.failed(Failure{Sink: s.route.Name}, err,
			slog.String("sink", s.route.Name), slog.Int64("failures", n), slog.Int("keys_waiting", waiting), slog.String("class", classOf(err)))
		if o := &s.run.p.o; o.Live && !oldest.IsZero() {
			// What nothing gives up is lost when the stream drops it.
			attrs = append(attrs, slog.Float64("hours_to_loss", hours(oldest.Add(retention).Sub(now))))
			if o.MaxHold > 0 {
				attrs = append(attrs, slog.Float64("hours_to_dead_letters", hours(oldest.Add(o.MaxHold).Sub(now))))
			}
		}
		return attrs
	})
	l.blocks, l.loggedBlocks = false, l.blocks || l.loggedBlocks
	l.n, l.err, l.oldest, l.next, l.logged = 0, nil, time.Time{}, now.Add(retryLogEvery), true
}

// recover says once that nothing waits any more of what failed, where it was said that something does.
func (l *retryLog) recover(s *scheduler, now time.Time) {
	if l.since.IsZero() || len(s.parked) > 0 {
		return
	}
	for lane := range s.lanes.all() {
		if lane.attempt > 0 { // it is being tried again
			return
		}
	}
	if l.logged {
		d := down(l.since)
		s.run.log(slog.LevelInfo, "the sink works again", func() []slog.Attr {
			return []slog.Attr{slog.String("sink", s.route.Name), slog.Duration("down", d)}
		})
	}
	l.blocks, l.loggedBlocks = false, false
	l.n, l.err, l.oldest, l.since, l.logged, l.last = 0, nil, time.Time{}, time.Time{}, false, nil
}

// down is for how long something did not work.
func down(since time.Time) time.Duration { return time.Since(since).Round(time.Millisecond) }

// hours is d in hours, to a tenth, and not below 0.
func hours(d time.Duration) float64 {
	return float64(max(d, 0).Round(6*time.Minute)) / float64(time.Hour)
}
