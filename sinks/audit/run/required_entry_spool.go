package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// spooledPage holds the encoded entries of a page of items.
type spooledPage struct {
	part           string
	position       pipeline.Position
	lastOfPart     bool
	encodedEntries []byte // the encoded entries, one after the other
	entries        []encodedEntry
	tally          tally

	undecodable []*record.RecordError
}

// usualEntryBytes is the usual size of an encoded entry, in bytes.
const usualEntryBytes = 128

// encodedEntry locates an entry in spooledPage.encodedEntries.
type encodedEntry struct {
	hash uint64
	end  int // end of the entry in encodedEntries
}

// add encodes an entry and adds it.
func (p *spooledPage) add(e *spooledEntry) {
	p.encodedEntries = e.appendTo(p.encodedEntries)
	p.entries = append(p.entries, encodedEntry{e.hash(), len(p.encodedEntries)})
}

// spoolItems spools the required entries of the items. The goroutines that read pages also plan the items. One
// goroutine writes the spool.
func (a *auditRun) spoolItems(ctx context.Context, entries *spool) error {
	var unread []string
	for _, p := range a.itemParts() {
		if !a.work.Parts[p.ID].Done {
			unread = append(unread, p.ID)
		}
	}
	return readAll(ctx, a.o.Parts, unread, a.readPart, func(page spooledPage) error {
		if err := a.spoolPage(entries, &page); err != nil {
			return err
		}
		a.work.Parts[page.part] = part{page.position, page.lastOfPart}
		return a.checkpointIfDue(entries, &a.work.Entries)
	})
}

// readAll calls read for each source. At most limit calls run at once. read sends its results to the channel results,
// and readAll calls take with each result, one after the other. After an error, readAll reads and takes nothing more.
// It returns after all reads have ended.
func readAll[S, R any](
	ctx context.Context, limit int, sources []S, read func(ctx context.Context, source S, results chan<- R) error,
	take func(R) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue, results := make(chan S), make(chan R, limit)
	var readers sync.WaitGroup
	for range limit {
		readers.Go(func() {
			for source := range queue {
				if err := read(ctx, source, results); err != nil {
					cancel(err)
				}
			}
		})
	}
	go func() {
		feed(ctx, queue, sources)
		readers.Wait()
		close(results)
	}()
	for result := range results {
		if ctx.Err() != nil {
			continue // receive the rest, so that the readers end
		}
		if err := take(result); err != nil {
			cancel(err)
		}
	}
	return context.Cause(ctx)
}

// feed sends the sources until ctx ends. Then it closes the queue, so that the readers end.
func feed[S any](ctx context.Context, queue chan<- S, sources []S) {
	defer close(queue)
	for _, source := range sources {
		if !send(ctx, queue, source) {
			return
		}
	}
}

// send sends v. It returns false if ctx ended first.
func send[T any](ctx context.Context, c chan<- T, v T) bool {
	select {
	case c <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// spoolPage adds the entries of a page.
func (a *auditRun) spoolPage(entries *spool, page *spooledPage) error {
	start := 0
	for _, e := range page.entries {
		if err := entries.add(e.hash, page.encodedEntries[start:e.end]); err != nil {
			return err
		}
		start = e.end
	}
	a.work.Tally.add(&page.tally)
	for _, e := range page.undecodable {
		a.o.OnUndecodable(e)
	}
	a.progress.Update(a.work.Tally.Items, a.totalItems())
	return nil
}

// checkpointIfDue calls checkpoint, unless the progress was stored a moment ago.
func (a *auditRun) checkpointIfDue(s *spool, lengths *[]int64) error {
	if time.Since(a.lastSave) < a.o.Checkpoint {
		return nil
	}
	return a.checkpoint(s, lengths)
}

// checkpoint flushes a spool, sets lengths to the lengths of its files, and stores the progress. lengths must point to
// a field of a.work.
func (a *auditRun) checkpoint(s *spool, lengths *[]int64) error {
	flushed, err := s.flush()
	if err != nil {
		return err
	}
	*lengths = flushed
	return a.saveProgress()
}

// readPart reads a part of the table to its end, and sends its pages.
func (a *auditRun) readPart(ctx context.Context, id string, pages chan<- spooledPage) (err error) {
	position := a.startPositions[id].Position
	a.o.WaitForStream(ctx)
	r, err := a.o.Items.Open(ctx, id, position)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		page, readErr := r.Read(ctx)
		if page != nil { // also with an error
			planned, err := a.planPage(page)
			if err != nil {
				return err
			}
			position = page.Position
			planned.part, planned.position = id, position
			if !send(ctx, pages, planned) {
				return context.Cause(ctx)
			}
		}
		if pipeline.IsEnd(readErr) {
			send(ctx, pages, spooledPage{part: id, position: position, lastOfPart: true})
			return nil
		}
		if readErr != nil {
			return readErr
		}
		a.o.WaitForStream(ctx)
	}
}
