package pipeline

import (
	"log/slog"
	"time"
)

// retryLogEvery is the shortest time between two lines about the retries of a sink. It is needed because an outage
// causes thousands of retries a second.
const retryLogEvery = 10 * time.Second

// retention is how long a DynamoDB stream keeps a record.
const retention = 24 * time.Hour

// retryLog collects failures that are tried again, for the log.
type retryLog struct {
	// Since the last line:
	n      int64
	err    error     // the last failure
	oldest time.Time // creation of the oldest change; zero: unknown
	blocks bool      // one of the changes can never be written, and blocks its key

	next time.Time // the next line can be written

	// Since the sink last worked:
	since        time.Time // the first failure; zero: the sink works
	last         error
	logged       bool // a line reported failures
	loggedBlocks bool // a line reported blocked keys
}

func (l *retryLog) add(s *scheduler, qd *queuedDelivery, err error, now time.Time) {
	s.route.tel.retried(s.run.hardCtx)
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

// flush writes a line if there were failures and the last line is old enough. The first line about blocked keys is
// written at once.
func (l *retryLog) flush(s *scheduler, now time.Time) {
	if l.n == 0 || now.Before(l.next) && (!l.blocks || l.loggedBlocks) {
		return
	}
	level, text := slog.LevelWarn, "deliveries failed and are tried again; their keys wait"
	if l.blocks {
		level, text = slog.LevelError,
			"changes can never be written and there are no dead letters: they block their keys and the checkpoint; fix the cause, or configure dead_letters"
	}
	n, err, oldest, waiting := l.n, l.err, l.oldest, len(s.parked)
	s.run.log(level, text, func() []slog.Attr {
		attrs := s.run.p.failureAttrs(Failure{Sink: s.route.Name}, err,
			slog.String("sink", s.route.Name), slog.Int64("failures", n), slog.Int("keys_waiting", waiting),
			slog.String("class", classOf(err)))
		if o := &s.run.p.o; o.Live && !oldest.IsZero() {
			// The stream drops a change after retention, so the change is lost if it is not dead-lettered before.
			attrs = append(attrs, slog.Float64("hours_to_loss", roundedHours(oldest.Add(retention).Sub(now))))
			if o.MaxHold > 0 {
				attrs = append(attrs, slog.Float64("hours_to_dead_letters", roundedHours(oldest.Add(o.MaxHold).Sub(now))))
			}
		}
		return attrs
	})
	l.blocks, l.loggedBlocks = false, l.blocks || l.loggedBlocks
	l.n, l.err, l.oldest, l.next, l.logged = 0, nil, time.Time{}, now.Add(retryLogEvery), true
}

// recover logs that the sink works again, once no failed delivery waits any more. It logs nothing if no line reported
// failures.
func (l *retryLog) recover(s *scheduler, now time.Time) {
	if l.since.IsZero() || len(s.parked) > 0 {
		return
	}
	for lane := range s.lanes.all() {
		if lane.attempt > 0 { // a retry is in flight
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

// down returns how long something has failed.
func down(since time.Time) time.Duration { return time.Since(since).Round(time.Millisecond) }

// roundedHours returns d in hours, rounded to a tenth, and at least 0.
func roundedHours(d time.Duration) float64 {
	return float64(max(d, 0).Round(6*time.Minute)) / float64(time.Hour)
}
