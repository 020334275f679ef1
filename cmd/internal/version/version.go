// Package version is the command version. It shows the version of this program and the versions of the formats in which
// it stores.
package version

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	statesqlite "github.com/tablewake/tablewake/sinks/state/sqlite"
)

// info is the output of `version -o json`.
type info struct {
	Version  string         `json:"version"`
	Commit   string         `json:"commit"`  // "": the build information has no commit
	Changed  bool           `json:"changed"` // the sources had uncommitted changes
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	Formats  map[string]int `json:"formats"` // version of each stored format, by its name in formats
}

// formats are the formats in which the program stores, in the order in which they are printed. sinks/STORAGE.md
// describes them.
var formats = []struct {
	name, text string
	number     int
}{
	{"outputs", "outputs of sinks", sinks.Generation},
	{"state_table", "rows of the state table", statedynamo.Format},
	{"views_db", "views.db of a --local folder", statesqlite.Format},
	{"lease_file", "file of leases", leasesfile.Format},
}

// New returns the command version. The version that it shows is that of the root command.
func New(s cli.Streams) *cobra.Command {
	var format cli.Format
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the version, the commit, and the formats of stored data",
		Long: `version shows the version of this program, for a bug report or before an upgrade, and the formats of
what it stores. A program refuses data with a newer format than its own.`,
		Example: `  tablewake version
  tablewake version -o json | jq .formats`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			build, _ := debug.ReadBuildInfo()
			i := newInfo(c.Root().Version, build)
			return cli.Print(s.Out, format, i, i.write)
		},
	}
	cli.AddFormat(c, &format)
	return c
}

// newInfo returns the output of the command. build is nil if the program has no build information.
func newInfo(release string, build *debug.BuildInfo) info {
	i := info{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Formats: make(map[string]int)}
	if build != nil {
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				i.Commit = s.Value
			case "vcs.modified":
				i.Changed, _ = strconv.ParseBool(s.Value)
			}
		}
	}
	for _, f := range formats {
		i.Formats[f.name] = f.number
	}
	return i
}

// write prints the output for people.
func (i info) write(w io.Writer) {
	commit := cmp.Or(i.Commit, "unknown")
	if i.Changed {
		commit += ", with changes"
	}
	fmt.Fprintf(w, "tablewake %s\ncommit    %s\nGo        %s, %s\n\nformats:\n", i.Version, commit, i.Go, i.Platform)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range formats {
		fmt.Fprintf(tw, "  %s\t%d\n", f.text, i.Formats[f.name])
	}
	_ = tw.Flush()
}
