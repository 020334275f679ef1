package local_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

const oneView = `version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  first: {view: {table: views, key: {PK: 'A#{@key}'}}}
`

const twoViews = oneView + `  second: {view: {table: views, key: {PK: 'B#{@key}'}, when: 'item.Total > 0'}}
`

// inserted returns the record of an item that was inserted at a given time.
func inserted(n int, at time.Time, item string) string {
	return fmt.Sprintf(`{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","eventName":"INSERT",`+
		`"dynamodb":{"ApproximateCreationDateTime":%d,"SequenceNumber":"%021d","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"item%d"}},"NewImage":{"PK":{"S":"item%d"},%s}}}`, at.Unix(), n, n, n, item)
}

// births returns the state store of the pipeline and the births by sink.
func births(t *testing.T, stores *local.Stores) (state.Store, map[string]state.Birth) {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(oneView), nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := stores.State(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]state.Birth)
	for b, err := range kept.Births(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all[b.Sink] = b
	}
	return kept, all
}

// started assembles the pipeline of a file with the stores of a folder.
func started(t *testing.T, dir, file string, opts ...sinks.Option) (*pipeline.Pipeline, *local.Stores) {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	stores := open(t, dir)
	p, err := sinks.Assemble(t.Context(), cfg, stores, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p, stores
}

// The sinks of a first start are live. A sink that is added later waits and writes nothing. When its stage changes to
// filling, the sink writes the changes that are not older than its floor.
func TestStage_AddedSinkWaits(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	p, stores := started(t, dir, oneView)
	replayed(t, p, []string{inserted(1, now, `"Total":{"N":"1"}`)})
	if _, all := births(t, stores); all["first"].Stage != state.Live {
		t.Errorf("a sink of the first start is %q", all["first"].Stage)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}

	p, stores = started(t, dir, twoViews)
	_, all := births(t, stores)
	if all["first"].Stage != state.Live || all["second"].Stage != state.Waiting {
		t.Fatalf("first is %q, and second, which was added, %q", all["first"].Stage, all["second"].Stage)
	}
	// The Total of item 3 is not a number, but a waiting sink makes no dead letter.
	replayed(t, p, []string{inserted(2, now, `"Total":{"N":"1"}`), inserted(3, now, `"Total":{"S":"x"}`)})
	if l := p.Ledger().Sinks["second"]; l.NoEffect[sinks.ReasonWaiting] != 2 || l.Written+l.DeadLettered > 0 {
		t.Errorf("a sink that waits: %+v", l)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}

	p, stores = started(t, dir, twoViews, sinks.Redrive())
	replayed(t, p, []string{inserted(2, now, `"Total":{"N":"1"}`)})
	if l := p.Ledger().Sinks["second"]; l.DeadLettered != 1 {
		t.Errorf("a letter of a sink that waits is done with: %+v", l)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}

	p, stores = started(t, dir, twoViews)
	kept, all := births(t, stores)
	filling := all["second"]
	filling.Stage, filling.Run, filling.Floor = state.Filling, "r", now.UTC().Truncate(time.Second)
	if done, err := kept.SetBirth(t.Context(), all["second"], filling); err != nil || !done {
		t.Fatal(done, err)
	}
	replayed(t, p, []string{inserted(4, now, `"Total":{"N":"1"}`)})
	if l := p.Ledger().Sinks["second"]; l.Written != 1 {
		t.Errorf("the first write goes by the stage of the start: %+v", l)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	p, stores = started(t, dir, twoViews)
	replayed(t, p, []string{inserted(5, now, `"Total":{"N":"1"}`), inserted(6, now.Add(-time.Minute), `"Total":{"N":"1"}`), inserted(7, now, `"Total":{"S":"x"}`),
		inserted(8, now.Add(-time.Minute), `"Total":{"S":"x"}`),
		strings.Replace(inserted(9, now.Add(-time.Minute), `"Total":{"N":"1"}`), fmt.Sprintf("%021d", 9), "1", 1)}) // a change of an incremental export
	if l := p.Ledger().Sinks["second"]; l.Written != 2 || l.NoEffect[sinks.ReasonBeforeFloor] != 2 || l.DeadLettered != 1 {
		t.Errorf("a sink that is being filled: %+v", l)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// An added sink with backfill: none, or a sink that cannot be filled automatically, is live at once.
func TestStage_None(t *testing.T) {
	dir := t.TempDir()
	_, stores := started(t, dir, oneView)
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	_, stores = started(t, dir, strings.Replace(twoViews, "when: 'item.Total > 0'", "backfill: none", 1)+"  log: {archive: {bucket: log}}\n")
	if _, all := births(t, stores); all["second"].Stage != state.Live || all["log"].Stage != state.Live {
		t.Errorf("second is %q, the archive %q", all["second"].Stage, all["log"].Stage)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// At the end of a rebuild, its sinks become live. An interrupted rebuild can be repeated, and a filled sink cannot be
// rebuilt.
func TestStage_Rebuild(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for range 2 {
		p, stores := started(t, dir, oneView, sinks.Rebuild())
		replayed(t, p, []string{inserted(1, now, `"Total":{"N":"1"}`)})
		if _, all := births(t, stores); all["first"].Stage != state.Filling || all["first"].Run != sinks.RebuildRun {
			t.Errorf("while a rebuild runs the sink is %+v", all["first"])
		}
		if err := stores.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stores := open(t, dir)
	kept, _ := births(t, stores)
	cfg, err := config.Parse("tablewake.yaml", []byte(oneView), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sinks.FinishRebuild(t.Context(), cfg, kept); err != nil {
		t.Fatal(err)
	}
	if _, all := births(t, stores); all["first"].Stage != state.Live {
		t.Errorf("after a rebuild the sink is %+v", all["first"])
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	stores = open(t, dir)
	if _, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Rebuild()); err == nil || !strings.Contains(err.Error(), sinks.ErrNotEmpty.Error()) {
		t.Errorf("a rebuild of a sink that is filled: %v", err)
	}
	if _, all := births(t, stores); all["first"].Stage != state.Live {
		t.Errorf("after a refused rebuild the sink is %+v", all["first"])
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// CompareOutputs reports which sinks of a file are added or changed, and which outputs belong to removed sinks.
func TestCompareOutputs(t *testing.T) {
	dir := t.TempDir()
	_, stores := started(t, dir, twoViews)
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	file := strings.Replace(strings.Replace(twoViews, "'A#{@key}'", "'Z#{@key}'", 1), "  second:", "  third:", 1) + "  log: {archive: {bucket: log}}\n"
	cfg, err := config.Parse("tablewake.yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	stores = open(t, dir)
	changes, err := sinks.CompareOutputs(context.Background(), cfg, stores)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s %d %t %d", c.Sink, c.Kind, len(c.Settings), c.FilledByDefault, len(c.Underivable)))
	}
	want := []string{"first changed 1 true 0", "third added 0 true 0", "log added 0 false 1", "second removed 0 false 0"}
	if !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// If two processes of the same backfill change a stage at the same time, each continues with the stage that the other
// one stored. A process of another backfill is refused.
func TestChangeBirths_TwoProcesses(t *testing.T) {
	_, stores := started(t, t.TempDir(), oneView)
	kept, all := births(t, stores)
	begin := func(run string) func(*state.Birth) {
		return func(b *state.Birth) { b.Stage, b.Run = state.Filling, run }
	}
	unfilled := []state.Birth{all["first"]}
	filling, err := sinks.ChangeBirths(t.Context(), kept, unfilled, begin("r"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sinks.ChangeBirths(t.Context(), kept, unfilled, begin("other")); err == nil || !strings.Contains(err.Error(), "another process changed the stage") {
		t.Errorf("a second backfill begins: %v", err)
	}
	settle := func(at time.Time) func(*state.Birth) {
		return func(b *state.Birth) {
			if b.Stage == state.Filling {
				b.Stage, b.ReadUntil = state.Settling, at
			}
		}
	}
	early := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if _, err := sinks.ChangeBirths(t.Context(), kept, filling, settle(early)); err != nil {
		t.Fatal(err)
	}
	settling, err := sinks.ChangeBirths(t.Context(), kept, filling, settle(early.Add(time.Hour)))
	if err != nil || settling[0].Stage != state.Settling || !settling[0].ReadUntil.Equal(early) {
		t.Errorf("the second process settles: %+v, %v", settling, err)
	}
	live := func(b *state.Birth) { b.Stage = state.Live }
	for range 2 {
		if is, err := sinks.ChangeBirths(t.Context(), kept, settling, live); err != nil || is[0].Stage != state.Live {
			t.Errorf("a process makes it live: %+v, %v", is, err)
		}
	}
	if err := stores.Close(); err != nil {
		t.Error(err)
	}
}

// An output is fresh until the sink handles a change with a new image without a dead letter. While the output is fresh,
// its settings can change and the sink stays live. Changed filters make the sink wait, and so do settings that change
// later.
func TestStage_FreshOutput(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	removed := strings.NewReplacer("INSERT", "REMOVE", "NewImage", "OldImage")
	run := func(file string, records ...string) state.Birth {
		t.Helper()
		p, stores := started(t, dir, file)
		replayed(t, p, records)
		_, all := births(t, stores)
		if err := stores.Close(); err != nil {
			t.Fatal(err)
		}
		return all["second"]
	}
	born := run(twoViews, inserted(1, now, `"Total":{"S":"x"}`), removed.Replace(inserted(2, now, `"Total":{"N":"0"}`)))
	if !born.Fresh || born.Stage != state.Live {
		t.Errorf("after a dead letter and a removal: %+v", born)
	}
	fixed := strings.Replace(twoViews, "item.Total > 0", "item.Total > 1", 1)
	if b := run(fixed); b.ID != born.ID || !b.Fresh || b.Stage != state.Live {
		t.Errorf("under other settings: %+v, want %+v", b, born)
	}
	if b := run(fixed, inserted(3, now, `"Total":{"N":"1"}`)); b.Fresh || b.ID != born.ID || b.Stage != state.Live {
		t.Errorf("after a change without effect: %+v", b)
	}
	if b := run(twoViews); b.Fresh || b.ID == born.ID || b.Stage != state.Waiting {
		t.Errorf("other settings after that: %+v", b)
	}

	dir = t.TempDir()
	born = run(twoViews, inserted(1, now, `"Total":{"S":"x"}`))
	filtered := strings.Replace(twoViews, "when: 'item.Total > 0'", "when: 'item.Total > 0', filters: [{drop: {key_prefix: {PK: other}}}]", 1)
	if b := run(filtered); !born.Fresh || b.Stage != state.Waiting {
		t.Errorf("after other filters: %+v", b)
	}
}
