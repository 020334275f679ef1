package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// Extension is Go code that a program adds to the configurations that it runs. [With], [WithFunc], [WithFilter], [On]
// and [OnBatch] each return an Extension. An Extension is an [Option] of [Assemble]. A program gives its extensions to
// the command line (package cmd/cli) or to the bootstrap of a Lambda function (package cmd/function). The zero
// Extension adds nothing.
type Extension struct {
	add func(*assembly)
}

var _ Option = Extension{}

func (e Extension) apply(a *assembly) {
	if e.add != nil {
		e.add(a)
		a.extended = true
	}
}

// WithExtensions combines several extensions into one Option.
func WithExtensions(exts ...Extension) Option {
	return optionFunc(func(a *assembly) {
		for _, e := range exts {
			e.apply(a)
		}
	})
}

// With registers the Go sink for `custom: {name: NAME}`. Assemble calls make once for each such sink, with the sink's
// `with` settings. It decodes the settings strictly into a T, which is a struct with `yaml` tags or a map. A key that T
// does not have is an error. Use struct{} for a sink without settings.
func With[T any](name string, make func(ctx context.Context, settings T) (pipeline.Sink, error)) Extension {
	return Extension{func(a *assembly) {
		a.custom[name] = goSink{
			check: func(with config.With) error { return with.Decode(new(T)) },
			make: func(ctx context.Context, with config.With) (pipeline.Sink, error) {
				var settings T
				if err := with.Decode(&settings); err != nil {
					return nil, err
				}
				return make(ctx, settings)
			},
		}
	}}
}

// goSink has the functions of a Go sink that [With] registered.
type goSink struct {
	check func(config.With) error // checks the settings
	make  func(context.Context, config.With) (pipeline.Sink, error)
}

// WithFunc registers the detector for `func: NAME`.
func WithFunc(name string, d pipeline.DetectorFunc) Extension {
	return Extension{func(a *assembly) { a.funcs[name] = d }}
}
