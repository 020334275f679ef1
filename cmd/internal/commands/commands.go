// Package commands is the list of the commands of the command line.
package commands

import (
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/adopt"
	"github.com/tablewake/tablewake/cmd/internal/archive"
	"github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/configtest"
	"github.com/tablewake/tablewake/cmd/internal/consume"
	"github.com/tablewake/tablewake/cmd/internal/explain"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/gaps"
	"github.com/tablewake/tablewake/cmd/internal/generate"
	"github.com/tablewake/tablewake/cmd/internal/guide"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/initconfig"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/plan"
	"github.com/tablewake/tablewake/cmd/internal/query"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/tail"
	"github.com/tablewake/tablewake/cmd/internal/template"
	"github.com/tablewake/tablewake/cmd/internal/validate"
	"github.com/tablewake/tablewake/cmd/internal/version"
	"github.com/tablewake/tablewake/cmd/internal/why"
)

// All returns the constructors of all commands, in no special order: help sorts them.
func All() []func(cli.Streams) *cobra.Command {
	return []func(cli.Streams) *cobra.Command{
		replay.New, explain.New, validate.New, configtest.New, replay.NewRecord,
		query.New, why.New, redrive.New, explain.NewCost, archive.NewAthena, archive.NewCompact,
		adopt.NewPurge, adopt.New, template.New, generate.New, initconfig.New,
		plan.New, backfill.New, audit.New, gaps.New, consume.New, tail.New, health.New, fleet.NewStatus(page.ServeReports),
		fleet.NewLeases, guide.New, version.New,
	}
}
