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
}

// Error names the settings with what they were and are.
func (e *ChangedError) Error() string {
	var b strings.Builder
	b.WriteString("what it holds was written under other settings, and old and new would mix: ")
	for i, s := range e.Settings {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s was %s and is %s", s, setting(e.Was, s), setting(e.Is, s))
	}
	b.WriteString("; take the settings back, give the sink another name and a place of its own, or begin with empty stores")
	return b.String()
}

func setting(of map[string]string, name string) string {
	if text, ok := of[name]; ok {
		return "'" + text + "'"
	}
	return "not set"
}

// print is a fingerprint to be put on record once everything is assembled.
type print struct {
	of    state.Fingerprint
	store state.Fingerprints
}

// open opens the store of a sink, and compares the settings that its output in it
// was written under with those of the file.
func open[T any](ctx context.Context, a *assembly, s config.Sink, open func(context.Context, *config.Config, config.Sink) (T, error)) (T, error) {
	store, err := open(ctx, a.cfg, s)
	if err != nil {
		return store, err
	}
	prints, ok := any(store).(state.Fingerprints)
	if !ok {
		return store, nil // it holds nothing
	}
	now := state.Fingerprint{Pipeline: a.cfg.Name, Sink: s.Name, Generation: generation, Settings: s.Settings}
	was, found, err := prints.Fingerprint(ctx, a.cfg.Name, s.Name)
	switch {
	case err != nil:
		return store, err
	case !found:
		a.prints = append(a.prints, print{now, prints})
	case was.Generation != generation:
		return store, fmt.Errorf("what it holds is of generation %d, and this program writes generation %d: use the newer program", was.Generation, generation)
	default:
		if changed := was.Changed(now); len(changed) > 0 {
			return store, &ChangedError{Sink: s.Name, Settings: changed, Was: was.Settings, Is: now.Settings}
		}
	}
	return store, nil
}

// record puts the fingerprints of new sinks on record, before anything is written.
func (a *assembly) record(ctx context.Context) error {
	for _, p := range a.prints {
		if err := p.store.SetFingerprint(ctx, p.of); err != nil {
			return err
		}
	}
	return nil
}
