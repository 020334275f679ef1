package gaps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	auditor "github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/state"
)

// candidates are the items of incremental exports. A repair compares them instead of all items.
type candidates struct {
	audit   *auditor.Job
	cfg     *config.Config
	changes []snapshot.Snapshot
	seed    maphash.Seed
	keys    map[uint64]struct{} // hashes of the keys
	unknown int64               // number of lines that cannot be decoded and do not contain their key
	wasRead bool                // the exports were read
}

// openCandidates opens exports, and checks that they cover gaps.
func openCandidates(ctx context.Context, j *Job, gaps []state.NotedGap) (*candidates, error) {
	wanted, err := windowsOf(gaps)
	if err != nil {
		return nil, err
	}
	c := &candidates{audit: j.Audit, cfg: j.Config, seed: maphash.MakeSeed(), keys: make(map[uint64]struct{})}
	var covered []window
	for _, path := range j.Exports {
		changes, err := j.Audit.OpenIncremental(ctx, path)
		if err != nil {
			return nil, err
		}
		info := changes.Info()
		switch arn := j.Audit.Table().ARN; {
		case info.TableARN != arn:
			return nil, cli.Usagef("the export %s is of the table %s, and %s reads %s", path, info.TableARN, j.Config.File, arn)
		case info.View != record.NewAndOldImages:
			return nil, cli.Usagef(
				"the export %s has new images alone: export the changes with NEW_AND_OLD_IMAGES, since old images tell where rows were", path)
		}
		c.changes = append(c.changes, changes)
		covered = append(covered, window{info.OldestTime, info.Time})
	}
	if uncovered := uncoveredWindows(wanted, covered); len(uncovered) > 0 {
		return nil, cli.WithExitCode(cli.ExitUsage, errNotCovered(uncovered))
	}
	return c, nil
}

// addSuspects adds each item of the exports, with the places that follow from its images, and the places where sinks
// hold it.
func (c *candidates) addSuspects(ctx context.Context, add func(sink int, s run.Suspect)) error {
	if err := c.readAll(ctx, add); err != nil || len(c.keys) == 0 {
		return err
	}
	for n, sink := range c.audit.Sinks() {
		if !c.needsListing(sink.Name()) {
			continue
		}
		err := c.audit.EachStored(ctx, n, func(e audit.Entry) error {
			if _, exported := c.keys[maphash.String(c.seed, string(e.Item))]; exported && e.Item != "" {
				add(n, run.Suspect{Item: e.Item, Kind: e.Kind, Place: e.Place})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readIfUnread reads the keys of the exports if the audit did not, because it continued one that had read them.
func (c *candidates) readIfUnread(ctx context.Context) error {
	if c.wasRead {
		return nil
	}
	return c.readAll(ctx, func(int, run.Suspect) {})
}

// readAll adds each item of the exports, with the places that follow from its images.
func (c *candidates) readAll(ctx context.Context, add func(sink int, s run.Suspect)) error {
	for _, changes := range c.changes {
		for _, part := range changes.Parts() {
			if err := c.read(ctx, changes, part.ID, add); err != nil {
				return err
			}
		}
	}
	c.wasRead = true
	return nil
}

// needsListing reports whether only a listing of the sink finds all places of an item's rows or documents. An export
// has only two states of an item, and the sink may hold a state between them.
func (c *candidates) needsListing(sink string) bool {
	switch s, _ := c.cfg.Sink(sink); {
	case s.View != nil:
		return s.View.RowsMayGuardThemselves() && slices.ContainsFunc(s.View.Key,
			func(k config.Column) bool { return len(k.Template.Paths()) > 0 })
	case s.Search != nil:
		return len(s.Search.Index.Paths()) > 0 || s.Search.ForEach != nil
	}
	return false
}

func (c *candidates) read(
	ctx context.Context, changes snapshot.Snapshot, part string, add func(sink int, s run.Suspect),
) (err error) {
	r, err := changes.Open(ctx, part, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for page, err := range pipeline.DecodedPages(ctx, r) {
		if err != nil {
			return err
		}
		c.addPage(page, add)
	}
	return nil
}

func (c *candidates) addPage(page *record.Page, add func(sink int, s run.Suspect)) {
	for i := range page.Changes {
		change := &page.Changes[i]
		c.addItem(change.Key, add)
		for _, image := range []item.Image{change.Old, change.New} {
			if image.Exists() {
				c.addPlaces(change, image, add)
			}
		}
	}
	for _, e := range page.Errors {
		if e.Key == "" {
			c.unknown++
			continue
		}
		c.addItem(e.Key, add)
	}
}

func (c *candidates) addItem(key item.Key, add func(sink int, s run.Suspect)) {
	c.keys[maphash.String(c.seed, string(key))] = struct{}{}
	for sink := range c.audit.Sinks() {
		add(sink, run.Suspect{Item: key})
	}
}

// addPlaces adds the places of one state of an item.
func (c *candidates) addPlaces(change *record.Change, image item.Image, add func(sink int, s run.Suspect)) {
	was := *change
	was.Op, was.EventName, was.Old, was.New = record.Snapshot, record.Snapshot.String(), item.Image{}, image
	for n, sink := range c.audit.Sinks() {
		// A state that cannot be planned has no place, so its error is ignored.
		_ = sink.ExpectedEntries(&was, func(e audit.Entry) {
			if !e.Share && e.Kind != audit.Group {
				add(n, run.Suspect{Item: change.Key, Kind: e.Kind, Place: e.Place})
			}
		})
	}
}

// exportToken returns the token of a request. DynamoDB makes only one export for the same token.
func exportToken(table, bucket, prefix string, w window) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{table, bucket, prefix, w.String()}, "\n")))
	return "gap-" + hex.EncodeToString(sum[:16])
}

// RequestExports requests the exports that cover gaps, waits for them, and returns their paths.
func RequestExports(
	ctx context.Context, table, bucket, prefix string, gaps []state.NotedGap, w io.Writer,
) ([]string, error) {
	wanted, err := windowsOf(gaps)
	if err != nil {
		return nil, err
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(sdk)
	bar := cli.NewCountProgress(w, "exporting")
	defer bar.End()
	var requests []export.Requested
	for _, wantedWindow := range wanted {
		for _, e := range exportable(wantedWindow) {
			r, err := export.Request(ctx, client, export.RequestOptions{
				TableARN: table, Bucket: bucket, Prefix: prefix, From: e.from, Time: e.to,
				ClientToken: exportToken(table, bucket, prefix, e),
				Waiting: func(latest time.Time) {
					fmt.Fprintf(bar, "waiting until the changes of %s can be exported: those of before %s can\n", e,
						latest.Format(time.RFC3339))
				},
			})
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(bar, "the export %s of the changes of %s is being made\n", r.ARN, e)
			requests = append(requests, r)
		}
	}
	var paths []string
	for _, r := range requests {
		path, err := records.WaitForExport(ctx, client, r, bar)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
