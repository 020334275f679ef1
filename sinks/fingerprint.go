package sinks

import (
	"context"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
)

// generation is that of what Assemble's sinks write.
const generation = 1

// ChangedError says that a sink's output was written under other settings than
// the file has now: old and new would stand side by side.
type ChangedError struct {
	Sink     string
	Settings []string // that changed, by their path in the sink
	Was, Is  map[string]string

	adoptable bool // there is a state, without which nothing is adopted
}

// Error names the settings with what they were and are.
func (e *ChangedError) Error() string {
	text := e.what() + ": old and new would mix; take the settings back, give the sink another name and a place of its own, or begin with empty stores"
	if e.adoptable {
		text += "; where the change only mends what failed, accept it: `tablewake adopt --sink " + e.Sink + "`"
	}
	return text
}

// what is the change itself.
func (e *ChangedError) what() string {
	var b strings.Builder
	b.WriteString("what it holds was written under other settings (")
	for i, s := range e.Settings {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s was %s and is %s", s, setting(e.Was, s), setting(e.Is, s))
	}
	b.WriteByte(')')
	return b.String()
}

func setting(of map[string]string, name string) string {
	if text, ok := of[name]; ok {
		return "'" + text + "'"
	}
	return "not set"
}

// opened is an output that is put on record once everything is assembled.
type opened struct {
	foundOutput
	print state.Fingerprint
	store state.Fingerprints
}

// open opens the store of a sink, compares the settings that its output in it was written under
// with those of the file, and has the output and the state belong together. birth is what
// the output bears; zero where nothing keeps births.
func open[T any](ctx context.Context, a *assembly, s config.Sink, open func(context.Context, *config.Config, config.Sink) (T, error)) (store T, birth state.Birth, err error) {
	if store, err = open(ctx, a.cfg, s); err != nil {
		return store, birth, err
	}
	prints, ok := any(store).(state.Fingerprints)
	if !ok {
		return store, state.Birth{ID: a.bornAs[s.Name]}, nil // it holds nothing
	}
	o := opened{store: prints, print: state.Fingerprint{Pipeline: a.cfg.Name, Sink: s.Name, Generation: generation, Settings: s.Settings}}
	if a.births == nil {
		o.foundOutput.print, o.hasPrint, err = prints.Fingerprint(ctx, a.cfg.Name, s.Name)
	} else {
		o.foundOutput, err = a.births.find(ctx, a.cfg, s, store)
	}
	was := o.foundOutput.print
	switch {
	case err != nil:
		return store, birth, err
	case !o.hasPrint:
	case was.Generation != generation:
		return store, birth, errs.Errorf("what it holds is of generation %d, and this program writes generation %d: use the newer program", was.Generation, generation)
	default:
		if changed := was.Changed(o.print); len(changed) > 0 {
			return store, birth, &ChangedError{Sink: s.Name, Settings: changed, Was: was.Settings, Is: o.print.Settings, adoptable: a.births != nil}
		}
	}
	if a.births != nil {
		if err := a.births.ensureBirth(ctx, &o.foundOutput); err != nil {
			return store, birth, err
		}
	}
	o.print.Birth = o.birth.ID
	a.opened = append(a.opened, o)
	return store, o.birth, nil
}

// record puts the fingerprints and births of new outputs on record, before anything is written.
func (a *assembly) record(ctx context.Context) error {
	for i := range a.opened {
		o := &a.opened[i]
		if !o.hasPrint || a.births != nil && o.foundOutput.print.Birth != o.print.Birth {
			if err := o.store.SetFingerprint(ctx, o.print); err != nil {
				return err
			}
		}
		if err := a.births.markBegun(ctx, &o.foundOutput); err != nil {
			return err
		}
	}
	return nil
}
