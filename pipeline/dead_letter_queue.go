package pipeline

import (
	"context"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// deadLetterQueue has the failed changes of one sink until their dead letters are durable. Later changes of the same
// keys wait. While the queue is not empty, one goroutine (writeDeadLetters) stores its dead letters.
type deadLetterQueue struct {
	deliveries []*queuedDelivery
	putting    []*queuedDelivery // the deliveries whose letters the goroutine stores now
	putSince   time.Time         // when the Put of putting began
	running    bool              // writeDeadLetters runs
	failing    bool              // the last Put or MarkKeys failed, so waiting changes are cloned
	log        deadLetterLog
}

// maxLetters is the largest number of letters (dead letters) in one Put.
const maxLetters = 500

// deadLetter queues a delivery that failed permanently.
func (s *scheduler) deadLetter(delivery *queuedDelivery) {
	lane := delivery.lane
	lane.letters++
	lane.expiresAt = time.Time{}
	lane.quarantinesRest = lane.quarantinesRest || s.run.quarantines(s.route, delivery.fail.class)
	if s.deadLetters.failing {
		delivery = s.clone(delivery)
	}
	s.deadLetters.deliveries = append(s.deadLetters.deliveries, delivery)
	if !s.deadLetters.running {
		s.deadLetters.running = true
		s.run.addMoving(+1)
		s.run.work.Go(s.writeDeadLetters)
	}
}

// writeDeadLetters stores the queue until it is empty, or until a hard stop.
func (s *scheduler) writeDeadLetters() {
	var deliveries []*queuedDelivery
	s.run.step(func(now time.Time) { deliveries = s.nextLetters(now) })
	for len(deliveries) > 0 {
		stored := s.storeLetters(deliveries)
		s.run.step(func(now time.Time) {
			if stored {
				s.lettersStored(deliveries, now)
			}
			deliveries = s.nextLetters(now)
		})
	}
}

// nextLetters takes the deliveries whose letters are stored next. If it returns nil, writeDeadLetters must return.
func (s *scheduler) nextLetters(now time.Time) []*queuedDelivery {
	q := &s.deadLetters
	n := min(len(q.deliveries), maxLetters)
	if n == 0 || s.run.hardCtx.Err() != nil {
		q.running, q.putting = false, nil
		s.run.addMoving(-1)
		return nil
	}
	q.putting, q.putSince = q.deliveries[:n:n], now
	q.deliveries = q.deliveries[n:]
	if len(q.deliveries) == 0 {
		q.deliveries = nil
	}
	return q.putting
}

// lettersStored finishes deliveries whose letters are durable.
func (s *scheduler) lettersStored(deliveries []*queuedDelivery, now time.Time) {
	s.deadLetters.failing = false
	for _, delivery := range deliveries {
		outcome := DeadLettered
		if delivery.fail.class == classQuarantined {
			outcome = Quarantined
		}
		s.finishLetter(delivery, outcome, now)
	}
}

// finishLetter finishes a delivery that waited for its letter. After the last letter of a lane, the lane enters its
// next state.
func (s *scheduler) finishLetter(delivery *queuedDelivery, o Outcome, now time.Time) {
	lane := delivery.lane
	s.finishDelivery(delivery, o, "")
	lane.letters--
	if lane.letters == 0 {
		s.setNextState(lane, now)
	}
}

// lettersFailed is called when letters cannot be stored. It clones the deliveries that wait for letters, and the later
// changes of their keys, so that none of them pins its page. A running storeLetters sees the clones, because it has the
// same slice.
func (s *scheduler) lettersFailed() {
	s.deadLetters.failing = true
	for _, deliveries := range [][]*queuedDelivery{s.deadLetters.putting, s.deadLetters.deliveries} {
		for i, delivery := range deliveries {
			deliveries[i] = s.clone(delivery)
			s.cloneQueue(delivery.lane)
		}
	}
}

// storeLetters stores dead letters, then quarantines their keys. It returns true when both are durable, and false after
// a hard stop.
func (s *scheduler) storeLetters(deliveries []*queuedDelivery) bool {
	// All tries have one time. It is part of the name of a stored letter, and a retry must not store a second letter.
	at := time.Now().UTC()
	letters := func() []DeadLetter { return s.makeLetters(deliveries, at) }
	ctx := s.run.hardCtx
	if !s.run.putLetters(ctx, len(deliveries), letters, s.lettersFailed) {
		return false
	}
	var keys []item.Key
	for _, delivery := range deliveries {
		if s.run.quarantines(s.route, delivery.fail.class) {
			keys = append(keys, delivery.Change.Key)
		}
	}
	if !s.run.quarantineKeys(ctx, s.route.Name, keys, s.lettersFailed) {
		return false
	}
	s.deadLetters.log.logLetters(s, deliveries)
	return true
}

// makeLetters returns the dead letters of failed deliveries.
func (s *scheduler) makeLetters(deliveries []*queuedDelivery, now time.Time) []DeadLetter {
	letters := make([]DeadLetter, len(deliveries))
	for i, delivery := range deliveries {
		c := delivery.Change
		letters[i] = DeadLetter{
			Pipeline: s.run.p.options.Name, Sink: s.route.Name,
			Key: c.Key, Version: c.Version, Sequence: c.Sequence,
			StreamARN: c.StreamARN, Table: c.Table,
			Partition: delivery.page.partition.name, Index: int(c.Index),
			Class: delivery.fail.class, Error: errorText(delivery.fail.err), Raw: c.RecordJSON(), Time: now,
		}
	}
	return letters
}

// putLetters stores n letters, and retries until they are durable. Each try makes the letters again, because failed can
// move their changes to other memory. It returns false if ctx ends first.
func (r *run) putLetters(ctx context.Context, n int, letters func() []DeadLetter, failed func()) bool {
	put := func() error { return r.p.options.DeadLetters.Put(ctx, letters()) }
	return r.retryUntilDone(ctx, "dead letters cannot be stored: their changes and later ones of the same keys are blocked", n,
		func() error { return guard("dead letters", &r.p.denials.deadLetters, put) }, failed)
}

// retryUntilDone calls do until it succeeds. It returns false if ctx ends first. It logs text at each failure with n,
// the number of letters or keys. After the first failure it calls failed, in a step. The caller counts as moving (see
// run.addMoving), except from the first failure until the return. A fatal error also stops the run.
func (r *run) retryUntilDone(ctx context.Context, text string, n int, do func() error, failed func()) bool {
	start := time.Now()
	err := do()
	if err == nil {
		return true
	}
	for attempt := 0; err != nil; attempt++ {
		r.p.log.LogAttrs(r.hardCtx, slog.LevelError, text,
			r.p.failureAttrs(Failure{}, err, slog.Int("waiting", n), slog.Int("attempt", attempt+1))...)
		r.step(func(time.Time) {
			if attempt == 0 {
				failed()
				r.addMoving(-1)
			}
			r.failIfFatal(err)
		})
		if !r.waitToRetry(ctx, attempt, err) {
			break
		}
		err = do()
	}
	r.step(func(time.Time) { r.addMoving(+1) })
	if err != nil {
		return false // ctx has ended
	}
	r.p.log.LogAttrs(r.hardCtx, slog.LevelInfo, "the store works again, and blocked changes continue",
		slog.Int("waited", n), slog.Duration("down", downtimeSince(start)))
	return true
}

// deadLetterLog logs dead-lettered changes. It logs quarantined changes at most once per retryLogEvery: the line about
// the first letter of their key has announced them. Only the goroutine of writeDeadLetters uses it.
type deadLetterLog struct {
	quarantined int       // number of changes since the last line about quarantined changes
	nextAt      time.Time // when the next such line can be written
}

// logLetters writes a line about failed changes, a line about changes for which MaxHold passed, and a line about
// quarantined changes.
func (l *deadLetterLog) logLetters(s *scheduler, deliveries []*queuedDelivery) {
	var failed, expired []*queuedDelivery
	for _, delivery := range deliveries {
		s.route.tel.countLetter(s.run.hardCtx, delivery.fail.class)
		switch delivery.fail.class {
		case classExpired:
			expired = append(expired, delivery)
		case classQuarantined:
			l.quarantined++
		default:
			failed = append(failed, delivery)
		}
	}
	if len(failed) > 0 {
		var attrs []slog.Attr
		if s.run.quarantines(s.route, failed[0].fail.class) {
			attrs = append(attrs,
				slog.String("hint", "later changes of these keys become dead letters too; fix the cause, then redrive"))
		}
		l.logLine(s, "changes were dead-lettered", failed, attrs...)
	}
	if len(expired) > 0 {
		hint := "check the sink; when it works again, redrive"
		if s.run.p.options.Quarantine != nil {
			hint = "check the sink; later changes of these keys become dead letters too, until a redrive delivers them in order"
		}
		l.logLine(s, "changes were dead-lettered: max_hold passed", expired,
			slog.Duration("max_hold", s.run.p.options.MaxHold), slog.String("hint", hint))
	}
	l.logQuarantined(s)
}

// logQuarantined writes a line about quarantined changes, at most once per retryLogEvery.
func (l *deadLetterLog) logQuarantined(s *scheduler) {
	if now := time.Now(); l.quarantined > 0 && !now.Before(l.nextAt) {
		s.run.p.log.LogAttrs(s.run.hardCtx, slog.LevelWarn,
			"changes were dead-lettered: their keys are quarantined until a redrive",
			slog.String("sink", s.route.Name), slog.Int("changes", l.quarantined))
		l.quarantined, l.nextAt = 0, now.Add(retryLogEvery)
	}
}

// logLine writes a line about deliveries that failed. It describes the first of them.
func (l *deadLetterLog) logLine(s *scheduler, text string, deliveries []*queuedDelivery, more ...slog.Attr) {
	first := deliveries[0]
	attrs := s.run.p.failureAttrs(Failure{Sink: s.route.Name, Letter: true}, first.fail.err,
		slog.String("sink", s.route.Name), slog.Int("changes", len(deliveries)), slog.String("class", first.fail.class),
		slog.String("partition", first.page.partition.name), slog.String("sequence", first.Change.Sequence))
	s.run.p.log.LogAttrs(s.run.hardCtx, slog.LevelError, text, append(attrs, more...)...)
}

// DeadLetter is a change that could not be delivered. It has everything that a redrive needs.
type DeadLetter struct {
	Pipeline  string
	Sink      string // "" for an undecodable record
	Key       item.Key
	Version   record.Version
	Sequence  string
	StreamARN string
	Table     string
	Partition string
	Index     int // index of the record in its page
	// Class is one of undecodable, filter, detector, plan, write, panic, held or quarantined. Or it is a class that the
	// sink's error chose, such as [ClassCollision]. held means that MaxHold passed. quarantined means that the key has
	// an earlier letter.
	Class string
	Error string    // text of the error; has a value of an item only if the error of a sink, filter or detector has it
	Raw   []byte    // the record as it was read
	Time  time.Time // when it was dead-lettered

	// Snapshot has the options that decode Raw if Raw is an undecodable line of a snapshot. Of its DecoderOptions, only
	// StreamARN and Table are used. It is nil if Raw is a record. It must not be changed.
	Snapshot *record.SnapshotOptions
	Sinks    []string // the sinks that the snapshot was read for; only with Snapshot
}

// DeadLetters stores changes that could not be delivered. Put blocks until all letters are durable. Put is called
// concurrently. After an error the pipeline calls Put again, until it succeeds or the run stops.
//
// Put stores the letters of a key in their order. Whenever a letter can be read, the earlier letters of its key can be
// read too. This holds also during a Put, and after a Put that failed. Otherwise a redrive could deliver a change
// before an earlier change of its key.
type DeadLetters interface {
	Put(ctx context.Context, letters []DeadLetter) error
}

// ClassCollision is the class of a dead letter that reports a collision (on_collision: dead_letter). Its change is
// written. But the claim of the change (its request for a row) waits, because another item has the row. So a redrive
// has nothing to write. If an error of a Write has the method LetterClass() string, the method's result is the class of
// the letter.
const ClassCollision = "collision"

// The other classes of dead letters.
const (
	classFilter      = "filter"
	classDetector    = "detector"
	classPlan        = "plan"
	classWrite       = "write"
	classPanic       = "panic"
	classExpired     = "held"        // MaxHold passed; the value is stored
	classQuarantined = "quarantined" // its key has an earlier letter
)
