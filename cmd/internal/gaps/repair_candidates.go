package gaps

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"

	auditor "github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/state"
)

// candidates are the items of incremental exports. A repair compares them instead of all items.
type candidates struct {
	audit       *auditor.Job
	cfg         *config.Config
	exports     []snapshot.Snapshot
	hashSeed    maphash.Seed
	keyHashes   map[uint64]struct{} // hashes of the items' keys
	undecodable int64               // number of lines that cannot be decoded and do not contain their key
	wasRead     bool                // the exports were read
}

// addSuspect adds an item, or a place of an item in a sink, to what an audit compares. sink is an index into the sinks
// of the audit.
type addSuspect = func(sink int, s run.Suspect)

// openCandidates opens the exports of a job, and checks that they cover gaps.
func openCandidates(ctx context.Context, j *Job, gaps []state.NotedGap) (*candidates, error) {
	wanted, err := windowsOf(gaps)
	if err != nil {
		return nil, err
	}
	c := &candidates{
		audit: j.Audit, cfg: j.Config, hashSeed: maphash.MakeSeed(), keyHashes: make(map[uint64]struct{}),
	}
	var covered []window
	for _, path := range j.Exports {
		opened, err := j.Audit.OpenIncremental(ctx, path)
		if err != nil {
			return nil, err
		}
		info, tableARN := opened.Info(), j.Audit.Table().ARN
		if info.TableARN != tableARN {
			return nil, cli.Usagef("the export %s is of the table %s, and %s reads %s", path, info.TableARN, j.Config.File,
				tableARN)
		}
		if info.View != record.NewAndOldImages {
			return nil, cli.Usagef(
				"the export %s has only new images: export the changes with NEW_AND_OLD_IMAGES, since old images tell where rows were", path)
		}
		c.exports = append(c.exports, opened)
		covered = append(covered, window{info.OldestTime, info.Time})
	}
	if uncovered := uncoveredWindows(wanted, covered); len(uncovered) > 0 {
		return nil, cli.WithExitCode(cli.ExitUsage, notCoveredError(uncovered))
	}
	return c, nil
}

// addSuspects adds each item of the exports, the places that its images give it, and the places where sinks store it.
func (c *candidates) addSuspects(ctx context.Context, add addSuspect) error {
	if err := c.readExports(ctx, add); err != nil {
		return err
	}
	if len(c.keyHashes) == 0 {
		return nil
	}
	for n, sink := range c.audit.Sinks() {
		if !c.needsListing(sink.Name()) {
			continue
		}
		if err := c.addStored(ctx, n, add); err != nil {
			return err
		}
	}
	return nil
}

// addStored adds the places where a sink stores the items of the exports.
func (c *candidates) addStored(ctx context.Context, sink int, add addSuspect) error {
	return c.audit.EachStored(ctx, sink, func(e audit.Entry) error {
		if e.Item != "" && c.contains(e.Item) {
			add(sink, run.Suspect{Item: e.Item, Kind: e.Kind, Place: e.Place})
		}
		return nil
	})
}

// contains reports whether an item is in the exports. It may return true for an item outside the exports, if the hashes
// of two keys are equal. Then the audit compares one item too many.
func (c *candidates) contains(key item.Key) bool {
	_, found := c.keyHashes[maphash.String(c.hashSeed, string(key))]
	return found
}

// readIfUnread reads the keys of the exports if the audit did not read them. An audit does not read them if it
// continues an interrupted audit that did.
func (c *candidates) readIfUnread(ctx context.Context) error {
	if c.wasRead {
		return nil
	}
	return c.readExports(ctx, func(int, run.Suspect) {})
}

// readExports adds each item of the exports, and the places that its images give it.
func (c *candidates) readExports(ctx context.Context, add addSuspect) error {
	for _, opened := range c.exports {
		for _, part := range opened.Parts() {
			if err := c.readPart(ctx, opened, part.ID, add); err != nil {
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
	spec, _ := c.cfg.Sink(sink)
	switch {
	case spec.View != nil:
		dependsOnItem := func(k config.Column) bool { return len(k.Template.Paths()) > 0 }
		return spec.View.RowsMayGuardThemselves() && slices.ContainsFunc(spec.View.Key, dependsOnItem)
	case spec.Search != nil:
		return len(spec.Search.Index.Paths()) > 0 || spec.Search.ForEach != nil
	}
	return false
}

func (c *candidates) readPart(ctx context.Context, export snapshot.Snapshot, part string, add addSuspect) (err error) {
	r, err := export.Open(ctx, part, "")
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

func (c *candidates) addPage(page *record.Page, add addSuspect) {
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
			c.undecodable++
			continue
		}
		c.addItem(e.Key, add)
	}
}

// addItem adds an item to the keys that were read, and to the suspects of every sink.
func (c *candidates) addItem(key item.Key, add addSuspect) {
	c.keyHashes[maphash.String(c.hashSeed, string(key))] = struct{}{}
	for sink := range c.audit.Sinks() {
		add(sink, run.Suspect{Item: key})
	}
}

// addPlaces adds the places that one image of a change gives the item.
func (c *candidates) addPlaces(change *record.Change, image item.Image, add addSuspect) {
	insert := *change
	insert.Op, insert.EventName, insert.Old, insert.New = record.Snapshot, record.Snapshot.String(), item.Image{}, image
	for n, sink := range c.audit.Sinks() {
		// An image that cannot be planned has no place, so its error is ignored.
		_ = sink.ExpectedEntries(&insert, func(e audit.Entry) {
			if !e.Share && e.Kind != audit.Group {
				add(n, run.Suspect{Item: change.Key, Kind: e.Kind, Place: e.Place})
			}
		})
	}
}
