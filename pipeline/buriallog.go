package pipeline

import (
	"log/slog"
	"time"
)

// burialLog tells what went to dead letters. What follows a letter of its key is
// told every retryLogEvery at most: it was said, when the key was held, that it would come
// so. Only the goroutine that buries uses it.
type burialLog struct {
	quarantined int
	next        time.Time
}

// tell writes a line for each kind of what was given up.
func (l *burialLog) tell(s *scheduler, items []item) {
	var failed, held []*item
	for i := range items {
		it := &items[i]
		s.route.tel.lettered(s.run.hard, it.fail.class)
		switch it.fail.class {
		case classHeld:
			held = append(held, it)
		case classQuarantined:
			l.quarantined++
		default:
			failed = append(failed, it)
		}
	}
	if len(failed) > 0 {
		attrs := []slog.Attr{}
		if s.run.holds(s.route, failed[0].fail.class) {
			attrs = append(attrs, slog.String("hint", "later changes of these keys wait in dead letters too; mend the cause, then redrive"))
		}
		l.line(s, slog.LevelError, "given up to dead letters", failed, attrs...)
	}
	if len(held) > 0 {
		hint := "look at the sink; when it works again, redrive"
		if s.run.p.o.Quarantine != nil {
			hint = "look at the sink; later changes of these keys wait in dead letters too, until a redrive delivers them in order"
		}
		l.line(s, slog.LevelError, "given up to dead letters: max_hold passed", held,
			slog.Duration("max_hold", s.run.p.o.MaxHold), slog.String("hint", hint))
	}
	if now := time.Now(); l.quarantined > 0 && !now.Before(l.next) {
		s.run.p.log.LogAttrs(s.run.hard, slog.LevelWarn, "put behind dead letters of their keys, which are quarantined until a redrive",
			slog.String("sink", s.route.Name), slog.Int("changes", l.quarantined))
		l.quarantined, l.next = 0, now.Add(retryLogEvery)
	}
}

func (l *burialLog) line(s *scheduler, level slog.Level, text string, of []*item, more ...slog.Attr) {
	first := of[0]
	attrs := s.run.p.failed(Failure{Sink: s.route.Name, Letter: true}, first.fail.err,
		slog.String("sink", s.route.Name), slog.Int("changes", len(of)), slog.String("class", first.fail.class),
		slog.String("partition", first.page.part.name), slog.String("sequence", first.d.Change.Sequence))
	s.run.p.log.LogAttrs(s.run.hard, level, text, append(attrs, more...)...)
}
