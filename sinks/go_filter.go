package sinks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// FilterOption is an option of [WithFilter].
type FilterOption func(*goFilter)

// KeysOnly declares that a filter reads nothing but the key of an item. So it keeps either all changes of an item or
// none. The function gets a change that has the key and its table, but no images and no operation.
func KeysOnly() FilterOption { return func(f *goFilter) { f.keysOnly = true } }

// WithFilter registers the filter for `func: NAME` in `filters`. keep reports whether the pipeline keeps a change.
// Several goroutines call keep at once. keep must be pure: the same change always has the same result. An error
// dead-letters the change. The change is valid until keep returns, and its sensitive attributes are not masked.
//
// If the pipeline has a view, an aggregate or a search index after the filter, the filter must have the option
// [KeysOnly]. Otherwise Assemble returns an error, because the filter could drop the change with which an item leaves
// the sink.
func WithFilter(name string, keep func(c *record.Change) (bool, error), opts ...FilterOption) Extension {
	f := goFilter{keep: keep}
	for _, o := range opts {
		o(&f)
	}
	return Extension{func(a *assembly) { a.goFilters[name] = f }}
}

// goFilter is the condition of a filter that is Go code.
type goFilter struct {
	keep     func(c *record.Change) (bool, error)
	keysOnly bool
}

var (
	_ pipeline.Condition = goFilter{}
	_ rules.KeyReader    = goFilter{}
)

// KeysOnly reports whether the filter has the option [KeysOnly].
func (f goFilter) KeysOnly() bool { return f.keysOnly }

// Match calls the function.
func (f goFilter) Match(c *record.Change) (bool, error) {
	if f.keysOnly {
		c = &record.Change{Key: c.Key, Keys: c.Keys, Table: c.Table, Region: c.Region, StreamARN: c.StreamARN}
	}
	return f.keep(c)
}

// OnlyFilters adds the filters of the extensions, and none of their other code. It is for a pipeline that only plans
// the sinks of the file.
func OnlyFilters(exts ...Extension) Option {
	return optionFunc(func(a *assembly) { maps.Copy(a.goFilters, codeOf(exts).goFilters) })
}

// PassMissingFilters makes a filter keep every change if the program has no extensions and lacks the filter's Go code.
// It is for commands that only show plans. [Missing] names the code that is lacking.
func PassMissingFilters() Option {
	return optionFunc(func(a *assembly) { a.passMissing = true })
}

// filter returns a filter of the file. For a filter that is Go code, it returns that code. If the program lacks the
// code, it returns a filter that keeps every change. [assembly.checkFilters] returns an error if the pipeline may not
// run without the code.
func (a *assembly) filter(f pipeline.Filter) pipeline.Filter {
	g, isGo := f.(*config.GoFilter)
	if !isGo {
		return f
	}
	if code, has := a.goFilters[g.Func]; has {
		return rules.Keep(g.Name(), code)
	}
	return rules.Keep(g.Name()+" (Go code of another program)",
		pipeline.ConditionFunc(func(*record.Change) (bool, error) { return true, nil }))
}

// CheckExtensions returns what cfg needs and the extensions lack, and the other way round:
//
//   - a Go sink or filter without code
//   - settings that a Go sink does not accept
//   - a Go filter that reads more than keys, before a view, an aggregate or a search index
//   - a function for an entity that the file does not have
//
// Without extensions CheckExtensions returns nil; [Missing] then names the code that is lacking.
func CheckExtensions(cfg *config.Config, exts ...Extension) config.Problems {
	a := codeOf(exts)
	if !a.extended {
		return nil
	}
	a.cfg = cfg
	problems := a.filterProblems()
	for _, s := range cfg.Sinks {
		if !isGoSink(s) {
			continue
		}
		var err error
		if code, has := a.custom[s.Custom.Name]; has {
			err = code.check(s.Custom.With)
		} else {
			err = a.noGoSink(s.Custom.Name)
		}
		if err != nil {
			problems = append(problems, config.Problem{File: cfg.File, Line: max(s.Line, 1), Column: 1,
				Field: "sinks." + s.Name + ".custom", Message: err.Error()})
		}
	}
	for _, t := range a.typed {
		if _, err := cfg.ScopeOf(t.entity); err != nil {
			problems = append(problems, config.Problem{File: cfg.File, Line: 1, Column: 1, Field: "entities",
				Message: fmt.Sprintf("sinks.On: %v", err)})
		}
	}
	return problems
}

// checkFilters returns an error if the pipeline cannot run one of the filters of the file.
func (a *assembly) checkFilters() error {
	if ps := a.filterProblems(); len(ps) > 0 {
		return ps
	}
	return nil
}

// goFiltersToRun returns the Go filters of the file that the pipeline runs. A backfill does not run the filters of
// sinks that it does not fill.
func (a *assembly) goFiltersToRun() (code []*config.GoFilter) {
	all := slices.Clip(a.cfg.Filters)
	for _, s := range a.cfg.Sinks {
		if a.isRouted(s.Name) {
			all = append(all, s.Filters...)
		}
	}
	for _, f := range all {
		if g, isGo := f.Filter.(*config.GoFilter); isGo {
			code = append(code, g)
		}
	}
	return code
}

// filterProblems returns the problems of the Go filters that the pipeline runs.
func (a *assembly) filterProblems() (problems config.Problems) {
	for _, f := range a.goFiltersToRun() {
		code, has := a.goFilters[f.Func]
		passesAll := !has && a.passMissing && !a.extended
		if passesAll {
			continue
		}
		switch {
		case !has:
			problems = append(problems, f.Problem(fmt.Sprintf("no Go filter is named %q", f.Func), fmt.Sprintf(
				"give it to cli.Main, function.Main or Assemble with sinks.WithFilter (it has %s)", names(a.goFilters))))
		case code.keep == nil:
			problems = append(problems, f.Problem(fmt.Sprintf("the Go filter %s is nil", f.Func),
				"give sinks.WithFilter a function"))
		case f.StateSinks != nil && !code.keysOnly:
			problems = append(problems, *f.StateSinks)
		}
	}
	return problems
}
