package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// PartStore stores the owners and positions of the parts of a backfill. [state.Backfills] implements and documents it.
type PartStore interface {
	Parts(ctx context.Context, run string) iter.Seq2[state.Part, error]
	SetPart(ctx context.Context, expected, next state.Part) (bool, error)
}

// SourceOptions configure a Source.
type SourceOptions struct {
	Snapshot  Snapshot  // required
	Backfills PartStore // required
	Run       string    // required: id of the backfill in Backfills
	Owner     string    // required: id of this process. No other process may ever use the same id

	Concurrency int // number of parts that are read concurrently. Default: 4
	// ClaimTime is the time after which a claim that is not renewed is taken over. All processes must have the same
	// time. Default: 30s
	ClaimTime time.Duration
	// Alone means that no other process reads the snapshot, so this process takes over the parts of an ended process at
	// once. Default: it waits for ClaimTime
	Alone bool
	// Selections are conditions by name, such as the name of the sink that takes the items. Source reads all items, and
	// only notes which of the conditions select any (see [Source.Unselected]). A method MayMatch of a condition says which
	// undecodable records count as selected. Default: nothing is noted
	Selections map[string]pipeline.Condition
	// Throttle blocks until the next page of a part may be read; called concurrently. Default: nothing blocks
	Throttle func(ctx context.Context)
	Logger   *slog.Logger // Default: discards
}

// Source reads the parts of a snapshot that this process claims. Its partitions are parts. If this process loses the
// part ID and claims it again, the part is a new partition: "ID~n" after n losses. A Source serves one run of a
// pipeline, and the caller must close it after the run.
type Source struct {
	options SourceOptions
	log     *slog.Logger
	parts   []*part // in the order in which this process claims them
	byID    map[string]*part

	ctx        context.Context // context of all goroutines; Close ends it
	cancel     context.CancelCauseFunc
	work       sync.WaitGroup
	wakeClaims chan struct{} // wakes claimParts, because a part may be claimed
	changed    chan struct{} // wakes Read after a change

	selections []*selection // SourceOptions.Selections, sorted by name

	mu            sync.Mutex
	control       pipeline.Control
	started       bool
	leaving       bool           // no more parts are claimed
	waitLogged    bool           // logWaiting has logged
	fatal         error          // error that ends Read; nil if there is none
	claimed       []*claimedPart // claimed parts that are not gone
	lastIndex     int            // index in claimed of the part whose page came last
	namesToForget []string       // lost partitions, for [pipeline.Control.Forget]
	listedAt      time.Time      // when the parts were last listed
	startProgress Progress       // progress when the parts were first listed
	ownItems      int64          // number of items that this process read, and that are written
	removed       bool           // another process read all parts to their end, and removed the backfill
	closeOnce     sync.Once
	closeErr      error
}

var (
	_ pipeline.Source     = (*Source)(nil)
	_ pipeline.Pauser     = (*Source)(nil)
	_ pipeline.Committer  = (*Source)(nil)
	_ pipeline.Controlled = (*Source)(nil)
)

// NewSource returns a source. It makes no calls. An error names the wrong option.
func NewSource(o SourceOptions) (*Source, error) {
	o.Concurrency, o.ClaimTime = cmp.Or(o.Concurrency, 4), cmp.Or(o.ClaimTime, 30*time.Second)
	switch {
	case o.Snapshot == nil:
		return nil, errors.New("snapshot: Snapshot is nil: give what is read")
	case o.Backfills == nil:
		return nil, errors.New("snapshot: Backfills is nil: give the store of the parts")
	case o.Run == "":
		return nil, errors.New("snapshot: Run is empty: give the id of the backfill")
	case o.Owner == "":
		return nil, errors.New("snapshot: Owner is empty: give an id that no other process has")
	case o.Concurrency < 0 || o.ClaimTime < 0:
		return nil, fmt.Errorf("snapshot: Concurrency or ClaimTime is negative: %d, %v", o.Concurrency, o.ClaimTime)
	}
	if o.Throttle == nil {
		o.Throttle = func(context.Context) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Source{
		options: o, log: o.Logger.With(slog.String("backfill", o.Run)), byID: make(map[string]*part),
		wakeClaims: make(chan struct{}, 1), changed: make(chan struct{}, 1), selections: newSelections(o.Selections),
	}
	for _, p := range o.Snapshot.Parts() {
		if s.byID[p.ID] != nil || p.ID == "" {
			return nil, fmt.Errorf("snapshot: two parts have the ID %q, or it is empty", p.ID)
		}
		s.byID[p.ID] = &part{Part: p}
		s.parts = append(s.parts, s.byID[p.ID])
	}
	s.spreadClaims()
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// Read returns the next page of a part that this process claimed; the claimed parts take turns. It returns io.EOF once
// this process or other processes have finished all parts. If parts cannot be read, Read returns their errors once the
// other parts are done.
func (s *Source) Read(ctx context.Context) (*pipeline.Page, error) {
	s.start(ctx)
	for {
		page, err := s.nextPage(ctx)
		if page != nil || err != nil {
			return page, err
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
		}
	}
}

// start begins to claim parts. When ctx ends, no more parts are claimed.
func (s *Source) start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.ctx.Err() != nil {
		return
	}
	s.started = true
	context.AfterFunc(ctx, s.leave)
	s.work.Go(s.claimParts)
}

// leave ends the claiming of parts.
func (s *Source) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = true
}

// nextPage returns the next page, if there is one, and notifies the pipeline about partitions.
func (s *Source) nextPage(ctx context.Context) (*pipeline.Page, error) {
	s.mu.Lock()
	page, drains, err := s.pickPage(ctx)
	names, control := s.namesToForget, s.control
	s.namesToForget = nil
	s.mu.Unlock()
	if control != nil && len(names) > 0 {
		control.Forget(names...)
	}
	if control != nil && len(drains) > 0 {
		control.Drain(drains...)
	}
	return page, err
}

// pickPage returns the next page; the claimed parts take turns. If there is no page yet, page is nil. Once all claimed
// parts are read to their ends, drains has their partitions, because other processes may wait until these are written.
// The caller holds mu.
func (s *Source) pickPage(ctx context.Context) (page *pipeline.Page, drains []string, err error) {
	switch {
	case s.fatal != nil:
		return nil, nil, s.fatal
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case s.ctx.Err() != nil:
		return nil, nil, context.Cause(s.ctx)
	}
	for range s.claimed {
		s.lastIndex = (s.lastIndex + 1) % len(s.claimed)
		c := s.claimed[s.lastIndex]
		if c.page != nil && !c.paused {
			return s.takePage(c), nil, nil
		}
	}
	isReading := func(c *claimedPart) bool { return c.phase == reading }
	if !slices.ContainsFunc(s.claimed, isReading) {
		drains = s.drainClaimed()
	}
	return nil, drains, s.result()
}

// drainClaimed returns the partitions of the claimed parts that are not drained, and marks the parts as drained. The
// caller holds mu.
func (s *Source) drainClaimed() (partitions []string) {
	for _, c := range s.claimed {
		if !c.drained {
			c.drained = true
			partitions = append(partitions, c.name)
		}
	}
	return partitions
}

// result returns nil while a part is neither done nor failed. Then it returns io.EOF if all parts are done, or an error
// with the causes if parts have failed. The caller holds mu.
func (s *Source) result() error {
	if s.removed {
		return io.EOF
	}
	var failedParts []*part
	for _, p := range s.parts {
		switch {
		case p.stored.Done:
		case p.err != nil:
			failedParts = append(failedParts, p)
		default:
			return nil
		}
	}
	if len(failedParts) == 0 {
		return io.EOF
	}
	slices.SortFunc(failedParts, func(a, b *part) int { return cmp.Compare(a.ID, b.ID) })
	causes := make([]error, len(failedParts))
	for i, p := range failedParts {
		causes[i] = p.err
	}
	return errs.Errorf("%d of %d parts were not read to their end, and the others are done: %w", len(failedParts),
		len(s.parts), errors.Join(causes...))
}

// Pause implements [pipeline.Pauser].
func (s *Source) Pause(partition string, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claimedPartOf(partition); c != nil {
		c.paused = paused
		signal(s.changed)
	}
}

// Commit implements [pipeline.Committer]. It stores the end of a part, or the last position of a failed part, at once.
// Other positions are stored when the claim is renewed.
func (s *Source) Commit(ctx context.Context, partition string, p pipeline.Position) error {
	number, err := strconv.ParseInt(string(p), 10, 64)
	if err != nil {
		return pipeline.Fatal(errs.Errorf("not a position of this source: %q", p))
	}
	s.mu.Lock()
	c := s.claimedPartOf(partition)
	if c == nil {
		s.mu.Unlock()
		return nil
	}
	s.noteWritten(c, number)
	isSettled := c.isSettled()
	s.mu.Unlock()
	if !isSettled {
		return nil
	}
	return s.storePart(ctx, c, keepUnlessSettled)
}

// claimedPartOf returns the claimed part of a partition; nil if the part is lost or done. The caller holds mu.
func (s *Source) claimedPartOf(partition string) *claimedPart {
	for _, c := range s.claimed {
		if c.name == partition {
			return c
		}
	}
	return nil
}

// Control implements [pipeline.Controlled].
func (s *Source) Control(control pipeline.Control) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control = control
	if control == nil {
		s.leaving = true
	}
}

// fail ends Read with an error.
func (s *Source) fail(err error) {
	s.mu.Lock()
	isFirst := s.fatal == nil
	if isFirst {
		s.fatal, s.leaving = err, true
	}
	control := s.control
	s.mu.Unlock()
	signal(s.changed)
	if isFirst && control != nil {
		control.Fail(err)
	}
}

// Close stores the position of each claimed part, and releases the parts. Call it after the run has ended. If ctx ends
// first, other processes take the parts over after the claim time.
func (s *Source) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.cancel(errClosed)
		s.work.Wait()
		s.mu.Lock()
		open := slices.Clone(s.claimed)
		s.mu.Unlock()
		storeErrs := make([]error, len(open))
		var wg sync.WaitGroup
		for i, c := range open {
			wg.Go(func() { storeErrs[i] = s.storePart(ctx, c, releaseAlways) })
		}
		wg.Wait()
		if err := errors.Join(storeErrs...); err != nil {
			s.closeErr = fmt.Errorf("some parts are still claimed: they are taken over after %v: %w", s.options.ClaimTime, err)
		}
	})
	return s.closeErr
}

var errClosed = errs.New("the source is closed")

// Progress is the progress of all processes of a backfill, as last seen.
type Progress struct {
	Items      int64 // items that are written
	TotalItems int64 // items of the snapshot; -1 if unknown
	Bytes      int64 // stored bytes of Items; estimated for parts that are not done
	TotalBytes int64 // stored bytes of TotalItems; -1 if unknown
	Parts      int   // parts that are done

	EarlierItems, EarlierBytes int64 // items and bytes that were written before this process began
	OwnItems                   int64 // items that this process read, and that are written
}

// Progress returns the progress of the backfill. It is safe for concurrent use.
func (s *Source) Progress() Progress {
	info := s.options.Snapshot.Info()
	p := Progress{TotalItems: info.Items, TotalBytes: info.Bytes}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.EarlierItems, p.EarlierBytes, p.OwnItems = s.startProgress.Items, s.startProgress.Bytes, s.ownItems
	s.addParts(&p)
	return p
}

// addParts adds the progress of all parts to p. The caller holds mu.
func (s *Source) addParts(p *Progress) {
	for _, part := range s.parts {
		items := part.stored.Items
		if part.claim != nil {
			items = part.claim.items
		}
		p.Items += items
		switch {
		case part.stored.Done:
			p.Parts++
			p.Bytes += max(part.Bytes, 0)
		case part.Items > 0 && part.Bytes > 0:
			p.Bytes += int64(float64(part.Bytes) * min(1, float64(items)/float64(part.Items)))
		}
	}
}

// signal wakes the receiver of a channel with capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
