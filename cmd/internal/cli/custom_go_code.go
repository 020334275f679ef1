package cli

import (
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// HoldCustom returns the options of a pipeline that uses the program's Go code. The pipeline holds back all Go sinks
// except those in names: it does not call them, and counts their changes with the reason. If the program has no Go code
// and cfg names some, HoldCustom prints that on standard error.
func (s Streams) HoldCustom(cfg *config.Config, reason string, names ...string) sinks.Option {
	s.PrintMissingCode(cfg, "planned")
	return sinks.Options(sinks.WithExtensions(s.Extensions...), sinks.HoldCustom(reason, names...))
}

// HoldCustomForPlan is HoldCustom for a command that only shows plans. Such a command does not need the Go code of
// filters.
func (s Streams) HoldCustomForPlan(cfg *config.Config, reason string) sinks.Option {
	return sinks.Options(s.HoldCustom(cfg, reason), sinks.PassMissingFilters())
}

// PrintMissingCode prints on standard error which Go code cfg names, if the program has no Go code at all. done is a
// participle, such as "planned". The line then says that what this code does is not planned.
func (s Streams) PrintMissingCode(cfg *config.Config, done string) {
	missing := sinks.Missing(cfg, s.Extensions...)
	if len(missing) > 0 && len(s.Extensions) == 0 {
		fmt.Fprintf(s.Err, "this program does not have %s: what that does is not %s; "+
			"run the command in the program that has it (package cmd/cli)\n", strings.Join(missing, ", "), done)
	}
}
