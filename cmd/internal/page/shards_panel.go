package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
)

const (
	foldSize  = 100 // number of shards in a fold, a block that the user can open
	maxFolds  = 5   // maximum number of folds on the page; the remaining shards are only counted
	maxWorst  = 50  // maximum number of shards in the table of shards that need attention
	openBelow = 25  // a stream with at most this many shards has its fold open
	maxDepth  = 6   // deeper generations are not indented further
)

var shardColumns = []string{"Shard", "State", "Owner", "Read up to", "#Last change", "Unread", "#Lost in"}

// checkpointColumn is the index of "Read up to" in shardColumns.
const checkpointColumn = 3

// shardsPanel shows the shards that need attention, then the shards of each stream as a tree, then the shards that this
// process reads.
func shardsPanel(s Status, now time.Time) panel {
	p := panel{Title: "Shards"}
	if s.Fleet == nil {
		p = p.add(noteBlock("unknown: "+whyUnknown(s), dim))
	} else {
		p = p.add(worstBlock(s.Fleet)...).add(lineageBlocks(s.Fleet)...)
		if len(s.Fleet.Shards) == 0 {
			p = p.add(noteBlock(cmp.Or(s.Fleet.NoConsumersReason, "no shard is known"), dim))
		}
	}
	if s.Consumer != nil {
		p = p.add(processShards(s.Consumer.Shards, now)...)
	}
	return p
}

// worstBlock returns the table of the shards that need attention, the worst first; nil if there are none.
func worstBlock(r *fleet.Report) []block {
	var worst []fleet.Shard
	for i := range r.Shards {
		if t := shardTone(r, &r.Shards[i]); t == bad || t == warn {
			worst = append(worst, r.Shards[i])
		}
	}
	if len(worst) == 0 {
		return nil
	}
	slices.SortStableFunc(worst, func(a, b fleet.Shard) int {
		return cmp.Or(severity(shardTone(r, &b))-severity(shardTone(r, &a)), cmp.Compare(lossOrder(&a), lossOrder(&b)))
	})
	t := newTable("Shards that need attention", append(slices.Clone(shardColumns), "~Why")...)
	t.Head = slices.Delete(t.Head, checkpointColumn, checkpointColumn+1) // the lineage of the stream shows it
	for _, sh := range worst[:min(len(worst), maxWorst)] {
		reason := cli.Choose(sh.FailingSeconds == nil, sh.StopReason, "its reads fail: "+cmp.Or(sh.ErrorClass, unknown))
		row := append(shardRow(r, &sh, 0), cell{Text: reason})
		t.Rows = append(t.Rows, slices.Delete(row, checkpointColumn, checkpointColumn+1))
	}
	blocks := []block{{Scope: allConsumers, Table: t, ID: "worst"}}
	return append(blocks, moreRows(len(worst)-maxWorst)...)
}

// lossOrder returns a number that sorts shards by their loss. Shards without a known loss come last.
func lossOrder(sh *fleet.Shard) float64 {
	if sh.LossInSeconds == nil {
		return math.Inf(1)
	}
	return *sh.LossInSeconds
}

func shardTone(r *fleet.Report, sh *fleet.Shard) tone {
	switch {
	case sh.State == fleet.Stopped, sh.FailingSeconds != nil, r.LossIsNear(sh.LossInSeconds):
		return bad
	case sh.State == fleet.Unowned, sh.State == fleet.Unclaimed:
		return warn
	case sh.State == fleet.Done, sh.State == fleet.Waiting:
		return dim
	}
	return plain
}

// lineageBlocks returns the lineage of each stream.
func lineageBlocks(r *fleet.Report) []block {
	l := lineageList{report: r}
	for _, stream := range r.AllStreams() {
		l.addStream(stream)
	}
	return l.blocks
}

// lineageList has the lineages of streams.
type lineageList struct {
	report *fleet.Report
	blocks []block
	folds  int // number of folds in blocks
}

// addStream adds the lineage of a stream: its shards as a tree, in folds. It leaves out the shards that are read to
// their end.
func (l *lineageList) addStream(stream fleet.StreamListing) {
	var shards []*fleet.Shard
	states := make(fleet.StateCounts)
	for i := range l.report.Shards {
		sh := &l.report.Shards[i]
		if sh.Stream != stream.ARN {
			continue
		}
		states[sh.State]++
		if sh.State != fleet.Done {
			shards = append(shards, sh)
		}
	}
	head := cmp.Or(stream.ARN, "A stream that the leases do not name")
	if stream.Status != "" {
		head += ", " + strings.ToLower(string(stream.Status))
	}
	l.blocks = append(l.blocks,
		block{Scope: allConsumers, Text: head + ": " + cmp.Or(states.Text(""), "no shards") + "."})
	if stream.Error != "" {
		l.blocks = append(l.blocks, block{Text: "It cannot be listed: " + stream.Error, Tone: warn})
	}
	l.addFolds(shards)
}

// addFolds adds the shards of a stream in folds, until there are maxFolds of all streams.
func (l *lineageList) addFolds(shards []*fleet.Shard) {
	depths := make(fleet.Lineage)
	for from := 0; from < len(shards); from += foldSize {
		if l.folds == maxFolds {
			text := fmt.Sprintf("%s more are not shown here: `tablewake status %s` lists all.",
				formatCount(len(shards)-from), l.report.Flags)
			l.blocks = append(l.blocks, block{Text: text, Tone: dim})
			return
		}
		l.folds++
		shown := shards[from:min(from+foldSize, len(shards))]
		span := fmt.Sprintf(", shards %s to %s", formatCount(from+1), formatCount(from+len(shown)))
		title := "Lineage" + cli.Choose(len(shards) > foldSize, span, "") + ": "
		b := lineageFold(l.report, shown, depths, title)
		b.Open, b.ID = len(shards) <= openBelow, fmt.Sprintf("lineage-%d", l.folds)
		l.blocks = append(l.blocks, b)
	}
}

// lineageFold returns a fold of shards. It adds them to depths, which has the shards of the folds before.
func lineageFold(r *fleet.Report, shards []*fleet.Shard, depths fleet.Lineage, title string) block {
	t, states := newTable("Lineage", shardColumns...), make(fleet.StateCounts)
	for _, sh := range shards {
		states[sh.State]++
		t.Rows = append(t.Rows, shardRow(r, sh, min(depths.Add(sh), maxDepth)))
	}
	return block{Fold: title + states.Text(""), Table: t}
}

// shardRow returns the cells of a shard.
func shardRow(r *fleet.Report, sh *fleet.Shard, depth int) []cell {
	state := string(sh.State)
	switch {
	case sh.FailingSeconds != nil:
		state = "reads fail for " + formatAgeSeconds(*sh.FailingSeconds)
	case sh.State == fleet.Waiting && sh.StopReason != "":
		state = cli.Choose(sh.AfterStream, "waits for an older stream", "waits for its parent")
	}
	owner := cell{Text: sh.Owner}
	if sh.Owner == "" {
		owner = cell{Text: "nobody", Tone: dim}
	}
	if sh.Pinned != "" {
		owner.Text += ", pinned to " + sh.Pinned
	}
	lastChange := unknownCell()
	if sh.AgeSeconds != nil {
		lastChange = cell{Text: formatAgeSeconds(*sh.AgeSeconds) + " ago"}
	}
	return []cell{
		{Text: sh.ID, Depth: depth}, {Text: state, Tone: shardTone(r, sh)}, owner, {Text: cmp.Or(sh.Checkpoint, "–")},
		lastChange, unreadCell(sh), lossCell(r, sh),
	}
}

// lossCell says when the first unread record of a shard is lost.
func lossCell(r *fleet.Report, sh *fleet.Shard) cell {
	switch {
	case sh.LossInSeconds != nil && *sh.LossInSeconds <= 0:
		return cell{Text: "now", Tone: bad}
	case sh.LossInSeconds != nil:
		return cell{Text: formatAgeSeconds(*sh.LossInSeconds), Tone: cli.Choose(r.LossIsNear(sh.LossInSeconds), bad, plain)}
	case sh.State == fleet.Waiting || hasUnread(sh) == no:
		return dashCell()
	}
	return unknownCell()
}

func unreadCell(sh *fleet.Shard) cell {
	unread := hasUnread(sh)
	switch {
	case sh.FailingSeconds != nil:
		return unknownCell()
	case sh.Records != nil && *sh.Records > 0:
		return cell{Text: cli.Count(*sh.Records, "record") + " pending"}
	case unread == yes:
		return cell{Text: "yes"}
	case unread == no:
		return cell{Text: "no", Tone: dim}
	case sh.Behind != nil && !*sh.Behind:
		return cell{Text: "no; pending is unknown", Tone: dim}
	}
	return unknownCell()
}

// maxProcessShards is the maximum number of listed shards of this process. The remaining shards are counted.
const maxProcessShards = 100

// processShards returns the shards that this process reads, the worst first.
func processShards(shards []fleet.ProcessShard, now time.Time) []block {
	if len(shards) == 0 {
		return []block{{Scope: thisProcess, Text: "It reads no shard.", Tone: dim}}
	}
	sorted := slices.Clone(shards)
	slices.SortStableFunc(sorted, func(a, b fleet.ProcessShard) int {
		return cmp.Or(severity(processShardTone(&b))-severity(processShardTone(&a)), cmp.Compare(b.Pending, a.Pending))
	})
	t := newTable("Shards that it reads", "Shard", "~State", "#Pending", "#Last change read",
		"#Last one everywhere", "Checkpoint")
	for i := range sorted[:min(len(sorted), maxProcessShards)] {
		sh := &sorted[i]
		t.Rows = append(t.Rows, []cell{
			{Text: sh.Shard}, {Text: processShardState(sh, now), Tone: processShardTone(sh)}, dimIfZeroCell(sh.Pending),
			agoCell(sh.LastRead, now), agoCell(sh.LastDone, now), {Text: sh.Checkpoint},
		})
	}
	blocks := []block{{Scope: thisProcess, Fold: "It reads " + cli.Count(len(shards), "shard"),
		Open: len(shards) <= openBelow, Table: t, ID: "reads"}}
	if n := len(shards) - maxProcessShards; n > 0 {
		blocks = append(blocks, block{Text: fmt.Sprintf("and %s more, none of them worse", formatCount(n)), Tone: dim})
	}
	return blocks
}

func agoCell(at *time.Time, now time.Time) cell {
	if at == nil {
		return unknownCell()
	}
	return cell{Text: durationSince(at, now) + " ago"}
}

func processShardTone(sh *fleet.ProcessShard) tone {
	switch {
	case sh.Stopped != "":
		return bad
	case sh.Failing != nil:
		return warn
	}
	return plain
}

func processShardState(sh *fleet.ProcessShard, now time.Time) string {
	switch {
	case sh.Stopped != "":
		return "stopped: " + sh.Stopped
	case sh.Failing != nil:
		return fmt.Sprintf("its calls fail for %s: %s", durationSince(sh.Failing, now), sh.Error)
	case sh.Draining:
		return "is handed over"
	case sh.Full:
		return "pauses: the sinks have all that they may"
	case sh.Behind:
		return "reads, and has more to read"
	}
	return "reads"
}
