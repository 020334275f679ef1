package pipeline

import (
	"log/slog"
	"time"
)

// retryLogEvery is the shortest time between two lines about the retries of a sink. It is needed because an outage
// causes thousands of retries a second.
const retryLogEvery = 10 * time.Second

// streamRetention is how long a DynamoDB stream keeps a record.
const streamRetention = 24 * time.Hour

// retryLog collects failures that are tried again, for the log.
type retryLog struct {
	unlogged retryFailures
	nextAt   time.Time // when the next line can be written

	// Since the sink last worked:
	failingSince time.Time // the first failure; zero: the sink works
	lastErr      error     // the last failure
	logged       bool      // a line reported failures
	loggedBlocks bool      // a line reported blocked keys
}

// retryFailures describes the failures since the last line.
type retryFailures struct {
	count  int64
	err    error     // the last failure
	oldest time.Time // creation of the oldest change; zero: unknown
	blocks bool      // one of the changes can never be written, and blocks its key
}

// add notes a failure of a delivery that is tried again.
func (l *retryLog) add(s *scheduler, delivery *queuedDelivery, err error, now time.Time) {
	s.route.tel.retried(s.run.hardCtx)
	l.lastErr = err
	if l.failingSince.IsZero() {
		l.failingSince = now
	}
	l.unlogged.count++
	l.unlogged.err = err
	l.unlogged.oldest = earlierOf(l.unlogged.oldest, delivery.Change.Time)
	l.unlogged.blocks = l.unlogged.blocks || s.fateOfError(delivery.page, err) == fateBlocked
}

// logFailures writes a line if there were failures and the last line is old enough. The first line about blocked keys
// is written at once.
func (l *retryLog) logFailures(s *scheduler, now time.Time) {
	failures := l.unlogged
	isUrgent := failures.blocks && !l.loggedBlocks
	isTooSoon := now.Before(l.nextAt) && !isUrgent
	if failures.count == 0 || isTooSoon {
		return
	}
	level, text := slog.LevelWarn, "deliveries failed and are tried again; their keys wait"
	if failures.blocks {
		level, text = slog.LevelError,
			"changes can never be written and there are no dead letters: they block their keys and the checkpoint; fix the cause, or configure dead_letters"
	}
	waiting := len(s.parked)
	s.run.log(level, text, func() []slog.Attr {
		attrs := s.run.p.failureAttrs(Failure{Sink: s.route.Name}, failures.err,
			slog.String("sink", s.route.Name), slog.Int64("failures", failures.count), slog.Int("keys_waiting", waiting),
			slog.String("class", classOf(failures.err)))
		return append(attrs, s.run.p.lossAttrs(failures.oldest, now)...)
	})
	l.unlogged, l.nextAt, l.logged = retryFailures{}, now.Add(retryLogEvery), true
	l.loggedBlocks = l.loggedBlocks || failures.blocks
}

// lossAttrs returns attributes for the log: in how many hours a change is lost, and in how many hours it is
// dead-lettered. created is the creation time of the change. The stream drops a change after streamRetention, so it is
// lost if it is not dead-lettered before. lossAttrs returns nil if the pipeline is not Live, or if created is zero.
func (p *Pipeline) lossAttrs(created, now time.Time) []slog.Attr {
	if !p.options.Live || created.IsZero() {
		return nil
	}
	attrs := []slog.Attr{slog.Float64("hours_to_loss", roundedHours(created.Add(streamRetention).Sub(now)))}
	if p.options.MaxHold > 0 {
		attrs = append(attrs, slog.Float64("hours_to_dead_letters", roundedHours(created.Add(p.options.MaxHold).Sub(now))))
	}
	return attrs
}

// logRecovery logs that the sink works again, once no failed delivery waits any more, if a line reported failures.
func (l *retryLog) logRecovery(s *scheduler, now time.Time) {
	if l.failingSince.IsZero() || len(s.parked) > 0 || s.hasRetryInFlight() {
		return
	}
	if l.logged {
		downtime := downtimeSince(l.failingSince)
		s.run.log(slog.LevelInfo, "the sink works again", func() []slog.Attr {
			return []slog.Attr{slog.String("sink", s.route.Name), slog.Duration("down", downtime)}
		})
	}
	*l = retryLog{nextAt: l.nextAt}
}

// hasRetryInFlight reports whether a change that failed is tried again now.
func (s *scheduler) hasRetryInFlight() bool {
	for lane := range s.lanes.all() {
		if lane.attempt > 0 {
			return true
		}
	}
	return false
}

// downtimeSince returns how long something has failed, in whole milliseconds.
func downtimeSince(since time.Time) time.Duration { return time.Since(since).Round(time.Millisecond) }

// roundedHours returns d in hours, rounded to a tenth, and at least 0.
func roundedHours(d time.Duration) float64 {
	return float64(max(d, 0).Round(6*time.Minute)) / float64(time.Hour)
}
