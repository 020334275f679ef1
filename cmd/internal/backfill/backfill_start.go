package backfill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// minFloorDelay is the minimum time from now to a new floor. The floor is the time from which on the stream writes to a
// new sink. Each process reads the stage of a sink every ten seconds, so every process knows the floor before that time
// comes.
const minFloorDelay = 15 * time.Second

// begin stores the stage Filling with the run and the floor. From the floor on, the stream writes changes to the sinks.
// It stores the backfill of an archive before that. With --prepare it changes only the sinks that wait.
func (j *job) begin(ctx context.Context) error {
	if j.selection.missesChanges() {
		if err := j.proveRoutes(ctx); err != nil {
			return err
		}
	}
	arn, err := j.streamARN(ctx)
	if err != nil {
		return err
	}
	if j.o.prepare {
		return j.beginBirths(ctx, arn)
	}
	if err := j.abandonUnstored(ctx, j.selection.replaced); err != nil {
		return err
	}
	if len(j.o.archive) > 0 {
		if err := j.storeArchive(ctx); err != nil {
			return err
		}
	}
	return j.beginBirths(ctx, arn)
}

// beginBirths changes the births of the sinks by [job.beginBirth]. If it stores them too late for every process to
// learn the floor, it sets a later floor.
func (j *job) beginBirths(ctx context.Context, streamARN string) (err error) {
	var waiting []string // names of the sinks that waited before any birth was changed here
	for _, b := range j.selection.births {
		if b.Stage == state.Waiting {
			waiting = append(waiting, b.Sink)
		}
	}
	for {
		floor := j.newFloor()
		j.selection.births, err = sinks.ChangeBirths(ctx, j.stateStore, j.selection.births, func(b *state.Birth) {
			j.beginBirth(b, waiting, floor, streamARN)
		})
		if err != nil {
			return err
		}
		mustBeLearned := j.o.Live && !floor.IsZero() // other processes have to learn the floor before its time
		if !mustBeLearned || time.Until(floor) > minFloorDelay-3*time.Second {
			return nil
		}
	}
}

// beginBirth sets the stage Filling with the run and the stream. It sets the floor only if waiting names the sink. A
// sink that the run takes over keeps its floor and its stream, because the stream has written to it since then.
func (j *job) beginBirth(b *state.Birth, waiting []string, floor time.Time, streamARN string) {
	run, waited := j.selection.runID, slices.Contains(waiting, b.Sink)
	if j.o.prepare && !waited {
		return
	}
	if b.Stage == state.Filling && slices.Contains(j.selection.replaced, b.Run) {
		b.Run = run
	}
	isOfOtherRun := b.Run != "" && b.Run != run
	isOfRun := b.Run == run // if it waited, an earlier call has stored a floor, but too late
	needsFloor := waited && (b.Stage == state.Waiting || isOfRun)
	switch {
	case len(j.o.archive) > 0 && !isOfOtherRun:
		b.Floor = time.Time{} // also clears a floor that --prepare has set
	case needsFloor:
		b.Floor = floor
	}
	if b.Stage == state.Waiting || b.Stage == state.Live {
		b.Stage, b.Run, b.Stream = state.Filling, run, streamARN
	}
}

// checkPrepare returns an error if --prepare has no floor to set or to print.
func (j *job) checkPrepare() error {
	hasFloor := j.selection.hasWaiting() || !j.selection.earliestSourceTime(0).IsZero()
	if !j.o.prepare || hasFloor {
		return nil
	}
	return cli.Usagef("--prepare sets the floor of sinks that wait, and none of these does (%s): name the source, "+
		"without --prepare", j.selection)
}

// checkFloor returns an error if a sink has no floor yet, and the source is older than any floor that is set now.
func (j *job) checkFloor() error {
	sourceIsOlder := len(j.o.export) > 0 || len(j.o.items) > 0
	needsFloor := j.selection.hasWaiting() && !j.selection.isStored()
	if !needsFloor || !sourceIsOlder {
		return nil
	}
	return cli.Usagef(
		"%s: a sink waits, and this source is older than its floor: set the floor with --prepare, export the table as of the time that it says, and repeat the command, with --shown-at TIME for --items; or use --start-export, --scan or --archive",
		j.selection)
}

// checkLag returns an error if nothing shows how far the stream is read: there are no leases, and --lag is not given.
func (j *job) checkLag() error {
	if j.o.LambdaReads(j.cfg) && j.o.assumedLag == 0 && !j.o.prepare {
		return cli.Usagef(
			"%s has no leases, so a Lambda function reads the stream, and nobody here can see how far: give --lag, the time that it is behind at most", j.cfg.File)
	}
	return nil
}

// newFloor returns the floor for waiting sinks. It is zero for an archive, which needs no floor.
func (j *job) newFloor() time.Time {
	now := time.Now().UTC().Truncate(time.Second)
	switch {
	case len(j.o.archive) > 0:
		return time.Time{} // the changes of an archive have their own versions, and no change may be left out
	case j.o.Live:
		return now.Add(j.o.floorDelay + time.Second)
	}
	return now
}

// earliestSourceTime returns the earliest time at which the source may show the table: the latest floor of the sinks
// plus clockSkew, in whole seconds. It returns zero if no sink has a floor.
func (s *selection) earliestSourceTime(clockSkew time.Duration) time.Time {
	var latestFloor time.Time
	for _, b := range s.births {
		if b.Floor.After(latestFloor) {
			latestFloor = b.Floor
		}
	}
	if latestFloor.IsZero() {
		return time.Time{}
	}
	return latestFloor.Add(clockSkew + time.Second - 1).Truncate(time.Second)
}

// checkTime returns an error if the source shows the table before the floor, or in the future. It checks nothing for a
// stored run, whose time was checked before the run was stored. For an export that the run requested it ignores
// --clock-skew, because the time of that export was chosen with the --clock-skew of its request.
func (j *job) checkTime(shown time.Time) error {
	if j.selection.isStored() {
		return nil
	}
	if shown.After(time.Now().Add(j.o.clockSkew)) {
		return cli.Usagef("the source shows the table as of %s, which is in the future", shown.UTC().Format(time.RFC3339))
	}
	earliest := j.selection.earliestSourceTime(j.o.clockSkew)
	if j.o.startExport {
		earliest = j.selection.earliestSourceTime(0)
	}
	switch {
	case earliest.IsZero(): // no sink has a floor
		return nil
	case shown.IsZero():
		return fmt.Errorf(
			"it is unknown when the source showed the table, and it must be %s or later: the stream does not write to %s what was made before; use --scan or an export",
			earliest.Format(time.RFC3339), j.selection)
	case shown.Before(earliest):
		return fmt.Errorf(
			"the source shows the table as of %s, and it must be as of %s or later: the stream does not write to %s what was made before; use --start-export or --scan, or an export as of that time",
			shown.UTC().Format(time.RFC3339), earliest.Format(time.RFC3339), j.selection)
	}
	return nil
}

// warnOfArchives warns of each archive that began after the time at which the source shows the table. An archive has no
// floor, so it may lack changes between the two times.
func (j *job) warnOfArchives(shown time.Time) {
	if !j.o.Live || shown.IsZero() {
		return // the command reports since when the stream still has to be read
	}
	for _, b := range j.selection.births {
		isArchive := slices.ContainsFunc(j.selection.neverWait, func(s config.Sink) bool {
			return s.Archive != nil && s.Name == b.Sink
		})
		if isArchive && shown.Before(b.Made) {
			fmt.Fprintf(j.streams.Err, cli.Warning+
				"the archive %s begins at %s, and the source shows the table as of %s: changes between the two are in it only if the stream still had them when the pipeline began\n",
				b.Sink, b.Made.UTC().Format(time.RFC3339), shown.UTC().Format(time.RFC3339))
		}
	}
}

// streamARN returns the stream whose changes follow the backfill. It returns "" for an archive, and if the stream is
// unknown.
func (j *job) streamARN(ctx context.Context) (string, error) {
	if len(j.o.archive) > 0 {
		return "", nil // the changes of an archive name their streams
	}
	configured := j.o.Decoder(j.cfg).StreamARN
	readsTableStream := j.o.Live && j.cfg.Source.Kinesis == ""
	if configured != "" || !readsTableStream {
		return configured, nil
	}
	refs, err := stream.NewestStreams(ctx, stream.OpenRateLimited(j.aws, j.cfg, 2), j.cfg)
	if err != nil {
		return "", err
	}
	if len(refs) != 1 {
		return "", cli.Usagef("%s has several tables: name the stream of the one that is read with --stream-arn", j.cfg.File)
	}
	return refs[0].ARN, nil
}

// checkStream returns an error if the table has another stream than when the backfill began.
func (j *job) checkStream(ctx context.Context) error {
	current, err := j.streamARN(ctx)
	if err != nil || current == "" {
		return err
	}
	for _, b := range j.selection.births {
		if b.Stream != "" && b.Stream != current {
			return fmt.Errorf(
				"the table's stream was %s when the backfill of %s began, and is %s: what was written between the two is in neither, so that the sink cannot be completed; give it another name and a place of its own, and fill that",
				b.Stream, b.Sink, current)
		}
	}
	return nil
}

// proveRoutes returns an error unless every live process that reads the stream has the sinks of this file. A process
// with an older file acknowledges changes that a new sink then misses.
func (j *job) proveRoutes(ctx context.Context) error {
	if !j.o.Live {
		return nil // the folder is locked: no other process uses it
	}
	if j.cfg.Leases == nil {
		return j.o.functionFlags.CheckUnchanged(ctx, j.aws, j.cfg, j.streams.Err)
	}
	return stream.CheckRoutes(ctx, j.readLeases, stream.MaxSilence(&j.o.Flags, j.cfg), j.cfg, j.streams.Err)
}

// readLeases reads the leases and the heartbeats.
func (j *job) readLeases(ctx context.Context) (leases.Snapshot, error) {
	return stream.ReadLeases(ctx, &j.o.Flags, j.cfg, j.aws)
}

// lagWaiter returns a function that blocks while consumers are further behind the stream than --max-lag. It returns nil
// if no limit applies.
func (j *job) lagWaiter() func(ctx context.Context) {
	switch {
	case !j.o.Live || j.o.maxLag == 0:
		return nil
	case j.cfg.Leases == nil:
		if j.o.maxLagGiven {
			fmt.Fprintf(j.streams.Err, cli.Warning+"--max-lag has no effect: %s has no leases, and nothing else shows "+
				"how far the Lambda function is behind\n", j.cfg.File)
		}
		return nil
	}
	return stream.GiveWay(j.readLeases, j.o.maxLag, stream.MaxSilence(&j.o.Flags, j.cfg), j.streams.Err)
}
