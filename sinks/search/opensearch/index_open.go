package opensearch

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// Open makes what the sink needs on the server, and compares what is there with what
// the file asks for: the stored script, the index where it is made on start, and the
// record of the sink. It blocks until all of it is there. A server that cannot do it yet is
// asked again for half a minute: an index that another process just made has no shard for
// a moment, and neither has a node that starts.
func (s *Store) Open(ctx context.Context) error {
	limit, pause := time.Now().Add(openPatience), pipeline.Backoff{Max: 2 * time.Second}
	for attempt := 0; ; attempt++ {
		err := s.open(ctx)
		after, again := unready(err)
		if !again {
			return err
		}
		wait := pause.Delay(attempt, after)
		if time.Now().Add(wait).After(limit) {
			return err
		}
		if pipeline.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// openPatience is for how long Open asks again.
const openPatience = 30 * time.Second

// unready tells that the server answered that it cannot do it now, and how long it asks to be
// left alone. A server that does not answer at all is told at once: its address may be wrong.
func unready(err error) (after time.Duration, is bool) {
	e, answered := errors.AsType[*Error](err)
	if !answered || e.Status != http.StatusTooManyRequests && e.Status < http.StatusInternalServerError {
		return 0, false
	}
	return pipeline.Retryable(err)
}

// open is one try of Open. What is there already it leaves as it is.
func (s *Store) open(ctx context.Context) error {
	if s.mode == Exact {
		if err := s.ensureScript(ctx); err != nil {
			return err
		}
	}
	x := s.indexes
	if x == nil {
		return nil
	}
	if err := s.ensureState(ctx); err != nil {
		return err
	}
	there, err := s.begin(ctx)
	if err != nil {
		return err
	}
	for name, index := range there {
		if err := s.same(name, index); err != nil {
			return err
		}
		if err := s.noteMade(ctx, name, index); err != nil {
			return err
		}
		x.learn(name, true)
	}
	if name, one := x.one(); one && !x.OnDemand {
		_, err = s.writeIndex(ctx, name)
	}
	return err
}

// begin writes the record of the sink where there is none. Else each index that was made must be
// there, and what the indexes were asked to be must be what the file asks for now. It returns the indexes that there are, by name.
func (s *Store) begin(ctx context.Context) (there map[string]*standing, err error) {
	x := s.indexes
	err = s.amend(ctx, x.Pipeline, x.Sink, func(r *record, found bool) (bool, error) {
		if there, err = s.mine(ctx); err != nil {
			return false, err
		}
		asked := x.blueprint.leaves
		if err := s.lost(r, found, there); err != nil {
			return false, err
		}
		switch {
		case !found || len(there) == 0 && !r.pending(s.clock()):
			*r = record{Pipeline: r.Pipeline, Sink: r.Sink, Born: s.clock(), Asked: asked, Fingerprint: r.Fingerprint}
			for _, index := range there {
				r.Born = index.made(r.Born)
			}
			return true, nil
		case r.Asked == nil:
			r.Asked = asked
			return true, nil
		}
		if d := changedFile(r.Asked, asked); d != "" {
			return false, pipeline.Fatal(errDiffers(x.Name.String(), d))
		}
		return false, nil
	})
	return there, err
}

// mine are the indexes that the sink made, by name. An index of the only name counts,
// whoever made it.
func (s *Store) mine(ctx context.Context) (map[string]*standing, error) {
	x := s.indexes
	pattern, one := x.one()
	if !one {
		found, err := s.list(ctx, pattern+"*")
		return x.own(found), err
	}
	mine := make(map[string]*standing)
	there, err := s.look(ctx, pattern)
	if there != nil {
		mine[pattern] = there
	}
	return mine, err
}

// made is when the index was made, where that is before t.
func (st *standing) made(t time.Time) time.Time {
	text, _ := st.Settings["index.creation_date"].(string)
	ms, err := strconv.ParseInt(text, 10, 64)
	if made := time.UnixMilli(ms); err == nil && made.Before(t) {
		return made
	}
	return t
}
