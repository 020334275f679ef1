package sinks

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
)

// Outputs is a store that can tell of the output of each sink that writes to it.
type Outputs interface {
	Output(p state.Place) state.Output
}

// Target is where a sink writes, as births have it.
func Target(s config.Sink) string {
	switch {
	case s.View != nil:
		return "table " + s.View.Table
	case s.Aggregate != nil:
		return "table " + s.Aggregate.Table
	case s.Search != nil:
		return "index " + s.Search.Index.String()
	case s.Archive != nil:
		return "bucket " + cmp.Or(s.Archive.Bucket, s.Name) + " " + s.Archive.Prefix
	}
	return "events"
}

// Place is where a sink's output is.
func Place(cfg *config.Config, s config.Sink) state.Place {
	p := state.Place{Pipeline: cfg.Name, Sink: s.Name}
	switch {
	case s.View != nil:
		p.Name = s.View.Table
	case s.Aggregate != nil:
		p.Name = s.Aggregate.Table
	case s.Search != nil:
		p.Name = s.Search.Index.String()
	}
	return p
}

// Births are the births of the outputs of cfg's sinks, by sink: those that the state knows.
func Births(ctx context.Context, cfg *config.Config, births state.Births) (map[string]string, error) {
	known := make(map[[2]string]string)
	for b, err := range births.Births(ctx) {
		if err != nil {
			return nil, err
		}
		known[[2]string{b.Sink, b.Target}] = b.ID
	}
	of := make(map[string]string)
	for _, s := range cfg.Sinks {
		of[s.Name] = known[[2]string{s.Name, Target(s)}]
	}
	return of, nil
}

// memory is what the state knows of the births of a pipeline.
type memory struct {
	births   state.Births
	identity string
	known    map[[2]string]state.Birth // by sink and target
	forgot   string                    // why it is known that the state was lost; "" where it is not
}

// remember reads the births; nil where nothing keeps them.
func remember(ctx context.Context, births state.Births, readBefore string) (*memory, error) {
	m := &memory{births: births, known: make(map[[2]string]state.Birth)}
	for b, err := range births.Births(ctx) {
		if err != nil {
			return nil, err
		}
		m.known[[2]string{b.Sink, b.Target}] = b
	}
	var err error
	if m.identity, err = births.Identity(ctx); err != nil || len(m.known) > 0 {
		return m, err
	}
	m.forgot = readBefore
	if f, ok := births.(state.Forgetful); ok {
		text, err := f.Forgot(ctx)
		m.forgot = cmp.Or(text, m.forgot)
		return m, err
	}
	return m, nil
}

// found is what is there of a sink's output, and what the state has of it.
type found struct {
	sink     string
	target   string
	birth    state.Birth
	known    bool         // the state has birth
	out      state.Output // nil: the store does not tell
	store    string       // identity of the target
	print    state.Fingerprint
	hasPrint bool
}

// find looks what is there.
func (m *memory) find(ctx context.Context, cfg *config.Config, s config.Sink, store any) (f found, err error) {
	f = found{sink: s.Name, target: Target(s)}
	f.birth, f.known = m.known[[2]string{f.sink, f.target}]
	if prints, ok := store.(state.Fingerprints); ok {
		if f.print, f.hasPrint, err = prints.Fingerprint(ctx, cfg.Name, s.Name); err != nil {
			return f, err
		}
	}
	if o, ok := store.(Outputs); ok {
		f.out = o.Output(Place(cfg, s))
		f.store, err = f.out.Identity(ctx)
	}
	return f, err
}

// check is the error of an output and a state that do not belong together.
func (m *memory) check(ctx context.Context, f *found) error {
	lost := func(format string, args ...any) error { return state.Lost(f.sink, fmt.Sprintf(format, args...)) }
	switch b := f.birth; {
	case f.known && !b.Begun: // nothing was written yet
		return nil
	case f.known && b.State != m.identity:
		return lost("the state of the sink was recorded as %s, and this is %s: it was restored, copied or exchanged", quoted(b.State), quoted(m.identity))
	case f.known && f.store != b.Store:
		return lost("%s was recorded as %s, and there is %s: it was deleted, restored or exchanged", f.target, quoted(b.Store), quoted(f.store))
	case f.known && !f.hasPrint:
		return lost("%s held what the sink wrote since %s, and holds nothing of it: it was deleted or emptied", f.target, b.Made.Format(time.RFC3339))
	case f.known && f.print.Birth != b.ID:
		return lost("%s bears the birth %s, and the state knows %s: one of the two was restored or exchanged", f.target, quoted(f.print.Birth), quoted(b.ID))
	case f.known:
		return nil
	case f.print.Birth != "":
		return lost("%s bears the birth %s, and the state knows nothing of it: the state was lost", f.target, quoted(f.print.Birth))
	case m.forgot != "":
		return lost("%s", m.forgot)
	case f.out == nil:
		return nil
	}
	look, err := f.out.Look(ctx)
	if err != nil || look.Total() == 0 {
		return err
	}
	return lost("%s holds rows of the sink (%d were seen), and the state knows nothing of them: the state was lost", f.target, look.Total())
}

func quoted(id string) string {
	if id == "" {
		return "nothing"
	}
	return "'" + id + "'"
}

// begin is the birth of an output that is what the state knows, or that begins now.
func (m *memory) begin(ctx context.Context, f *found) error {
	err := m.check(ctx, f)
	if err != nil && !f.known {
		// Another process may have begun it since the births were read.
		if again := m.again(ctx, f); again != nil {
			return again
		}
		if f.known {
			return nil
		}
	}
	if err != nil || f.known {
		return err
	}
	b := state.NewBirth(f.sink, f.target, time.Now())
	b.State, b.Store = m.identity, f.store
	f.birth, err = m.births.Bear(ctx, b)
	return err
}

// again reads the birth of an output once more.
func (m *memory) again(ctx context.Context, f *found) (err error) {
	f.birth, f.known, err = state.FindBirth(ctx, m.births, f.sink, f.target)
	if err != nil || !f.known {
		return err
	}
	late := *f
	late.hasPrint = true // it bears this birth, or will before anything is written
	late.print.Birth = f.birth.ID
	return m.check(ctx, &late)
}

// begun notes that an output has begun: its fingerprint bears the birth.
func (m *memory) begun(ctx context.Context, f *found) error {
	if m == nil || f.birth.Begun {
		return nil
	}
	now := f.birth
	now.State, now.Store, now.Begun = m.identity, f.store, true
	done, err := m.births.SetBirth(ctx, f.birth, now)
	if err != nil || done {
		return err
	}
	is, _, err := state.FindBirth(ctx, m.births, f.sink, f.target)
	if err == nil && is != now {
		err = pipeline.Transient(fmt.Errorf("another process begins the sink %s at the same time: start again", f.sink))
	}
	return err
}
