package gaps

import (
	"context"
	"errors"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// command is one run of gaps.
type command struct {
	*options
	target.Closers
	cfg       *config.Config
	streams   cli.Streams
	stores    *target.Stores
	store     state.Gaps // nil: the gaps are read from the lease file, without a lock
	leaseFile string     // path of the lease file, which has the gaps; "" if the state has them
}

// notes are what a pipeline has noted about changes that its sinks may miss.
type notes struct {
	gaps     []state.NotedGap
	leftOut  []state.Birth // outputs whose sinks were left out, and that a repair can complete
	archives []state.Birth // archives that miss changes
}

func (o *options) run(ctx context.Context, s cli.Streams) (err error) {
	cfg, err := o.loadConfig()
	if err != nil {
		return err
	}
	o.ReadOnly = !o.repair || o.dryRun
	c := &command{options: o, cfg: cfg, streams: s}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.openStores(ctx); err != nil {
		return err
	}

	noted, err := c.readNotes(ctx)
	if err != nil {
		return err
	}
	repair, err := c.repairNoted(ctx, noted)
	if err != nil {
		return err
	}
	notRepairable := NotRepairable(cfg, selectOpenGaps(noted.gaps, nil), slices.Concat(noted.leftOut, noted.archives))
	if repair != nil {
		repair.NotRepairable = notRepairable
		if noted, err = c.readNotes(ctx); err != nil { // the repair has changed them
			return err
		}
	}

	report := newReport(cfg.Name, o.CommandLine(cfg), noted, notRepairable)
	report.Repair = repair
	if err := cli.Print(s.Out, o.format, report, report.Write); err != nil {
		return err
	}
	if report.Open > 0 {
		return cli.WithExitCode(cli.ExitPlanned, nil)
	}
	return nil
}

// openStores opens the stores that the command uses. Only a repair that writes locks the lease file.
func (c *command) openStores(ctx context.Context) (err error) {
	if !c.LambdaReads(c.cfg) {
		if c.leaseFile, err = stream.LeaseFile(&c.Flags, c.cfg); err != nil {
			return err
		}
	}
	if err := c.CheckFolder(c.cfg); err != nil {
		return err
	}

	hasOnlyFiles := c.leaseFile != "" && (!c.Live || c.cfg.State == nil)
	if hasOnlyFiles && !c.repair {
		return nil // a store would lock its folder, and the list needs none
	}
	if c.stores, err = c.OpenExisting(ctx, c.cfg, c.streams.Err); err != nil {
		return err
	}
	c.OnClose(c.stores.Close)

	if c.leaseFile == "" { // the state has the gaps
		c.store, err = c.stores.State(ctx, c.cfg)
		return err
	}
	if c.ReadOnly {
		return nil
	}
	table, err := leasesfile.Open(c.leaseFile, c.cfg.Name)
	if err != nil {
		return err
	}
	c.OnClose(table.Close)
	c.store = table
	return nil
}

func (c *command) readNotes(ctx context.Context) (noted notes, err error) {
	if noted.gaps, err = c.readGaps(ctx); err != nil {
		return notes{}, err
	}
	births, err := c.readBirths(ctx)
	if err != nil {
		return notes{}, err
	}
	noted.leftOut = sinks.BirthsMissingChanges(c.cfg, births)
	noted.archives = sinks.ArchivesMissingChanges(c.cfg, births)
	return noted, nil
}

func (c *command) readGaps(ctx context.Context) ([]state.NotedGap, error) {
	if c.store != nil {
		return stream.Collect(c.store.Gaps(ctx))
	}
	_, gaps, err := leasesfile.ReadUnlocked(c.leaseFile)
	return gaps, err
}

// readBirths reads the births of all outputs. It returns none if the pipeline has no state.
func (c *command) readBirths(ctx context.Context) (births []state.Birth, err error) {
	if c.stores != nil {
		store, err := c.stores.State(ctx, c.cfg)
		if err != nil || store == nil {
			return nil, err
		}
		return stream.Collect(store.Births(ctx))
	}
	if c.Live { // openStores opens no stores if the live pipeline has no state
		return nil, nil
	}
	err = target.ReadState(ctx, local.Dir(c.Local), c.cfg.Name, func(store *sqlite.State) (err error) {
		births, err = stream.Collect(store.Births(ctx))
		return err
	})
	return births, err
}

// readLeases reads the leases of the consumers.
func (c *command) readLeases(ctx context.Context) (leases.Snapshot, error) {
	if c.leaseFile != "" {
		snapshot, _, err := leasesfile.ReadUnlocked(c.leaseFile)
		return snapshot, err
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return leases.Snapshot{}, err
	}
	return stream.ReadLeases(ctx, &c.Flags, c.cfg, sdk)
}
